"""The gradient check itself: it passes what is right, catches what is wrong and names it."""

import contextlib

import numpy as np
import pytest

from autograd import OPS, Tensor, dropout, gradcheck, op, relu, softmax, squared_error
from autograd.gradcheck import GradientError, KinkError
from minisets.nn import BatchNorm, Dropout, LayerNorm, Linear, Module, Sequential
from tests.helpers.mutants import mutant

rng = np.random.default_rng(0)
check = gradcheck.gradcheck


@pytest.fixture
def wrong_op():
    """An op whose derivative is off by a little: 2.00001 x instead of 2 x."""

    @op
    def square(x):
        return x * x, lambda g: g * 2.00001 * x

    yield square
    del OPS["square"]


def test_three_lines_check_a_users_function():
    errors = check(lambda x, w: softmax(x @ w).log(), rng.normal(size=(3, 4)), rng.normal(size=(4, 2)))
    assert set(errors) == {"input 0", "input 1"} and max(errors.values()) < 1e-8


def test_a_small_mistake_is_caught_and_named(wrong_op):
    with pytest.raises(GradientError, match=r"the gradient of input 1, of shape \(3,\), is off.*relative error of 5"):
        check(lambda x, y: x + wrong_op(y), rng.normal(size=3), rng.normal(size=3))


def test_a_mistake_in_one_element_of_thousands_is_caught():
    @op
    def almost(x):
        def vjp(g):
            g = g.copy()
            g[1234] *= 1.1
            return g

        return x.copy(), vjp

    with pytest.raises(GradientError):
        check(almost, rng.normal(size=5000))
    del OPS["almost"]


def test_a_mistake_that_sums_to_zero_is_caught():
    """Weighted by ones, the outputs of a softmax sum to a constant, and any multiple of its derivative would do."""

    @op
    def scaled(x):
        y, vjp = softmax.pure(x)
        return y, lambda g: 3 * vjp(g)

    with pytest.raises(GradientError):
        check(scaled, rng.normal(size=4))
    del OPS["scaled"]


def test_a_missing_gradient_is_caught():
    with pytest.raises(GradientError, match="= 0 by backward"):
        check(lambda x: x.detach() * 2, rng.normal(size=3))


def test_a_gradient_of_nan_is_caught():
    with np.errstate(invalid="ignore"), pytest.raises(GradientError, match="nan"):
        check(lambda x: x * np.array([1.0, np.nan]), np.ones(2))


def test_a_gradient_that_is_zero_by_nature_passes():
    """softmax does not change when all of its inputs do: the difference is rounding, the derivative exactly 0."""
    x = rng.normal(size=(2, 5))
    check(lambda shift: softmax(x * 30 + shift.reshape(1, 1)), np.array([0.3]))


# ---- where the gradient vanishes, at inputs of any size, and near kinks

ZERO, ONE = np.zeros(3), np.ones((2, 3))
VANISHING = {  # a function of Tensors with the gradient 0 at the point
    "(x - 1)² at 1": (lambda x: (x - 1) ** 2, ONE),
    "(x - 1)³ at 1": (lambda x: (x - 1) ** 3, ONE),
    "x² at 0": (lambda x: x * x, ZERO),
    "x³ at 0": (lambda x: x**3, ZERO),
    "x⁵ at 0": (lambda x: x**5, ZERO),
    "x⁹ at 0": (lambda x: x**9, ZERO),
    "1 - cosh x at 0": (lambda x: 1 - (x.exp() + (-x).exp()) / 2, ZERO),
    "e^x - 1 - x at 0": (lambda x: x.exp() - 1 - x, ZERO),
    "Σ (x - y)² at y": (lambda x: squared_error(x, np.arange(4.0)), np.arange(4.0)),
    "tanh³ at 0": (lambda x: x.tanh() ** 3, ZERO),
    "KL(p ‖ softmax x) at p": (lambda x: 0.5 * (1 / softmax(x) / 2).log().sum(), ZERO[:2]),
}


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", VANISHING)
def test_a_right_derivative_that_vanishes_passes_and_a_wrong_one_does_not(name, seed, size):
    function, x = VANISHING[name]

    def scaled(x):
        return function(x) * size

    check(scaled, x, seed=seed)
    check(mutant(scaled, 0.0), x, seed=seed)
    for mistake in (1.0, 1e-3, -1e-5, 1e-7):
        with pytest.raises(GradientError):
            check(mutant(scaled, mistake * size), x, seed=seed)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_inputs_of_any_size(size):
    x = size * rng.uniform(0.5, 2.0, size=(3, 4))
    for function in (Tensor.log, Tensor.sqrt, lambda x: 1 / x, lambda x: x * x, lambda x: (x / size).tanh()):
        check(function, x)
        slope = abs(function(Tensor(x)).data / x).mean()
        for mistake in (1e-4, 1e-3, 1.0):
            with pytest.raises(GradientError):
                check(mutant(function, mistake * slope), x)


