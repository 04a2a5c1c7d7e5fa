"""Every op of the case table: right against an oracle, right in its gradient, true to its dtype, on every device."""

import numpy as np
import pytest

from autograd import Tensor, backend, forms, op
from autograd.cases import CASES, Case
from autograd.cases import OPS as OURS
from autograd.gradcheck import gradcheck
from autograd.registry import OPS
from tests.helpers.oracles import ORACLES

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def tensors(case: Case, dtype: str, device: str, requires_grad: bool = True) -> list:
    """The case's inputs, its floating arrays as Tensors of a dtype on a device."""
    return [
        Tensor(backend.to_device(x.astype(dtype), device), requires_grad)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f"
        else x
        for x in case.inputs
    ]


def parts(result: Tensor | list[Tensor]) -> list[Tensor]:
    return result if isinstance(result, list) else [result]


def test_every_op_has_a_case_and_an_oracle():
    assert {case.op for case in CASES} == set(OURS)
    assert set(ORACLES) == set(OURS)


@every_case
def test_gradient(case: Case, device: str):
    inputs = [backend.to_device(x, device) if isinstance(x, np.ndarray) else x for x in case.inputs]
    gradcheck(case.run, *inputs)


@every_case
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward_equals_the_naive_oracle(case: Case, dtype: str, device: str):
    # The oracle sees the rounded inputs, so that what is compared is the op's own error.
    rounded = [
        x.astype(dtype).astype("float64") if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
        for x in case.inputs
    ]
    settings = case.arguments()
    if case.op == "dropout":  # sampled in the dtype of x, as in the op
        rounded = [x.astype(dtype) for x in rounded]
    expected = ORACLES[case.op](*rounded, **settings)
    results = parts(case.run(*tensors(case, dtype, device, requires_grad=False)))
    expected = expected if isinstance(expected, list) else [expected]
    rtol = 1e-12 if dtype == "float64" else 2e-5
    for got, want in zip(results, expected, strict=True):
        scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
        np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=rtol * scale * 1e-2 + 1e-300)


TWO_FORMS = {"linear", "matmul", "layer_norm", "attention", "batch_norm", "conv2d"}


@pytest.mark.parametrize("case", [case for case in CASES if case.op in TWO_FORMS], ids=str)
def test_the_plain_form_too(case: Case):
    """On the CPU the tests above have run the fast forms."""
    with forms.plain_forms():
        test_gradient(case, "cpu")
        for dtype in ("float32", "float64"):
            test_forward_equals_the_naive_oracle(case, dtype, "cpu")


@pytest.mark.parametrize("case", [case for case in CASES if case.op != "astype"], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtype_and_shape_survive_forward_and_backward(case: Case, dtype: str, device: str):
    inputs = tensors(case, dtype, device)
    for y in parts(case.run(*inputs)):
        assert y.dtype == dtype
        y.backward(np.ones(y.shape))
    for x in inputs:
        if isinstance(x, Tensor):
            assert x.grad.dtype == dtype and x.grad.shape == x.shape
            assert backend.array_module(x.grad) is backend.array_module(x.data)


# dropout samples other numbers in another dtype
@pytest.mark.parametrize("case", [case for case in CASES if case.op != "dropout"], ids=str)
def test_gradients_in_float32_are_those_of_float64(case: Case, device: str):
    """The check by differences runs in float64 alone; here float32 is held against it, at the same rounded inputs."""
    gradients = []
    for dtype in ("float32", "float64"):
        rounded = [x.astype("float32") if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in case.inputs]
        inputs = tensors(Case(case.op, tuple(rounded), case.settings), dtype, device)
        for y in parts(case.run(*inputs)):
            y.backward(np.random.default_rng(0).normal(size=y.shape).astype("float32"))
        gradients.append([backend.to_host(x.grad) for x in inputs if isinstance(x, Tensor)])
    for got, want in zip(*gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max(initial=1e-30))


@pytest.mark.parametrize("case", [case for case in CASES if case.op not in ("split", "std")], ids=str)  # not composites
def test_no_gradient_is_kept_for_an_input_that_needs_none(case: Case):
    """With one input in need of a gradient, that one alone is a parent, and of plain vjps no other is kept."""
    inputs = tensors(case, "float64", "cpu")
    for wanted in [x for x in inputs if isinstance(x, Tensor)]:
        alone = [x.detach() if isinstance(x, Tensor) and x is not wanted else x for x in inputs]
        y = case.run(*alone)
        assert [parent for parent in y.node.parents if parent is not None] == [wanted]


def test_no_gradient_is_computed_that_is_not_wanted():
    called = []

    @op
    def watched(x, y):
        return x * y, (lambda g: called.append("x") or g * y, lambda g: called.append("y") or g * x)

    del OPS["watched"]
    watched(np.ones(2), Tensor(np.ones(2), requires_grad=True)).sum().backward()
    assert called == ["y"]


@every_case
def test_inputs_are_left_as_they_were(case: Case):
    """Forward and backward write only into arrays of their own."""
    inputs = tensors(case, "float64", "cpu")
    before = [x.data.copy() if isinstance(x, Tensor) else x for x in inputs]
    for y in parts(case.run(*inputs)):
        seed = np.random.default_rng(0).normal(size=y.shape)
        kept = seed.copy()
        y.backward(seed)
        np.testing.assert_array_equal(seed, kept)
    for x, old in zip(inputs, before, strict=True):
        if isinstance(x, Tensor):
            np.testing.assert_array_equal(x.data, old)
