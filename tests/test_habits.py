"""What users type by habit works, or the error message says what to write instead."""

import inspect
import tomllib
from collections import deque
from importlib.resources import files

import numpy as np
import pytest

import autograd
import minisets
from autograd import Tensor, concatenate, softmax
from minisets import SAB, Pooling, build, pad, rFF, rFFp
from minisets.nn import Linear, Module
from minisets.optim import SGD, Adam
from tests.helpers.commandline import ROOT

rng = np.random.default_rng(0)
x = Tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)


# ---- NumPy's functions


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: np.exp(x),
            r"np\.exp does not track gradients: for a Tensor write autograd\.exp\(x\) or x\.exp\(\)",
        ),
        (lambda: np.sum(x), r"autograd\.sum\(x\) or x\.sum\(\)"),
        (lambda: np.mean(x, axis=0), r"autograd\.mean"),
        (lambda: np.abs(x), r"np\.absolute .* autograd\.abs"),
        (lambda: np.concatenate([x, x]), r"autograd\.concatenate"),
        (lambda: np.add.reduce(x), "np.add does not track gradients"),
        (lambda: np.sin(x), r"there is no op of that name: write np\.sin\(x\.numpy\(\)"),
        (lambda: np.median(x), r"write np\.median\(x\.numpy\(\)"),
        (lambda: np.asarray(x), r"requires a gradient, which an array would lose.*write x\.numpy\(\)"),
        (
            lambda: list(Tensor(1.0)),
            r"a Tensor of shape \(\) cannot be iterated over: it is a single number, x\.item\(\)",
        ),
        (lambda: len(Tensor(1.0)), r"a Tensor of shape \(\) has no length"),
        (lambda: concatenate(x, x), r"concatenate takes a list of Tensors: concatenate\(\[x, y\], axis=0\)"),
        (lambda: autograd.stack(x), "stack takes a list of Tensors"),
    ],
)
def test_numpy_by_habit(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_tensor_without_gradient_is_an_array():
    y = x.detach()
    assert np.asarray(y) is y.data or np.shares_memory(np.asarray(y), y.data)
    assert np.asarray(y, dtype="float32").dtype == "float32"
    np.testing.assert_array_equal(y, y.data)
    assert np.array([Tensor(1.0), Tensor(2.0)]).tolist() == [1.0, 2.0]


def test_arrays_on_the_left():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    for got, want in [
        (a + x, a + x.data), (a - x, a - x.data), (a * x, a * x.data), (a / x, a / x.data), (a @ x, a @ x.data),
        (a**x, a**x.data), (np.float64(2) * x, 2 * x.data), (np.add(a, x), a + x.data),
    ]:  # fmt: skip
        assert isinstance(got, Tensor)
        np.testing.assert_allclose(got.numpy(), want)
    for got, want in [
        (a < x, a < x.data), (a <= x, a <= x.data), (a > x, a > x.data), (a >= x, a >= x.data),
        (a == x, a == x.data), (a != x, a != x.data),
    ]:  # fmt: skip
        np.testing.assert_array_equal(got, want)


def test_methods():
    y = Tensor([-1.5, 0.5], requires_grad=True)
    for got, want in [
        (y.relu(), [0, 0.5]), (y.sigmoid(), 1 / (1 + np.exp(-y.data))), (y.abs(), [1.5, 0.5]),
        (y.clip(-1, 0), [-1, 0]), (y.clip(high=0), [-1.5, 0]), (x.flatten(), x.data.flatten()),
        (x.std(axis=0), x.data.std(axis=0)), (x.std(ddof=1), x.data.std(ddof=1)),
    ]:  # fmt: skip
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
        got.sum().backward()
    assert int(Tensor(3.7)) == 3 and isinstance(int(Tensor(3.7)), int)


def test_a_float32_prints_as_it_was_typed():
    assert repr(Tensor(np.float32(0.1))) == "Tensor(0.1, float32)"
    assert repr(Tensor(np.array([0.1, 2.0], "float32"), requires_grad=True)) == (
        "Tensor([0.1 2. ], float32, requires_grad=True)"
    )


# ---- ops and blocks


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: softmax(np.zeros((2, 4, 3, 5)), mask=np.ones((2, 5), bool)),
            ValueError,
            r"broadcasts to \(2, 4, 3, 5\), given \(2, 5\); for a key mask \(B, m\), pass mask\[:, None, None, :\]",
        ),
        (
            lambda: build("SAB + PMA", d_in=2, d_out=1, rng=rng, width=3),
            TypeError,
            r"no argument 'width'; did you mean d ",
        ),
        (lambda: build("SAB + PMA", d_in=2, d_out=1, rng=rng, num_heads=3), TypeError, "did you mean heads "),
        (lambda: build("SAB + PMA", d_in=2, d_out=1, rng=rng, norm_kidn="set"), TypeError, "did you mean norm_kind "),
        (lambda: build("SAB + PMA", d_in=2, d_out=1, rng=rng, zzz=3), TypeError, "the arguments are d_in, d_out, rng"),
        (lambda: SAB(2.5, 8, 2, rng=rng), ValueError, "d_in must be a positive integer, given 2.5"),
        (lambda: SAB(0, 8, 2, rng=rng), ValueError, "d_in must be a positive integer, given 0"),
        (lambda: SAB(2, 8.0, 2, rng=rng), ValueError, "the width d must be a positive integer, given 8.0"),
        (lambda: Linear(2, "3", rng=rng), ValueError, "d_out must be a positive integer, given '3'"),
        (
            lambda: rFF(2, [16, 16], rng=rng),
            TypeError,
            r"rFF takes separate widths: rFF\(d_in, 16, 16, rng=rng\)",
        ),
        (lambda: rFFp(2, (16, 16), rng=rng), TypeError, "rFFp takes separate widths"),
        (lambda: Pooling("mean"), TypeError, r"Pooling takes the width of the elements first: Pooling\(64, 'mean'\)"),
        (lambda: pad([[], [[1.0, 2.0]]]), ValueError, r"set 0 is an empty list.*use numpy\.zeros\(\(0, 2\)\) instead"),
        (lambda: pad([[]]), ValueError, r"set 0 is an empty list, which has no width; use numpy\.zeros\(\(0, d\)\)"),
    ],
)
def test_ops_and_blocks_by_habit(call, error, message):
    with pytest.raises(error, match=message):
        call()


