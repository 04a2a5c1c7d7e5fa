"""gradcheck at kinks, which it recognizes and names, and where elements differ in size."""

import numpy as np
import pytest

import autograd
from autograd import OPS, Tensor, op, relu
from autograd.gradcheck import GradientError, KinkError
from autograd.gradcheck import gradcheck as check
from tests.helpers.mutants import mutant


@op
def first_maximum(x):
    """The maximum of each row; its derivative goes to the first of equal elements."""
    chosen = np.arange(x.shape[-1]) == x.argmax(axis=-1)[..., None]
    return x.max(axis=-1), lambda g: g[..., None] * chosen


@op
def steep_at_zero(x):
    """relu, with a derivative at 0 that is none of its slopes."""
    return np.maximum(x, 0), lambda g: g * np.where(x == 0, -3.0, x > 0)


del OPS["first_maximum"], OPS["steep_at_zero"]

TIES = np.array([[1.0, 2.0, 2.0], [0.3, 0.1, 0.2]])
KINKS = {
    "relu at 0": (
        relu,
        np.array([1.0, 0.0]),
        r"as relu at 0 has.*element \[1\] = 0 \(its graph has relu",
    ),
    "relu inside": (lambda x: relu(x - 1).tanh(), np.array([1.0, 3.0]), r"as relu at 0 has.*element \[0\] = 1"),
    "clip": (
        lambda x: x.clip(-1, 1),
        np.array([1.0, 0.5]),
        r"one side: element \[0\] = 1 \(its graph has clip",
    ),
    "max with ties": (first_maximum, TIES, r"as a maximum with ties has: elements \[0, 1\], \[0, 2\] = 2:"),
    "max with ties at 0": (first_maximum, TIES - 2, r"as a maximum with ties has: elements \[0, 1\], \[0, 2\] = 0:"),
    "in one of thousands": (relu, np.r_[np.ones(3000), 0.0, np.ones(2000)], r"element \[3000\] = 0"),
    "a jump": (lambda x: autograd.where(x.data > 0, 3 * x, x), np.array([0.0]), r"a jump of the slope: element"),
}


@pytest.mark.parametrize("name", KINKS)
def test_a_kink_at_the_point_is_recognized_and_named(name):
    function, x, pattern = KINKS[name]
    with pytest.raises(KinkError, match=pattern + r".*backward gives a slope between the two sides, as it may"):
        check(function, x)
    check(function, x, accept_kinks=True)


def test_a_wrong_derivative_at_or_beside_a_kink_is_still_caught():
    for accept_kinks in (False, True):
        with pytest.raises(KinkError, match="neither of the slopes nor anything between them, which is wrong"):
            check(steep_at_zero, np.array([0.0, 1.0]), accept_kinks=accept_kinks)
        with pytest.raises(GradientError, match="a derivative is wrong") as caught:
            check(mutant(relu, 1e-3), np.array([0.0, 1.0]), accept_kinks=accept_kinks)
        assert not isinstance(caught.value, KinkError)


def test_kinks_whose_mean_slope_is_the_gradient_pass():
    check(lambda x: x.abs(), np.array([0.0, 1.0]))
    check(lambda x: x.max(axis=-1), TIES)  # ours goes to equal elements alike


@pytest.mark.parametrize("function", [Tensor.log, Tensor.sqrt, lambda x: 1 / x, lambda x: x**3])
def test_elements_of_very_different_size(function):
    """One step for all would be beyond where log is defined, or lost in rounding."""
    x = np.array([[1e-6, 1e6], [1.0, 3e-3]])
    check(function, x)
    slopes = abs(function(Tensor(x)).data / x)
    largest = np.unravel_index(slopes.argmax(), x.shape)
    weights = np.zeros((2, 2))
    weights[largest] = 1e-3 * slopes[largest]
    with pytest.raises(GradientError):
        check(mutant(function, weights), x)
