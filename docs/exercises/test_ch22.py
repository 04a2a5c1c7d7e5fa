"""Checks of the answers to chapter 22: python -m pytest docs/exercises/test_ch22.py"""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from docs.exercises import answers

ch22 = answers("ch22")
rng = np.random.default_rng(0)


def attention(Q, K, V):
    S = Q @ K.T
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True) @ V


def test_cheapest():
    assert ch22.cheapest(1000, 1000, 256, 64) == "textbook"
    assert ch22.cheapest(16, 1000, 256, 64) == "few queries"
    assert ch22.cheapest(1000, 16, 256, 64) == "few keys"
    assert ch22.cheapest(300, 300, 2, 32) == "few queries"  # points in the plane


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_blocked_attention(rows: int):
    Q, K, V = 10 * rng.normal(size=(50, 4)), 10 * rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    np.testing.assert_allclose(ch22.blocked_attention(Q, K, V, rows), attention(Q, K, V), rtol=1e-10)


def test_blocked_attention_needs_little_memory():
    Q, K, V = rng.normal(size=(1000, 4)), rng.normal(size=(1000, 4)), rng.normal(size=(1000, 3))
    tracemalloc.start()
    ch22.blocked_attention(Q, K, V, 50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 50 * 1000 * 8  # all scores would take 8 MB


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_partial_and_merge(size: float):
    Q, K, V = size * rng.normal(size=(6, 4)), rng.normal(size=(20, 4)), rng.normal(size=(20, 3))
    S, found = Q @ K.T, None
    for part in (slice(0, 3), slice(3, 12), slice(12, 20)):
        one = ch22.partial(S[:, part], V[part])
        found = one if found is None else ch22.merge(found, one)
    assert all(np.isfinite(a).all() for a in found)
    np.testing.assert_array_equal(found[0], S.max(axis=1))
    np.testing.assert_allclose(found[2] / found[1][:, None], attention(Q, K, V), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_patches(k: int):
    X, W = rng.normal(size=(2, 6, 5, 3)), rng.normal(size=(k, k, 3, 4))
    found = ch22.patches(X, k) @ W.reshape(k * k * 3, 4)
    assert found.shape == (2, 7 - k, 6 - k, 4)
    for i in range(7 - k):
        for j in range(6 - k):
            expected = np.einsum("nabc,abcf->nf", X[:, i : i + k, j : j + k], W)
            np.testing.assert_allclose(found[:, i, j], expected, rtol=1e-10, atol=1e-12)


def test_sum_in_pieces():
    x = rng.normal(size=10_007).astype("float32")
    seen = []

    def backwards(function, pieces):
        seen.append(len(pieces))
        return [function(piece) for piece in reversed(pieces)][::-1]

    def threads(function, pieces):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(function, pieces))

    results = [ch22.sum_in_pieces(x, 64, how) for how in (lambda f, p: [f(one) for one in p], backwards, threads)]
    assert len(set(results)) == 1 and seen == [157]
    assert results[0] == pytest.approx(x.astype(float).sum(), abs=0.01)
