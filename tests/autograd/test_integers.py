"""Integers and booleans in every op of the case table: the result is that of the same numbers in float64."""

from functools import partial

import numpy as np
import pytest

import autograd as ag
from autograd import Tensor, backend, forms
from autograd.cases import CASES, Case
from autograd.registry import OPS

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64")
INTEGER_ARITHMETIC = {"abs", "add", "multiply", "negative", "subtract"}
ANY_DTYPE = {
    *("clip", "max", "maximum", "min", "minimum", "sum", "where"),
    *("broadcast_to", "concatenate", "getitem", "join_heads", "pad", "reshape", "split", "split_heads", "stack"),
    *("astype", "swapaxes", "to_device", "transpose"),
}
POSITIVE = {"divide", "gaussian_mixture_log_likelihood", "log", "poisson_negative_log_likelihood", "power", "sqrt"}

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def is_floating(x) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def as_integers(case: Case, dtype: str) -> list:
    """The case's inputs with integers of a dtype, which fill its range as far as int8 does, in place of floats."""

    def convert(x: np.ndarray) -> np.ndarray:
        x = np.rint((3 if case.op == "power" else 60) * x).clip(-127, 127)
        x = 1 + abs(x).clip(0, 120) if case.op in POSITIVE else x
        return (abs(x) if dtype[0] == "u" else x).astype(dtype)

    return [convert(x) if is_floating(x) else x for x in case.inputs]


def run(case: Case, inputs: list, device: str) -> list[Tensor]:
    result = case.run(*(Tensor(backend.to_device(x, device)) if isinstance(x, np.ndarray) else x for x in inputs))
    return result if isinstance(result, list) else [result]


@every_case
def test_integers_have_the_values_of_the_same_numbers_in_float64(case: Case, device: str):
    for dtype in DTYPES:
        same_as_float64(case, dtype, device)


@every_case
def test_in_plain_forms_too(case: Case):
    with forms.plain_forms():
        for dtype in DTYPES:
            same_as_float64(case, dtype, "cpu")


def same_as_float64(case: Case, dtype: str, device: str) -> None:
    integers = as_integers(case, dtype)
    as_floats = [x.astype("float64") if is_floating(y) else y for x, y in zip(integers, case.inputs, strict=True)]
    if case.op == "pad" and case.settings.get("value") == -1.0 and dtype in ("bool", "uint8", "uint64"):
        with pytest.raises(TypeError, match=rf"^pad of .*: {dtype} cannot hold the value -1\.0: convert x with"):
            run(case, integers, device)
        return
    for got, want in zip(run(case, integers, device), run(case, as_floats, device), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy(), err_msg=dtype)
        if case.op in INTEGER_ARITHMETIC:
            assert got.dtype == ("float64" if dtype == "uint64" else "int64")
        elif case.op not in ANY_DTYPE:
            assert got.dtype == "float64"
        elif case.op not in ("astype", "clip", "sum", "where"):  # sums are int64, and the others take floats as well
            assert got.dtype == dtype


@pytest.mark.parametrize("case", [case for case in CASES if len(case.inputs) > 1], ids=str)
@pytest.mark.parametrize("constant", [np.asarray, Tensor], ids=["arrays", "Tensors"])
def test_beside_a_floating_tensor_integers_take_its_dtype(case: Case, constant, device: str):
    """Each input in turn is a float32 leaf, and all others are integers: value and gradient are those of float32."""
    for dtype in DTYPES:
        integers = as_integers(case, dtype)
        for i in [i for i, x in enumerate(case.inputs) if is_floating(x)]:
            results = []
            for convert in (constant, lambda x: Tensor(x.astype("float32"))):
                inputs = [convert(x) if is_floating(y) else y for x, y in zip(integers, case.inputs, strict=True)]
                leaf = Tensor(backend.to_device(integers[i].astype("float32"), device), requires_grad=True)
                inputs = [x.to(device) if isinstance(x, Tensor) and x.dtype == "float32" else x for x in inputs]
                y = case.run(*(leaf if j == i else x for j, x in enumerate(inputs)))
                assert y.dtype == "float32", dtype
                y.backward(np.ones(y.shape))
                results.append((y.numpy(), backend.to_host(leaf.grad)))
            for got, want in zip(*results, strict=True):
                np.testing.assert_array_equal(got, want, err_msg=dtype)


