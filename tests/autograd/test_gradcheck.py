"""The gradient check itself: it passes what is right, catches what is wrong and names it."""

import contextlib

import numpy as np
import pytest

import autograd
from autograd import OPS, Tensor, cases, dropout, gradcheck, op, relu, softmax, squared_error
from autograd.gradcheck import GradientError, KinkError, main
from minisets.nn import BatchNorm, Dropout, LayerNorm, Linear, Module, Sequential

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


def mutant(function, mistake):
    """The function with a mistake in its derivative, which is added to every element (of the diagonal)."""

    @op
    def wrong(x):
        leaf = Tensor(x, requires_grad=True)
        y = function(leaf)

        def vjp(g):
            y.backward(g)
            return leaf.grad + mistake * g

        return y.data, vjp

    del OPS["wrong"]
    return wrong


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


# ---- the command


def test_the_command_checks_all_ops(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == sorted(cases.OPS)
    assert lines[-1] == f"all {len(cases.OPS)} agree to 1e-6"


def test_the_command_exits_1_and_names_what_failed(capsys, monkeypatch, wrong_op):
    monkeypatch.setitem(cases.OPS, "square", wrong_op)
    assert main(["add", "square"]) == 1
    assert "square                                 0" in capsys.readouterr().out  # an op without a case has failed
    monkeypatch.setattr(autograd, "square", wrong_op, raising=False)
    monkeypatch.setattr(cases, "CASES", (*cases.CASES, cases.Case("square", (np.ones(3),), label="ones")))
    assert main(["add", "square"]) == 1
    out = capsys.readouterr().out
    monkeypatch.setattr(autograd, "square", lambda x: 1 / 0)
    assert main(["square"]) == 1 and "FAILED ones: division by zero" in capsys.readouterr().out
    assert "FAILED ones: the gradient of input 0" in out and out.endswith("1 failed: square\n")


MINE = """
import numpy as np
from autograd import op

@op
def cube(x):
    return x**3, lambda g: 3 * g * x * x

@op
def wrong(x, y):
    return x * y, (lambda g: g * y, lambda g: g * x * 1.01)

NUMBER = 3
"""


def test_the_command_checks_a_function_of_ones_own(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_ops.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["my_ops:cube", "tanh"]) == 0
    assert "my_ops:cube                            1" in capsys.readouterr().out
    assert main(["my_ops:wrong", "--shape", "2,3", "--shape", "3", "--positive"]) == 1
    out = capsys.readouterr().out
    assert "FAILED random inputs: the gradient of input 1, of shape (3,), is off" in out
    assert out.endswith("1 failed: my_ops:wrong\n")
    for wrong, message in (
        (["my_ops:nothing"], "my_ops has no 'nothing'; it has "),
        (["my_ops:NUMBER"], "my_ops:NUMBER is 3, not a function of Tensors"),
        (["my_ops.py:cube"], "write its module instead: my_ops:cube"),
        (["nowhere:cube"], "there is no module nowhere in"),
        (["my_ops:wrong", "--shape", "3"], "takes 2 inputs (x, y); give --shape for each"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(wrong)
        error = capsys.readouterr().err
        assert stop.value.code == 2 and message in error and error.count("\n") == 1
    del OPS["cube"], OPS["wrong"]


def test_the_command_refuses_an_unknown_name(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["sofmax"])
    assert stop.value.code == 2
    assert "there is no op 'sofmax'; did you mean softmax" in capsys.readouterr().err
    for wrong, message in (
        (["qqqq"], "there is no op 'qqqq'; the ops are abs, absolute_error"),
        (["--seed", "-1"], "given -1"),
    ):
        with pytest.raises(SystemExit):
            main(wrong)
        assert message in capsys.readouterr().err
