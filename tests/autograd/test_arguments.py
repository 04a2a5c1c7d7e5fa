"""What may stand beside a Tensor, what + * @ [] mean, and what is refused: arguments.py and operators.py."""

import numpy as np
import pytest

import autograd
from autograd import Tensor


def leaf(*values: float, dtype: str = "float64") -> Tensor:
    return Tensor(np.array(values, dtype=dtype), requires_grad=True)


# ---- dtypes and constants


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constants_take_the_dtype_of_the_tensor_in_either_order(dtype: str):
    x = leaf(1.0, 2.0, dtype=dtype)
    integers, halves = np.array([1, 2]), np.array([0.5, 0.5])
    constants = (2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2), integers, halves, True, Tensor(integers))
    for constant in (*constants, [1.0, 2.0], (1, 2), np.array([True, True])):
        for y in (x + constant, constant + x, x - constant, constant - x, x * constant, constant * x, x / constant):
            assert isinstance(y, Tensor) and y.dtype == dtype, constant
        for y in (constant / x, x**constant, constant**x):
            assert isinstance(y, Tensor) and y.dtype == dtype, constant
            y.sum().backward()
    assert x.grad.dtype == dtype
    assert (x @ halves).dtype == dtype and (halves @ x).dtype == dtype


def test_operators_agree_with_numpy():
    a, b = np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([2.0, 5.0])
    x, y = Tensor(a), Tensor(b)
    for got, want in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (abs(x) ** y, abs(a) ** b), (-x, -a),
        (x @ y, a @ b), (b @ x, b @ a), (a - y, a - b),
        (1 - y, 1 - b), (2 / y, 2 / b), (2**y, 2**b), (x[0, 1], a[0, 1]), (x.T, a.T),
        (x.sum(0), a.sum(0)), (x.mean(axis=1), a.mean(axis=1)), (x.max(), a.max()), (x.min(1), a.min(1)),
        (x.var(), a.var()), (x.reshape(4), a.reshape(4)), (x.reshape((1, 4)), a.reshape(1, 4)),
        (x.transpose(), a.T), (x.transpose(1, 0), a.T), (x.transpose((0, 1)), a), (x.swapaxes(0, 1), a.T),
        (y.exp(), np.exp(b)), (y.log(), np.log(b)), (y.sqrt(), np.sqrt(b)), (y.tanh(), np.tanh(b)),
    ]:  # fmt: skip
        np.testing.assert_allclose(got.numpy(), want)
    for got, want in [(x < 1, a < 1), (x <= y, a <= b), (x > y, a > b), (x >= 1, a >= 1)]:
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, want)
    assert len(x) == 2 and [row.shape for row in x] == [(2,), (2,)]
    assert float(y.sum()) == 7.0 and bool(y.sum()) and y.sum().item() == 7.0


def test_equality_is_by_element_and_keys_are_by_identity():
    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
    assert (x == y).tolist() == [True, True] and (x != 1.0).tolist() == [False, True]
    assert {x: "x", y: "y"}[y] == "y"
    np.testing.assert_array_equal(autograd.where(x == 1, 5, x).data, [5.0, 2.0])


def test_formatting_a_single_number():
    assert f"{leaf(1.5).sum():.2f}" == "1.50" and f"{leaf(1.5)}" == repr(leaf(1.5))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_an_array():
    """NumPy's matrix class gives * the meaning of @; in a Tensor, and beside one, it is an array like any other."""
    a, m = np.array([[1.0, 2.0], [3.0, 4.0]]), np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for x in (Tensor(m), Tensor(a)):
        for y in (x * x, x * m, m * x, autograd.multiply(m, m), autograd.multiply(a, m)):
            np.testing.assert_array_equal(y.data, a * a)
        assert (x @ m).data.tolist() == (a @ a).tolist() and (x**2).data.tolist() == (a**2).tolist()
        assert x[0].shape == (2,) and type(x.data) is np.ndarray and type(x == m) is np.ndarray
    assert np.shares_memory(Tensor(m).data, m)
    x = leaf(1.0, 2.0)
    (x + np.zeros((1, 2))).backward(np.matrix([[1.0, 2.0]]))
    assert type(x.grad) is np.ndarray
    with pytest.raises(TypeError, match=r"^Tensor: a masked array would lose its mask"):
        Tensor(np.ma.array([1.0]))