def test_numbers_known_by_heart():
    """Formulas that NumPy would evaluate in the inputs' own dtype: booleans, uint8, or half precision."""
    for t in (*(partial(np.array, dtype=dtype) for dtype in ("uint8", "int64", "float64")), lambda x: x):
        np.testing.assert_allclose(ag.batch_norm(t([[1], [3], [2]])).numpy()[:, 0], [-1.22474, 1.22474, 0], atol=1e-4)
        np.testing.assert_allclose(ag.softmax(t([2, 1, 2])).numpy(), np.array([np.e, 1, np.e]) / (2 * np.e + 1))
        assert ag.mean_pool(t(np.ones((300, 1), int)), axis=0).item() == 1
        assert ag.logsumexp(t([200, 0])).item() == 200 and ag.softplus(t(200)).item() == 200
        assert ag.sigmoid(t(1)).item() == pytest.approx(1 / (1 + np.exp(-1)), rel=1e-15)
        assert ag.exp(t(1)).item() == np.e
        assert ag.squared_error(t([1]), t([3])).item() == 4
        assert ag.cross_entropy(t([[0, 0]]), [1]).item() == pytest.approx(np.log(2))
        assert ag.subtract(t([1]), t([2])).item() == -1 and ag.negative(t(3)).item() == -3
        assert ag.power(t(2), t(3)).item() == 8 and ag.power(2, -1).item() == 0.5
    true = np.ones((3, 1), bool)
    assert ag.mean_pool(true, axis=0).item() == 1 and ag.linear(true.T, true).item() == 3
    assert ag.add(true, true).data.tolist() == [[2]] * 3 and ag.sum(true).item() == 3
    assert ag.matmul(np.array([100, 100], "int8"), np.array([100, 100], "int8")).item() == 20_000


def test_an_op_of_your_own_computes_with_floating_point_numbers():
    @ag.op
    def half_exp(x):
        return np.exp(x) / 2, lambda g: g * np.exp(x) / 2

    del OPS["half_exp"]
    assert half_exp(Tensor(np.array([0, 1], "uint8"))).dtype == "float64"


def test_integers_carry_no_gradient():
    """Rounding to integers has the derivative 0: what follows is a constant, as a comparison is."""
    x = Tensor([1.5, 2.5], requires_grad=True)
    y = x.astype("int64")
    assert not y.requires_grad and not (y * 2).requires_grad and not ag.exp(y).requires_grad
    (x * y).sum().backward()
    np.testing.assert_array_equal(x.grad, [1, 2])


def test_masks_labels_and_indices_stay_what_they_are():
    x = Tensor(np.arange(6.0).reshape(2, 3).astype("float32"), requires_grad=True)
    assert x[np.array([0, 1], "uint8"), Tensor([2, 2])].data.tolist() == [2, 5]
    assert ag.cross_entropy(x, Tensor(np.array([0, 2], "uint8"))).dtype == "float32"
    assert ag.where(Tensor([True, False, True]), x, 0).data.tolist() == [[0, 0, 2], [3, 0, 5]]
    mask = Tensor([[True, False, True]])
    for joined in (ag.concatenate([mask, mask]), ag.pad(mask, [(0, 1), (0, 0)]), ag.reshape(mask, 3), mask[:, ::-1]):
        assert joined.dtype == bool
    assert ag.stack([np.array(True), 0.5, Tensor(2.0)]).data.tolist() == [1, 0.5, 2]


def test_a_padding_value_that_the_dtype_cannot_hold():
    for dtype, value in (("int64", 0.5), ("int64", np.nan), ("uint8", 256), ("bool", 2), ("int8", np.inf)):
        with pytest.raises(
            TypeError, match=rf"^pad of \(2,\): {dtype} cannot hold the value {value}: convert x with .as"
        ):
            ag.pad(Tensor(np.ones(2, dtype)), [(0, 1)], value=value)
    assert ag.pad(Tensor(np.ones(2, "float32")), [(0, 1)], value=0.1).dtype == "float32"
