"""The stand-in for CelebA: faces from their numbers, with independent attributes that can be seen."""

import numpy as np
import pytest

from tasks.data.standins import faces

DATA = faces.load()


def test_a_face_depends_only_on_its_number():
    numbers = np.array([29_999, 3, 17])
    some, more = DATA.images(numbers, 64), faces.load().images(np.arange(300), 64)
    assert some.shape == (3, 3, 64, 64) and some.dtype == np.uint8
    np.testing.assert_array_equal(some[1:], more[[3, 17]])
    assert len({image.tobytes() for image in more}) == 300
    assert (faces.load(seed=1).images(numbers, 64) != some).any()


def test_attributes_are_independent_and_there_are_enough():
    assert len(DATA.names) == len({*DATA.names}) >= 10
    frequency = DATA.attributes.mean(axis=0)
    np.testing.assert_allclose(frequency, faces.FREQUENCY, atol=5 * np.sqrt(0.25 / len(DATA.split)))
    correlation = np.corrcoef(DATA.attributes.T) - np.eye(len(DATA.names))
    assert np.abs(correlation).max() < 5 / np.sqrt(len(DATA.split))
    assert [int((DATA.split == part).sum()) for part in range(3)] == list(faces.SPLITS)


@pytest.mark.parametrize("name", faces.ATTRIBUTES)
def test_every_attribute_can_be_seen(name: str):
    """An attribute changes a face visibly, and in one place."""
    rng = np.random.default_rng(0)
    traits = {key: rng.uniform(*span, size=50).astype("float32") for key, span in faces._TRAITS.items()}
    without = {key: np.zeros(50, dtype=bool) for key in faces.ATTRIBUTES}
    pair = [faces.paint(has, traits, 32).astype(int) for has in (without, without | {name: np.ones(50, dtype=bool)})]
    changed = np.abs(pair[1] - pair[0]).max(axis=1) > 25  # (50, 32, 32)
    assert (changed.sum(axis=(1, 2)) >= 6).all()
    assert changed.mean(axis=0).max() > 0.6 and changed.mean() < 0.5