def test_without_tensors_plain_arrays_set_the_dtype():
    x = np.ones(2, dtype="float32")
    assert autograd.multiply(2.0, x).dtype == "float32" and autograd.maximum(x, 0.0).dtype == "float32"
    assert autograd.exp(np.float32(1)).dtype == "float32"
    assert autograd.stack([Tensor(x).sum(), 1.0]).dtype == "float32"


def test_augmented_assignment_makes_a_new_tensor():
    x = leaf(1.0)
    total = start = x * 2
    total += 1
    assert total is not start and start.item() == 2.0
    for change in (Tensor.__iadd__, Tensor.__isub__, Tensor.__imul__, Tensor.__itruediv__):
        with pytest.raises(TypeError, match=r"= on a leaf that requires a gradient .* write x\.data .= … to change"):
            change(x, 1.0)
    assert x.item() == 1.0


def test_arguments_by_place_by_name_and_as_a_list():
    x = leaf(1.0, 2.0)
    w = Tensor(np.ones((2, 3)), requires_grad=True)
    np.testing.assert_array_equal(autograd.softmax(x, 0).data, autograd.softmax(x, axis=0).data)
    assert autograd.linear(x, weight=w).shape == (3,)
    autograd.linear(bias=Tensor(np.zeros(3)), weight=w, x=x).sum().backward()
    assert x.grad is not None and w.grad is not None
    assert autograd.concatenate([x, x], 0).shape == (4,) and autograd.stack((x, x), axis=1).shape == (2, 2)
    with pytest.raises(TypeError, match="too many positional arguments"):
        autograd.softmax(x, 0, None, 5)
    with pytest.raises(TypeError, match="missing a required argument: 'weight'"):
        autograd.linear(x)
    assert autograd.where(Tensor([True, False]), x, 0).shape == (2,)
    assert autograd.exp(1.0).item() == pytest.approx(np.e) and autograd.exp([0.0]).shape == (1,)


def test_the_pure_function_works_without_a_tape():
    y, vjp = autograd.exp.pure(np.zeros(2))
    np.testing.assert_array_equal(y, vjp(np.ones(2)))


# ---- errors, each one sentence


def test_mixed_tensors_are_refused_and_not_promoted():
    with pytest.raises(TypeError, match=r"add of a float32 and a float64 Tensor: convert one of them with \.astype"):
        leaf(1.0, dtype="float32") + leaf(1.0)
    x = leaf(1.0, dtype="float32")
    (x.astype("float64") + leaf(1.0)).sum().backward()
    assert x.grad.dtype == "float32"


def test_wrong_shapes_name_the_op_and_the_shapes():
    with pytest.raises(ValueError, match=r"add of \(2,\), \(3,\): "):
        leaf(1.0, 2.0) + np.ones(3)


def test_a_tensor_holds_real_numbers():
    with pytest.raises(TypeError, match="a Tensor holds numbers or booleans; given an array of dtype"):
        Tensor("text")
    with pytest.raises(TypeError, match="requires_grad=True needs float32 or float64 data, given int64"):
        Tensor([1, 2], requires_grad=True)
    assert Tensor(Tensor([1.0])).data.shape == (1,)


def test_a_gradient_cannot_reach_a_setting():
    x = leaf(1.0, 2.0)
    with pytest.raises(TypeError, match="getitem: index is a constant"):
        x[leaf(1.0)]
    assert x[Tensor(np.array([0, 0]))].shape == (2,)
    assert autograd.clip(x.astype("float32"), low=np.float64(1.5)).dtype == "float32"


def test_no_silent_conversion_to_numpy():
    with pytest.raises(TypeError, match=r"write x\.numpy\(\)"):
        np.asarray(leaf(1.0))


def test_repr_names_the_op_of_a_tensor():
    x = leaf(1.0)
    assert repr(x) == "Tensor([1.], float64, requires_grad=True)"
    assert repr(x * 2) == "Tensor([2.], float64, made by multiply)"
    assert repr(x.detach()) == "Tensor([1.], float64)"
