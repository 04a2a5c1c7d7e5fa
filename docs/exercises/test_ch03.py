"""Checks of the answers to chapter 3: python -m pytest docs/exercises/test_ch03.py"""

import tracemalloc

import numpy as np
import pytest

from docs.exercises import answers
from docs.exercises.vjps import assert_vjps

ch03 = answers("ch03")
rng = np.random.default_rng(0)


def test_log_sigmoid():
    x = rng.normal(size=(3, 4))
    np.testing.assert_allclose(ch03.log_sigmoid(x)[0], np.log(1 / (1 + np.exp(-x))), rtol=1e-12)
    assert_vjps(ch03.log_sigmoid, x)


def test_log_sigmoid_of_large_numbers():
    x = np.array([-1000.0, -40.0, 40.0, 1000.0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        y, vjp = ch03.log_sigmoid(x)
        g = vjp(np.ones(4))
    np.testing.assert_allclose(y, [-1000, -40, -np.exp(-40.0), 0], rtol=1e-12)
    np.testing.assert_allclose(g, [1, 1, np.exp(-40.0), 0], rtol=1e-12, atol=1e-300)


def test_rms_norm():
    x = 5 + rng.normal(size=(3, 4))
    np.testing.assert_allclose((ch03.rms_norm(x, eps=0.0)[0] ** 2).mean(axis=-1), 1)
    np.testing.assert_allclose(ch03.rms_norm(x, eps=2.0)[0], x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 2))
    assert_vjps(lambda x: ch03.rms_norm(x, eps=0.5), x)


def test_sort():
    x = rng.normal(size=9)
    np.testing.assert_array_equal(ch03.sort(x)[0], np.sort(x))
    assert_vjps(ch03.sort, x)


def test_cumsum():
    x = rng.normal(size=6)
    np.testing.assert_allclose(ch03.cumsum(x)[0], np.cumsum(x))
    assert_vjps(ch03.cumsum, x)


def test_squared_distances():
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    np.testing.assert_allclose(ch03.squared_distances(x, y)[0], ((x[:, None] - y) ** 2).sum(axis=-1), rtol=1e-10)
    assert_vjps(ch03.squared_distances, x, y)


def test_the_memory_of_squared_distances():
    x, y = rng.normal(size=(300, 100)), rng.normal(size=(300, 100))
    tracemalloc.start()
    D, vjps = ch03.squared_distances(x, y)
    for vjp in vjps:
        vjp(np.ones_like(D))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 300 * 300 * 100 / 5, f"{peak / 1e6:.0f} MB: is there an array of n m d numbers?"


def test_masked_logsumexp():
    x, mask = rng.normal(size=(3, 4)), np.array([[True] * 4, [True, False, False, True], [False, True, False, False]])
    expected = np.log(np.where(mask, np.exp(x), 0).sum(axis=-1))
    np.testing.assert_allclose(ch03.masked_logsumexp(x, mask)[0], expected)
    assert_vjps(lambda x: ch03.masked_logsumexp(x, mask), x)


@pytest.mark.parametrize("padding", [np.nan, np.inf, -np.inf, 1e300])
def test_masked_logsumexp_ignores_what_is_masked(padding):
    mask = np.array([[True, True, False], [False, False, False]])
    x = np.where(mask, 1000.0, padding)
    y, vjp = ch03.masked_logsumexp(x, mask)
    np.testing.assert_allclose(y, [1000 + np.log(2), -np.inf])
    np.testing.assert_allclose(vjp(np.array([2.0, 3.0])), [[1, 1, 0], [0, 0, 0]])


def test_cross_entropy():
    z = rng.normal(size=5)
    np.testing.assert_allclose(ch03.cross_entropy(z, 2)[0], -np.log(np.exp(z[2]) / np.exp(z).sum()))
    assert_vjps(lambda z: ch03.cross_entropy(z, 2), z)
    loss, vjp = ch03.cross_entropy(np.array([2000.0, 0.0, 0.0]), 1)
    assert loss == 2000
    np.testing.assert_allclose(vjp(1.0), [1, -1, 0])