def test_a_tiny_input_beside_values_of_ordinary_size():
    """A step of 1e-5 times its size would be lost in rounding, and with it all mistakes."""
    x, bias = rng.normal(size=(4, 3)), 1e-12 * rng.normal(size=3)
    check(lambda b: (x + b).tanh(), bias)
    with pytest.raises(GradientError):
        check(lambda b: (x + mutant(lambda b: b * 1.0, 1e-5)(b)).tanh(), bias)


def test_a_kink_beside_the_point():
    x = np.array([3.0, 2e-6, -1.5e-6, -1.0])
    check(relu, x)
    with pytest.raises(GradientError):
        check(mutant(relu, 1e-4), x)
    with pytest.raises(KinkError, match="a kink at this point"):
        check(relu, np.zeros(3))


def test_no_gradients_are_left_behind(wrong_op):
    """Nor are those lost that were there, in a Module or in a function that uses one."""
    net = Sequential(Linear(3, 2, rng=rng), relu).astype("float64")
    X = Tensor(np.ones((4, 3)), requires_grad=True)
    net.layers[0].bias.grad = before = np.ones(2)
    for function in (net, lambda x: net(x), lambda x: wrong_op(net(x))):
        with contextlib.suppress(GradientError):
            check(function, X)
        assert net.layers[0].weight.grad is None and X.grad is None
        assert net.layers[0].bias.grad is before and before.tolist() == [1.0, 1.0]


def test_a_check_of_nothing_is_refused():
    for wrong in (lambda: check(lambda x: x * 1.0, np.arange(3)), lambda: check(lambda: Tensor([1.0]))):
        with pytest.raises(ValueError, match="nothing to check"):
            wrong()
    with pytest.raises(ValueError, match="at least one direction"):
        check(lambda x: x, np.ones(2), directions=0)
    with pytest.raises(TypeError, match="a function that returns Tensors, given ndarray"):
        check(lambda x: x.data, np.ones(2))
    assert set(check(lambda x, y: x * y, [1.0, 2.0], np.float32(3.0))) == {"input 0", "input 1"}


def test_other_arguments_are_passed_as_they_are():
    mask = np.array([True, False, True])
    errors = check(lambda x, mask, nothing, number: softmax(x, mask=mask) * number, rng.normal(size=3), mask, None, 2.0)
    assert set(errors) == {"input 0"}


def test_float32_inputs_are_checked_in_float64():
    check(lambda x: x.exp(), Tensor(np.ones(3, dtype="float32")))


class Block(Module):
    def __init__(self) -> None:
        self.net = Sequential(Linear(3, 4, rng=rng), BatchNorm(4, axis=-1), relu, Dropout(0.3, rng=rng), LayerNorm(4))

    def forward(self, X):
        return self.net(X)


def test_a_module_is_checked_with_its_parameters_and_left_as_it_was():
    block = Block()
    before, state = block.state_dict(), rng.bit_generator.state
    errors = check(block, rng.normal(size=(6, 3)))
    assert set(errors) == {"input 0"} | {name for name, _ in block.named_parameters()}
    assert rng.bit_generator.state["state"] != state["state"]  # by normal(), which drew the input
    for name, array in block.state_dict().items():
        assert array.dtype == "float32"
        np.testing.assert_array_equal(array, before[name])
    assert all(p.grad is None for p in block.parameters())


def test_a_modules_mistake_names_the_parameter(wrong_op):
    class Wrong(Block):
        def forward(self, X):
            return wrong_op(super().forward(X) + self.net.layers[0].bias)

    with pytest.raises(GradientError, match=r"the gradient of input 0"):
        check(Wrong(), rng.normal(size=(6, 3)))

    class WrongInOneParameter(Block):
        def forward(self, X):
            return super().forward(X) + wrong_op(self.net.layers[0].bias)

    with pytest.raises(GradientError, match=r"the gradient of net\.layers\.0\.bias, of shape \(4,\), is off"):
        check(WrongInOneParameter(), rng.normal(size=(6, 3)))


def test_a_function_that_resamples_each_time_fails():
    with pytest.raises(GradientError, match="the function computes something else on each call"):
        check(lambda x: dropout(x, p=0.5, rng=rng), np.ones(100))
