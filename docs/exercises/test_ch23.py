"""Checks of the answers to chapter 23: python -m pytest docs/exercises/test_ch23.py"""

import itertools

import numpy as np
import pytest

from autograd import Tensor, attention
from docs.exercises import answers

ch23 = answers("ch23")
rng = np.random.default_rng(0)


def test_sum_of_warp():
    calls = []

    def shuffle(values, k):
        calls.append(k)
        return values[np.arange(32) ^ k]

    values = rng.normal(size=32).astype("float32")
    found = ch23.sum_of_warp(values, shuffle)
    np.testing.assert_allclose(found, np.full(32, values.sum()), rtol=1e-5)
    assert len(calls) == 5 and len(set(found.tolist())) == 1  # the same bits in every lane


def test_block_sums():
    g = rng.normal(size=(37, 3)).astype("float32")
    found = [ch23.block_sums(g, 4, order) for order in itertools.permutations(range(4))]
    np.testing.assert_allclose(found[0], g.sum(axis=0), rtol=1e-4)
    assert all(np.array_equal(one, found[0]) for one in found)


@pytest.mark.parametrize("tile", [1, 4, 5, 100])
def test_attention_forward(tile: int):
    Q, K, V = 20 * rng.normal(size=(6, 3)), 20 * rng.normal(size=(11, 3)), rng.normal(size=(11, 2))
    output, L = ch23.attention_forward(Q, K, V, tile)
    S = Q @ K.T
    top = S.max(axis=1)
    np.testing.assert_allclose(output, attention(Q, K, V, scale=1.0).data, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(L, top + np.log(np.exp(S - top[:, None]).sum(axis=1)), rtol=1e-9)


@pytest.mark.parametrize("tile", [1, 4, 100])
def test_attention_backward(tile: int):
    Q, K, V, g = (rng.normal(size=shape) for shape in [(6, 3), (11, 3), (11, 2), (6, 2)])
    S = Q @ K.T
    L = np.log(np.exp(S).sum(axis=1))
    q = Tensor(Q, requires_grad=True)
    output = attention(q, K, V, scale=1.0)
    output.backward(g)
    np.testing.assert_allclose(ch23.attention_backward(Q, K, V, output.data, L, g, tile), q.grad, rtol=1e-9, atol=1e-12)


def test_least_time():
    numbers = 1_000_000  # a step of Adam, as in the chapter: 15 operations and 7 numbers for each parameter
    time, limit = ch23.least_time(15 * numbers, 7 * numbers, 19.5e12, 2039e9)
    assert limit == "memory" and round(time * 1e6) == 14
    assert ch23.least_time(8e9, 1e3, 1e9, 1e9) == (8.0, "arithmetic")