def as_object_array(parts: list) -> np.ndarray:
    array = np.empty(len(parts), dtype=object)
    for i, part in enumerate(parts):
        array[i] = part
    return array


@pytest.mark.parametrize("container", [set, frozenset, deque, as_object_array])
def test_parameters_are_refused_where_they_would_be_lost(container):
    class Net(Module):
        def __init__(self, parts) -> None:
            self.layers = [Linear(2, 2, rng=rng), {"hidden": container(parts)}]

    message = r"'layers\.1\.hidden' is an? .*, in which parameters would be lost; keep them in a list"
    for part in (Linear(2, 2, rng=rng), Tensor(np.ones(2), requires_grad=True), np.random.default_rng(0)):
        with pytest.raises(TypeError, match=message):
            Net([part]).parameters()
    assert len(Net([1, "two"]).parameters()) == 2  # a set without parameters is accepted


def test_zero_grad_and_the_repr_of_an_optimizer():
    net = Linear(2, 3, rng=rng)
    net(np.ones((4, 2))).sum().backward()
    optimizer = Adam(net.parameters(), lr=0.01)
    optimizer.step()
    net.zero_grad()
    assert net.weight.grad is None and net.bias.grad is None
    assert repr(optimizer) == (
        "Adam(lr=0.01, weight_decay=0.0, decoupled=False, betas=(0.9, 0.999), eps=1e-08): "
        "2 Tensors with 9 parameters, step 1"
    )
    assert repr(SGD(net.parameters(), lr=0.1)).startswith("SGD(lr=0.1, ")


# ---- a Tensor one can see


def test_ops_have_true_signatures():
    signature = inspect.signature(softmax)
    assert list(signature.parameters) == ["x", "axis", "mask"]
    assert str(signature) == "(x: Tensor | array | number, axis: int = -1, mask: array | None = None) -> Tensor"
    assert "eˣ" in softmax.__doc__
    assert str(inspect.signature(concatenate)) == "(xs: Sequence[Tensor | array | number], axis: int = 0) -> Tensor"
    for name, op in autograd.OPS.items():
        assert inspect.signature(op).return_annotation in ("Tensor", "list[Tensor]"), name
    for name in ("__add__", "__rsub__", "__matmul__", "__getitem__", "sum", "reshape", "relu", "T"):
        assert name in dir(Tensor) and any(name in vars(part) for part in Tensor.__mro__[:3])


def test_every_public_name_exists_and_every_op_is_public():
    for module in (autograd, minisets, minisets.nn, minisets.optim):
        assert sorted(set(module.__all__)) == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    hidden = {"abs", "max", "min", "sum"}
    ours = {name for name, op in autograd.OPS.items() if (op.__module__ or "").startswith("autograd.")}
    assert ours - set(autograd.__all__) == hidden and all(callable(getattr(autograd, name)) for name in hidden)


def test_versions():
    assert autograd.__version__ == minisets.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "autograd.__version__"}


def test_types_travel_with_the_packages():
    assert all(files(package).joinpath("py.typed").is_file() for package in ("autograd", "minisets"))
