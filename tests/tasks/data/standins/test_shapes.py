"""The stand-in for ModelNet40: its classes, and surfaces that are where they should be."""

import numpy as np
import pytest

from tasks.data.standins import shapes


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few shapes of each class, so that the stand-in is made quickly."""
    monkeypatch.setattr(shapes, "PER_CLASS", {"train": 10, "test": 4})


def test_the_stand_in_has_the_shapes_of_modelnet40():
    train, test = shapes.load("train", 64), shapes.load("test", 64)
    assert len(train.names) == len(set(train.names)) == 16 and train.names == test.names
    assert train.points.shape == (160, 64, 3) and test.points.shape == (64, 64, 3) and train.points.dtype == "float32"
    assert (np.bincount(train.labels) == 10).all() and (np.bincount(test.labels) == 4).all()
    radii = np.linalg.norm(train.points, axis=2).max(axis=1)
    assert (radii > 0.9).all() and (radii < 1.3).all()  # within the unit ball, apart from noise
    np.testing.assert_array_equal(shapes.load("test", 64).points, test.points)  # from a seed
    every = np.concatenate([train.points, test.points])
    assert len({cloud.tobytes() for cloud in every}) == len(every)  # no shape twice, none in both


@pytest.mark.parametrize("make", shapes.CLASSES, ids=lambda make: make.__name__)
def test_every_class_is_a_surface_with_varying_proportions(make):
    made = [make(np.random.default_rng(seed)) for seed in range(20)]
    for triangles in made:
        assert triangles.shape[1:] == (3, 3) and np.isfinite(triangles).all()
        b, c = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
        assert np.linalg.norm(np.cross(b, c), axis=1).sum() > 0.5
    if make is not shapes.ball:  # only scaling varies it
        assert len({triangles.tobytes() for triangles in made}) == 20


def test_surfaces_are_where_they_should_be():
    points = shapes.sample_points(np.random.default_rng(0), shapes.cuboid((1, 2, 3), (2, 4, 6)), 20_000)
    inside = np.abs(points - [1, 2, 3]) / [1, 2, 3]
    np.testing.assert_allclose(inside.max(axis=1), 1, atol=1e-9)  # on the surface of the box
    on = np.isclose(inside, 1).mean(axis=0)  # faces of 24, 12 and 8 each
    np.testing.assert_allclose(on, np.array([24, 12, 8]) / 44, atol=0.015)
    torus = shapes.sample_points(
        np.random.default_rng(0), shapes.revolve(shapes.arc(0.3, 0, 2 * np.pi, center=(1, 0))), 2_000
    )
    ring = np.hypot(np.hypot(torus[:, 0], torus[:, 1]) - 1, torus[:, 2])
    np.testing.assert_allclose(ring, 0.3, atol=0.03)  # as near as 24 sides are to a circle
    t = np.linspace(0, 5, 200)
    helix = np.stack([np.cos(t), np.sin(t), t / 5], axis=1)
    pipe = shapes.sample_points(np.random.default_rng(0), shapes.tube(helix, 0.1, sides=32), 500)
    nearest = np.linalg.norm(pipe[:, None] - helix, axis=2).min(axis=1)
    np.testing.assert_allclose(nearest, 0.1, atol=0.01)
