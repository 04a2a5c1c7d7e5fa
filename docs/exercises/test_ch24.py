"""Checks of the answers to chapter 24: python -m pytest docs/exercises/test_ch24.py"""

import math

import numpy as np
import pytest

from autograd import Tensor, linear, squared_error
from docs.exercises import answers

ch24 = answers("ch24")
rng = np.random.default_rng(0)


@pytest.mark.parametrize(("B", "P"), [(10, 3), (8, 8), (7, 1), (64, 5), (100, 64)])
def test_shares(B: int, P: int):
    parts = ch24.shares(B, P)
    sizes = [len(range(B)[part]) for part in parts]
    assert len(parts) == P and max(sizes) - min(sizes) <= 1
    assert [row for part in parts for row in range(B)[part]] == list(range(B))


def test_average():
    X, y, W = rng.normal(size=(10, 3)), rng.normal(size=(10, 2)), rng.normal(size=(3, 2))

    def gradient(part):
        w = Tensor(W, requires_grad=True)
        squared_error(linear(X[part], w), y[part]).backward()
        return w.grad

    parts = [slice(0, 3), slice(3, 4), slice(4, 10)]
    found = ch24.average([gradient(part) for part in parts], [3, 1, 6])
    np.testing.assert_allclose(found, gradient(slice(0, 10)), rtol=1e-10)


def test_statistics():
    X = 1e6 + rng.normal(size=(20, 4)) * 1e-3
    parts = [(len(x), x.mean(axis=0), x.var(axis=0)) for x in (X[:3], X[3:4], X[4:])]
    mean, variance = ch24.statistics(parts)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(variance, X.var(axis=0), rtol=1e-4)


@pytest.mark.parametrize(("P", "n"), [(1, 5), (2, 8), (4, 10), (5, 3)])
def test_ring_allreduce(P: int, n: int):
    arrays = [rng.normal(size=n) for _ in range(P)]
    kept = [array.copy() for array in arrays]
    sums, sent = ch24.ring_allreduce(arrays)
    for own in sums:
        np.testing.assert_allclose(own, np.sum(kept, axis=0), rtol=1e-10)
    assert len(sums) == P and max(sent) <= 2 * (P - 1) * math.ceil(n / P)
    np.testing.assert_array_equal(arrays, kept)  # the arrays given are not changed


def test_step_time():
    assert ch24.step_time(1, 10, 5.0, 0.1, 2.0) == pytest.approx(26)
    assert ch24.step_time(3, 10, 5.0, 0.1, 2.0) == pytest.approx(14)


@pytest.mark.parametrize("costs", [(5.0, 0.01, 1.0), (2.3, 0.0001, 0.06), (20.0, 0.05, 3.0), (0.0, 0.01, 1.0)])
@pytest.mark.parametrize("P", [2, 4, 16])
def test_smallest_batch(P: int, costs: tuple):
    fixed, whole, work = costs

    def time(P, B):
        return fixed + whole * B + work * math.ceil(B / P)

    found = ch24.smallest_batch(P, *costs)
    fast = [B for B in range(P, 40_000, P) if time(1, B) >= P / 2 * time(P, B) - 1e-9]
    assert found == (fast[0] if fast else None)


def test_smallest_batch_may_not_exist():
    assert ch24.smallest_batch(100, 5.0, 0.1, 1.0) is None
