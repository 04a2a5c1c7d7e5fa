"""Checks of the answers to chapter 20: python -m pytest docs/exercises/test_ch20.py"""

import numpy as np
import pytest

from docs.exercises import answers

ch20 = answers("ch20")
rng = np.random.default_rng(0)


def test_standardize():
    X = rng.normal(size=(3, 50, 3)) * [1, 5, 0.2] + [7, 0, -3]
    Y = ch20.standardize(X)
    np.testing.assert_allclose(Y.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(Y.std(axis=(1, 2)), 1)
    ratio = np.ptp(X, axis=1) / np.ptp(Y, axis=1)
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(3))  # proportions are kept
    assert (ch20.standardize(np.full((1, 4, 3), 2.5)) == 0).all()


def test_rotate_about_z():
    np.testing.assert_allclose(ch20.rotate_about_z(np.array([1.0, 0, 5]), np.pi / 2), [0, 1, 5], atol=1e-12)
    X = rng.normal(size=(2, 9, 3))
    Y = ch20.rotate_about_z(X, 0.3)
    before, after = (np.linalg.norm(A[:, 1:] - A[:, :1], axis=-1) for A in (X, Y))
    np.testing.assert_allclose(after, before)
    np.testing.assert_allclose(ch20.rotate_about_z(Y, -0.3), X)


@pytest.mark.parametrize("up", [0, 1, 2])
def test_which_is_up(up: int):
    clouds = rng.uniform(-1, 1, size=(40, 100, 3))
    clouds[..., 2] = rng.uniform(0, 1, size=(40, 100)) ** 3  # heavy below
    assert ch20.which_is_up(np.roll(clouds, up - 2, axis=-1) * rng.uniform(0.1, 10, size=(40, 1, 1))) == up


def test_sample_surface():
    square = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[1, 1, 0], [0, 1, 0], [1, 0, 0]]], float)
    large = np.array([[[0, 0, 5], [4, 0, 5], [0, 4, 5]]], float)  # eight times the area of the square
    points = ch20.sample_surface(rng, np.concatenate([square, large]), 40_000)
    below = points[points[:, 2] == 0]
    assert len(below) / len(points) == pytest.approx(1 / 9, abs=0.01)
    cells = np.histogram2d(*below[:, :2].T, bins=3, range=[[0, 1], [0, 1]])[0] / len(below)
    np.testing.assert_allclose(cells, 1 / 9, atol=0.02)
    above = points[points[:, 2] == 5]
    assert (above[:, 0] + above[:, 1] <= 4 + 1e-9).all() and above[:, :2].mean() == pytest.approx(4 / 3, abs=0.03)


def test_mean_class_accuracy():
    confusion = {"chair": {"chair": 90, "sofa": 10}, "sofa": {"sofa": 5, "chair": 15}, "cup": {"sofa": 3}}
    assert ch20.mean_class_accuracy(confusion) == pytest.approx((0.9 + 0.25 + 0) / 3)
    always = {f"{i}": {"0": 10 * (i + 1)} for i in range(40)}
    assert ch20.mean_class_accuracy(always) == pytest.approx(1 / 40)


def test_critical_points():
    F = rng.normal(size=(30, 6))
    found = ch20.critical_points(F)
    assert found == sorted(set(found)) and len(found) <= 6
    np.testing.assert_array_equal(F[found].max(axis=0), F.max(axis=0))
    for i in found:
        assert (np.delete(F, i, axis=0).max(axis=0) < F.max(axis=0)).any()
    assert ch20.critical_points(np.zeros((5, 3))) == [0]
