"""Checks of the answers to chapter 17: python -m pytest docs/exercises/test_ch17.py"""

import inspect

import numpy as np
import pytest
from scipy.stats import poisson

from docs.exercises import answers

ch17 = answers("ch17")


def test_sample_set():
    rng = np.random.default_rng(0)
    for n, c in ((6, 1), (10, 10), (9, 4)):
        images = ch17.sample_set(rng, n, c, 50)
        assert images.shape == (n, 2) and len(set(images[:, 0])) == c
        assert len({tuple(one) for one in images.tolist()}) == n
        assert (images >= 0).all() and (images[:, 0] < 50).all() and (images[:, 1] < 20).all()


def test_the_distribution_of_sets():
    """With n = 4 and c = 2 the two others fall on the two characters as coins do: 3 and 1 in half of all sets."""
    rng = np.random.default_rng(0)
    sets = [ch17.sample_set(rng, 4, 2, 3) for _ in range(4_000)]
    uneven = np.mean([np.unique(one[:, 0], return_counts=True)[1].max() == 3 for one in sets])
    assert uneven == pytest.approx(0.5, abs=0.03)
    everything = np.concatenate(sets)
    for column, kinds in ((0, 3), (1, 20)):
        shares = np.bincount(everything[:, column], minlength=kinds) / len(everything)
        np.testing.assert_allclose(shares, 1 / kinds, rtol=0.15)


@pytest.mark.parametrize("rate", [0.3, 1.0, 3.7, 4.0, 12.0, 12.01])
def test_modes(rate: float):
    p = poisson.pmf(np.arange(40), rate)
    assert ch17.modes(rate) == np.flatnonzero(np.isclose(p, p.max(), rtol=1e-12)).tolist()


@pytest.mark.parametrize("width", [0.05, 0.4, 3.0])
def test_accuracies(width: float):
    rate = 5 + np.random.default_rng(0).normal(scale=width, size=400_000)
    by_mode, by_nearest = ch17.accuracies(width)
    assert by_mode == pytest.approx((np.floor(rate) == 5).mean(), abs=0.004)
    assert by_nearest == pytest.approx((np.rint(rate) == 5).mean(), abs=0.004)


@pytest.mark.parametrize("c, n", [(1, 5), (3, 7), (6, 6)])
def test_distinct(c: int, n: int):
    rng = np.random.default_rng(c)
    kinds = rng.normal(size=(c, 4)) * np.arange(1, c + 1)[:, None]
    X = kinds[np.concatenate([np.arange(c), rng.integers(c, size=n - c)])]
    assert ch17.distinct(X, 1e4) == pytest.approx(c, abs=1e-6)
    assert ch17.distinct(X[rng.permutation(n)], 0.3) == pytest.approx(ch17.distinct(X, 0.3))
    moved = [ch17.distinct(X + step * np.eye(n, 4), 0.3) for step in (0, 1e-6)]
    assert abs(moved[1] - moved[0]) < 1e-4  # smooth
    source = inspect.getsource(ch17.distinct).split('"""')[-1]
    assert not any(word in source for word in ("for ", "while ", "sort", "unique", "==", "isclose"))


def test_pooled_count():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    for c in (1, 2, 4, 8):
        assert ch17.pooled_count(np.repeat(Q[:c], 8 // c, axis=0)) == pytest.approx(c)
    assert ch17.pooled_count(np.concatenate([np.repeat(Q[:1], 9, axis=0), Q[1:2]])) == pytest.approx(1.22, abs=0.01)


def test_best_constant_accuracy():
    rng = np.random.default_rng(0)
    n = rng.integers(6, 10, size=400_000, endpoint=True)
    c = rng.integers(1, n, endpoint=True)
    assert ch17.best_constant_accuracy(6, 10) == pytest.approx((c == 3).mean(), abs=0.002)
    assert ch17.best_constant_accuracy(1, 1) == 1 and ch17.best_constant_accuracy(1, 2) == 0.75
