"""Checks of the answers to chapter 21: python -m pytest docs/exercises/test_ch21.py"""

import inspect
import itertools

import numpy as np
import pytest
from scipy.stats import linregress

from docs.exercises import answers
from minisets import ISAB, SAB
from tests.helpers.flops import counted

ch21 = answers("ch21")


def test_fit_exponent():
    rng = np.random.default_rng(0)
    n = np.array([10, 50, 200, 1000, 5000.0])
    t = 3e-5 * n**1.7 * np.exp(0.1 * rng.normal(size=5))
    expected = linregress(np.log(n), np.log(t))
    assert ch21.fit_exponent(n, t) == pytest.approx((expected.slope, expected.stderr))
    source = inspect.getsource(ch21.fit_exponent).split('"""')[-1]
    assert not any(word in source for word in ("polyfit", "lstsq", "linregress"))


@pytest.mark.parametrize("n", [5, 50])
def test_multiplications(n: int):
    d, m, rng = 16, 4, np.random.default_rng(0)
    for block in (SAB(d, d, 2, rng=rng), ISAB(d, d, 2, m, rng=rng)):
        with counted() as flops:
            block(np.zeros((1, n, d)))
        name = type(block).__name__
        assert ch21.multiplications(name, n, d, m) == sum(forward for forward, _ in flops) // 2


def test_local_exponents():
    n = np.array([1.0, 10, 100])
    np.testing.assert_allclose(ch21.local_exponents(n, 5 * n**1.5), [1.5, 1.5])
    np.testing.assert_allclose(ch21.local_exponents(n, np.array([1.0, 1, 100])), [0, 2], atol=1e-12)


@pytest.mark.parametrize("a, b, c", [(1e-3, 1e-6, 2e-8), (5.0, 2.0, 0.1)])
def test_halfway(a: float, b: float, c: float):
    n = ch21.halfway(a, b, c)
    ends = np.array([n * 0.9999, n * 1.0001])
    t = a + b * ends + c * ends**2
    assert np.diff(np.log(t))[0] / np.diff(np.log(ends))[0] == pytest.approx(1.5, abs=1e-4)


def test_median_time():
    durations = itertools.chain([100.0], itertools.cycle([1.0, 50.0, 2.0, 1.0, 3.0]))
    now = [0.0]

    def work():
        now[0] += next(durations)

    assert ch21.median_time(work, 5, clock=lambda: now[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("memory, h, copies", [(24e9, 8, 2), (1000, 1, 1), (4 * 8 * 100 * 100, 8, 1)])
def test_largest_set(memory: float, h: int, copies: int):
    n = ch21.largest_set(memory, h, copies)
    assert isinstance(n, int) and 4 * copies * h * n * n <= memory < 4 * copies * h * (n + 1) ** 2


def test_crossing():
    n = np.array([10.0, 100, 1000])
    assert ch21.crossing(n, 1e-3 * n**2, n * 0.2) == pytest.approx(200)
    assert ch21.crossing(n, n, 2 * n) is None
