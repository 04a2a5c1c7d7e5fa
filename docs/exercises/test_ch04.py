"""Checks of the answers to chapter 4: python -m pytest docs/exercises/test_ch04.py"""

import math

import numpy as np
import pytest

from docs.exercises import answers
from docs.exercises.vjps import assert_vjps

ch04 = answers("ch04")
rng = np.random.default_rng(0)


@pytest.mark.parametrize("eps", [1e-16, 1e-7])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_best_step(eps, order):
    def error(h):
        return h**order + eps / h

    h = ch04.best_step(eps, order)
    assert h > 0 and error(h) < error(1.01 * h) and error(h) < error(h / 1.01)


def test_richardson():
    errors = [abs(ch04.richardson(math.exp, 1.0, h) - math.e) for h in (0.2, 0.1, 0.05)]
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.05) and errors[1] / errors[2] == pytest.approx(16, rel=0.05)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (np.exp, lambda x: np.exp(x)),
        (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
        (lambda x: np.sin(x) * np.log(x), lambda x: np.cos(x) * np.log(x) + np.sin(x) / x),
    ],
    ids=["exp", "rational", "sin log"],
)
def test_complex_step(f, slope):
    for x in (0.7, 2.0, 30.0):
        assert ch04.complex_step(f, x) == pytest.approx(slope(x), rel=1e-14)


def cube(x):
    return x**3, lambda g: 3 * g * x**2


def cube_with_an_offset(x):
    return x**3, lambda g: g * (3 * x**2 + 1e-3)


def logarithm(x):
    return np.log(x), lambda g: g / x


def logarithm_off(x):
    return np.log(x), lambda g: 1.001 * g / x


def square(x):
    return x * x, lambda g: 2 * g * x


def relu(x):
    return np.maximum(x, 0), lambda g: g * (x > 0)


def relu_from_zero(x):
    return np.maximum(x, 0), lambda g: g * (x >= 0)


def relu_beyond(x):
    return np.maximum(x, 0), lambda g: g * np.where(x == 0, -0.5, x > 0)


def leaky_forward_only(x):
    return np.maximum(x, 0.01 * x), lambda g: g * (x > 0)


def softmax(x):
    p = np.exp(x - x.max())
    p = p / p.sum()
    return p, lambda g: p * (g - (g * p).sum())


def softmax_without_the_sum(x):
    return softmax(x)[0], lambda g: softmax(x)[0] * g


def one_element_of_fifty(x):
    return np.sin(x), lambda g: g * np.cos(x) * np.where(np.arange(50) == 37, 1.01, 1)


def total(x):
    return x.sum(), lambda g: np.broadcast_to(g, x.shape)


def total_as_a_mean(x):
    return x.sum(), lambda g: np.broadcast_to(g / len(x), x.shape)


def undefined(x):
    return np.sqrt(x), lambda g: np.full_like(x, np.nan)


NUMBERS = rng.normal(size=6)
KINK = np.array([-1.0, 0.0, 2.0])
RIGHT = {
    "cube": (cube, NUMBERS),
    "cube at 0": (cube, np.zeros(3)),
    "log of small numbers": (logarithm, np.array([1e-6, 3e-6])),
    "log of large numbers": (logarithm, np.array([1e12, 3e12])),
    "log of both": (logarithm, np.array([1e-6, 3e6])),
    "square of large numbers": (square, np.array([1e8, -3e8])),
    "relu": (relu, NUMBERS),
    "relu at its kink": (relu, KINK),
    "relu with slope 1 at its kink": (relu_from_zero, KINK),
    "softmax": (softmax, NUMBERS),
    "sum": (total, NUMBERS),
}
WRONG = {
    "cube with an offset, at 0": (cube_with_an_offset, np.zeros(3)),
    "log of small numbers, off by 0.1 %": (logarithm_off, np.array([1e-6, 3e-6])),
    "log of large numbers, off by 0.1 %": (logarithm_off, np.array([1e12, 3e12])),
    "relu with an impossible slope at its kink": (relu_beyond, KINK),
    "leaky relu": (leaky_forward_only, NUMBERS),
    "softmax without the sum": (softmax_without_the_sum, NUMBERS),
    "one element of fifty": (one_element_of_fifty, rng.normal(size=50)),
    "sum, divided by n": (total_as_a_mean, NUMBERS),
    "nan": (undefined, np.array([1.0, 2.0])),
}


def test_wrong_ones():
    assert set(ch04.wrong_ones(RIGHT | WRONG)) == set(WRONG)


def test_confirmed():
    for n in (2, 5):
        x = rng.normal(size=n)
        assert_vjps(ch04.confirmed, x)
        assert abs(float(ch04.confirmed(x)[0]) - x.var()) > 1e-6


def test_variance_oracle():
    for x in (rng.normal(size=7), 1e8 + np.array([1.0, 3.0, 8.0]), np.array([2.5])):
        found = ch04.variance_oracle(x.tolist())
        assert type(found) is float and found == pytest.approx(float(x.var()), rel=1e-9, abs=1e-12)
    x = [1.0, 2.0, 4.0]
    assert abs(ch04.variance_oracle(x) - float(ch04.confirmed(np.array(x))[0])) > 1e-6, "it does not catch `confirmed`"


def test_survivor():
    g, x = rng.normal(size=5), rng.normal(size=5)
    p = softmax(x)[0]
    np.testing.assert_allclose(ch04.survivor(g, p), p * (g - (g * p).sum()), atol=1e-12)
    assert_vjps(lambda x: (softmax(x)[0], lambda g: ch04.survivor(g, softmax(x)[0])), x)
    p = 2 * p
    assert not np.allclose(ch04.survivor(g, p), p * (g - (g * p).sum())), "this is the same formula, for every p"
