"""Checks of the answers to chapter 7: python -m pytest docs/exercises/test_ch07.py"""

import warnings

import numpy as np
import pytest

from docs.exercises import answers
from minisets import testing

ch07 = answers("ch07")
rng = np.random.default_rng(0)


def test_permutation_matrix():
    X, order = rng.normal(size=(5, 2)), rng.permutation(5)
    Pi = ch07.permutation_matrix(order)
    np.testing.assert_array_equal(Pi @ X, X[order])
    np.testing.assert_array_equal(ch07.permutation_matrix([1, 2, 0]), [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_is_equivariant():
    X = rng.normal(size=(4, 2))
    assert ch07.is_equivariant(lambda X: X - X.mean(axis=0), X)
    assert not ch07.is_equivariant(lambda X: np.sort(X, axis=0), X)
    assert not ch07.is_equivariant(lambda X: X * [[1], [1], [1], [2]], X)  # three of four places are alike
    assert not ch07.is_equivariant(lambda X: np.roll(X, 1, axis=0), X)
    assert not ch07.is_equivariant(lambda X: X * [[1], [2], [2], [1]], X)  # to reverse the order is not enough


def test_made_invariant():
    X = rng.normal(size=(4, 2))
    f = ch07.made_invariant(lambda X: np.tanh(X[0] - 2 * X[1] * X[2]))
    for _ in range(5):
        np.testing.assert_allclose(f(X[rng.permutation(4)]), f(X), rtol=1e-10)
    tied = np.column_stack([np.ones(4), X[:, 1]])  # a sort by the first feature would leave these as they are
    for _ in range(5):
        np.testing.assert_allclose(f(tied[rng.permutation(4)]), f(tied), rtol=1e-10)
    assert not np.allclose(f(X), f(X + 0.3))
    np.testing.assert_allclose(ch07.made_invariant(lambda X: X.max(axis=0))(X), X.max(axis=0), rtol=1e-12)


def test_centered():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (ch07.centered(np.full((1, 2, 3), np.nan), np.zeros((1, 2), bool)) == 0).all()
    testing.check_equivariant(ch07.centered, d_in=2, examples=10)
    testing.check_padding(ch07.centered, kind="equivariant", d_in=2, examples=10)
    testing.check_empty_sets(ch07.centered, kind="equivariant", d_in=2, examples=10)
    X = rng.normal(size=(1, 3, 2))
    np.testing.assert_allclose(ch07.centered(X, np.ones((1, 3), bool)), X - X.mean(axis=1, keepdims=True))


@pytest.mark.parametrize("name", ["running", "standardized", "middle", "average"])
def test_failing_check(name: str):
    f = getattr(ch07, name)
    check = ch07.failing_check(f)
    assert check in (
        testing.check_invariant, testing.check_batch_independence, testing.check_duplicates, testing.check_padding
    )  # fmt: skip
    assert name == "running" or check is not testing.check_invariant
    with pytest.raises(testing.PropertyError):
        check(f, d_in=2)
