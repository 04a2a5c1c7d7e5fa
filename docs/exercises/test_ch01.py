"""Checks of the answers to chapter 1: python -m pytest docs/exercises/test_ch01.py"""

import itertools
import tracemalloc

import numpy as np
import pytest

from docs.exercises import answers

ch01 = answers("ch01")
rng = np.random.default_rng(0)


def test_pairs():
    X = rng.normal(size=(7, 3))
    assert ch01.pairs(X) == pytest.approx(((X @ X.T) ** 2).sum(), rel=1e-12)
    X = rng.normal(size=(3000, 2))
    tracemalloc.start()
    ch01.pairs(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 3000**2 / 10, f"{peak / 1e6:.0f} MB of memory: is there an array of n × n numbers?"


def test_collision():
    a, b = (np.asarray(x, dtype=float) for x in ch01.collision())
    assert a.shape == b.shape == (3,)
    assert a.mean() == pytest.approx(b.mean()) and (a**2).mean() == pytest.approx((b**2).mean())
    assert abs(a.max() - b.max()) > 0.1


@pytest.mark.parametrize(
    ("f", "invariant"),
    [
        (lambda X: X.sum(axis=0), True),
        (lambda X: np.sort(X, axis=0), True),
        (lambda X: X[0], False),
        (lambda X: X[-1].sum() + X.max(), False),
        (lambda X: (X * np.roll(X, 1, axis=0)).sum(), False),  # the same for all rotations and reflections
        (lambda X: X[0] * X[1] * X[2] if len(X) > 2 else X.sum(), False),
    ],
)
def test_counterexample(f, invariant):
    X = rng.normal(size=(4, 2))
    order = ch01.counterexample(f, X)
    if invariant:
        assert order is None
    else:
        assert sorted(order) == [0, 1, 2, 3] and not np.allclose(f(X[np.asarray(order)]), f(X))


def test_pool_mean():
    Z, mask = rng.normal(size=(3, 4, 2)), np.array([[True] * 4, [False] * 4, [False, True, True, False]])
    Z[~mask] = np.nan
    found = ch01.pool_mean(Z, mask)
    np.testing.assert_allclose(found, [Z[0].mean(axis=0), [0, 0], Z[2, 1:3].mean(axis=0)], rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_equivariant_part(n):
    W = rng.normal(size=(n, n))
    every = [np.eye(n)[list(order)] for order in itertools.permutations(range(n))]
    np.testing.assert_allclose(ch01.equivariant_part(W), np.mean([P.T @ W @ P for P in every], axis=0), atol=1e-12)


def by(key):
    return lambda X: X[np.argsort([key(x) for x in X])]


@pytest.mark.parametrize(
    "rule",
    [
        by(lambda x: x[0]),
        by(lambda x: -x[1]),
        by(lambda x: x[0] + 2 * x[1]),
        by(lambda x: np.hypot(x[0] - 3, x[1] - 1)),
        lambda X: X[np.lexsort((X[:, 0], X[:, 1].round(1)))],
    ],
    ids=["first coordinate", "second, falling", "a projection", "distance from a point", "rounded"],
)
def test_jump(rule):
    a, b = (np.asarray(x, dtype=float) for x in ch01.jump(rule))
    assert a.shape == b.shape == (2, 2)
    assert np.abs(a - b).max() < 1e-6
    assert np.abs(rule(a) - rule(b)).max() > 1
