"""Checks of the answers to chapter 15: python -m pytest docs/exercises/test_ch15.py"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from docs.exercises import answers

ch15 = answers("ch15")
numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=10).map(np.array)


@given(numbers, st.sampled_from([0.1, 1.0, 100.0, 1e6]))
def test_soft_maximum(x, beta):
    found = ch15.soft_maximum(x, beta)
    assert x.max() - np.log(len(x)) / beta - 1e-9 <= found <= x.max() + 1e-9
    assert found == pytest.approx((logsumexp(beta * x) - np.log(len(x))) / beta, rel=1e-9, abs=1e-9)


def test_maximum_by_attention():
    x = np.array([1.0, 2.0, 4.0])
    e = np.exp(x)
    assert ch15.maximum_by_attention(x, 1.0) == pytest.approx(e @ x / e.sum())
    assert ch15.maximum_by_attention(100 * x, 1e4) == 400


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_worst_gap(beta: float):
    gaps = np.linspace(0.001, 20, 200_001)
    errors = gaps / (1 + np.exp(beta * gaps))
    assert ch15.worst_gap(beta) == pytest.approx(gaps[errors.argmax()], abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_maxima(n: int):
    M = np.random.default_rng(0).uniform(0, 100, size=(200_000, n)).max(axis=1)
    assert ch15.expected_maximum(n) == pytest.approx(M.mean(), rel=0.005)
    assert ch15.error_knowing_size(n) == pytest.approx(np.abs(M - np.median(M)).mean(), rel=0.01)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8))
def test_exact_max_network(numbers):
    (W1, b1), (W2, b2), (W3, b3) = ch15.exact_max_network()
    Z = np.maximum(np.array(numbers)[:, None] @ W1 + b1, 0)
    Z = np.maximum(Z @ W2 + b2, 0)
    found = Z.max(axis=0) @ W3 + b3
    assert found.shape == (1,) and found[0] == pytest.approx(max(numbers), abs=1e-12)


def test_jump():
    assert ch15.jump(np.array([2.0, 1.0, 1.1, 0.1, 0.2])) == pytest.approx(11)
    assert ch15.jump(np.array([1.0, 1.5])) == pytest.approx(1.5)


def test_selected():
    assert ch15.selected(np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.7, 0.4])) == 2.0
    assert ch15.selected(np.array([3.0, 1.0]), np.array([0.5, 0.5])) == 3.0
