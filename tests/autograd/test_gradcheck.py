"""The gradient check itself: it passes what is right, catches what is wrong and names it."""

import numpy as np
import pytest

import autograd
from autograd import OPS, Tensor, cases, dropout, gradcheck, op, relu, softmax
from autograd.gradcheck import GradientError, main
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
    with pytest.raises(GradientError):
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
