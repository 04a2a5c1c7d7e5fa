"""The double of CuPy: what CuPy refuses it refuses, what CuPy can do it does as NumPy would, and waits are counted."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from autograd import backend
from tests.helpers import double

host = np.arange(12, dtype="float32").reshape(3, 4) / 8


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with double.installed() as module:
        yield module


def add_in_place(x: Any, y: Any) -> Any:
    x += y
    return x


def assign(x: Any, index: Any, value: Any) -> Any:
    x = x.copy()
    x[index] = value
    return x


# ---- what is refused: functions of the module and a device array ----------------------------------------------------

REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[Exception]]] = {
    # a device array where NumPy looks for one of its own
    "np.asarray": (lambda xp, x: np.asarray(x), TypeError),
    "np.array of scalars": (lambda xp, x: np.array([x[0, 0], x[0, 1]]), TypeError),
    "assert_allclose": (lambda xp, x: np.testing.assert_allclose(x, x), TypeError),
    "host[device]": (lambda xp, x: host[xp.asarray([0, 1])], TypeError),
    "host[0] = device": (lambda xp, x: assign(host, 0, x[0]), TypeError),
    "range": (lambda xp, x: range(xp.asarray(3)), TypeError),
    "reshape to a device array": (lambda xp, x: x.reshape(xp.asarray(12)), TypeError),
    "zeros of a device array": (lambda xp, x: xp.zeros(xp.asarray(3)), TypeError),
    "split at device arrays": (lambda xp, x: xp.split(x, xp.asarray([1])), TypeError),
    "pad with a device array": (lambda xp, x: xp.pad(x, 1, constant_values=x[0, 0]), TypeError),
    "hash": (lambda xp, x: {x}, TypeError),
    "len of a number": (lambda xp, x: len(x[0, 0]), TypeError),
    "iteration over a number": (lambda xp, x: list(x[0, 0]), TypeError),
    # host beside device
    "device + host": (lambda xp, x: x + host, TypeError),
    "host + device": (lambda xp, x: host + x, TypeError),
    "device += host": (lambda xp, x: add_in_place(x, host), TypeError),
    "host += device": (lambda xp, x: add_in_place(host.copy(), x), TypeError),
    "device + host number": (lambda xp, x: x + np.array(1.0), TypeError),
    "device * list": (lambda xp, x: x * [1, 2, 3, 4], TypeError),
    "device @ host": (lambda xp, x: x @ host.T, TypeError),
    "np.add": (lambda xp, x: np.add(host, x), TypeError),
    "np.exp out=host": (lambda xp, x: np.exp(x, out=host.copy()), TypeError),
    "np.concatenate": (lambda xp, x: np.concatenate([x, host]), TypeError),
    "concatenate with a list": (lambda xp, x: xp.concatenate([x, [[1, 2, 3, 4]]]), TypeError),
    "stack with a number": (lambda xp, x: xp.stack([x[0, 0], 1.0]), TypeError),
    "where": (lambda xp, x: xp.where(x > 0, x, host), TypeError),
    "where of a host condition": (lambda xp, x: xp.where(host > 0, x, x), TypeError),
    "where of a Python condition": (lambda xp, x: xp.where(True, x, x), TypeError),
    "einsum": (lambda xp, x: xp.einsum("ij,kj->ik", x, host), TypeError),
    "add.at of host values": (lambda xp, x: xp.add.at(x, xp.asarray([0]), host[:1]), TypeError),
    "device[0] = host": (lambda xp, x: assign(x, 0, host[0]), ValueError),
    "device[0] = list": (lambda xp, x: assign(x, 0, [1, 2, 3, 4]), ValueError),
    "sum of host": (lambda xp, x: xp.sum(host), TypeError),  # CuPy would run NumPy
    "sum of a list": (lambda xp, x: xp.sum([1, 2]), TypeError),
    "exp of host": (lambda xp, x: xp.exp(host), TypeError),
    "zeros_like of host": (lambda xp, x: xp.zeros_like(host), TypeError),
    "empty_like of host": (lambda xp, x: xp.empty_like(host), TypeError),
    "ascontiguousarray of host": (lambda xp, x: xp.ascontiguousarray(host), TypeError),
    # what CuPy lacks
    **{
        f"no {name}": (lambda xp, x, name=name: getattr(xp, name), AttributeError)
        for name in ("block", "einsum_path", "errstate", "insert", "unstack", "vecdot", "RawKernel", "random")
    },
    "no linalg.multi_dot": (lambda xp, x: xp.linalg.multi_dot, AttributeError),
    "np.linalg.multi_dot": (lambda xp, x: np.linalg.multi_dot([x, x.T]), TypeError),
    "np.insert": (lambda xp, x: np.insert(x, 0, 1), TypeError),
    "np.spacing": (lambda xp, x: np.spacing(x), TypeError),
    "no ctypes": (lambda xp, x: x.ctypes, AttributeError),
    "no flags.writeable": (lambda xp, x: x.flags.writeable, AttributeError),
    "sum initial=": (lambda xp, x: xp.sum(x, initial=0), TypeError),
    "method sum where=": (lambda xp, x: x.sum(where=x > 0), TypeError),
    "np.sum where=": (lambda xp, x: np.sum(x, where=x > 0), TypeError),
    "exp where=": (lambda xp, x: xp.exp(x, where=x > 0), TypeError),
    "exp order=": (lambda xp, x: xp.exp(x, order="C"), TypeError),
    "einsum out=": (lambda xp, x: xp.einsum("ij->i", x, out=xp.empty(3, "float32")), TypeError),
    "clip min=": (lambda xp, x: xp.clip(x, min=0), TypeError),
    "clip without a bound": (lambda xp, x: xp.clip(x, 0), TypeError),
    "item of an index": (lambda xp, x: x.item(3), TypeError),
    "maximum.reduce": (lambda xp, x: xp.maximum.reduce(x), NotImplementedError),
    "np.maximum.reduce": (lambda xp, x: np.maximum.reduce(x), NotImplementedError),
    "maximum.accumulate": (lambda xp, x: xp.maximum.accumulate(x), NotImplementedError),
    "multiply.at": (lambda xp, x: xp.multiply.at(x, 0, 2.0), NotImplementedError),
    "subtract.at in float32": (lambda xp, x: xp.subtract.at(x, 0, 2.0), TypeError),
    "add.reduce initial=": (lambda xp, x: xp.add.reduce(x, initial=0.0), TypeError),
    "objects": (lambda xp, x: xp.asarray([None]), ValueError),
    "astype(object)": (lambda xp, x: x.astype(object), ValueError),
    "strings": (lambda xp, x: xp.asarray("x"), ValueError),
    "long double": (lambda xp, x: xp.asarray(np.longdouble(1)), ValueError),
    "another GPU": (lambda xp, x: xp.cuda.Device(1), RuntimeError),
    # as NumPy
    "an index out of bounds": (lambda xp, x: x[3], IndexError),
    "shapes that do not broadcast": (lambda xp, x: x + xp.zeros(7), ValueError),
    "integers += 0.5": (lambda xp, x: add_in_place(xp.arange(3), 0.5), TypeError),
    "a view of copies that is written to": (lambda xp, x: add_in_place(xp.broadcast_to(x, (2, 3, 4)), 1), ValueError),
}


@pytest.mark.parametrize(("ask", "error"), REFUSED.values(), ids=REFUSED)
def test_refused(ask: Callable[[Any, Any], Any], error: type[Exception], cupy: ModuleType):
    x = cupy.asarray(host)
    with pytest.raises(error):
        ask(cupy, x)
    np.testing.assert_array_equal(x.get(), host)  # and nothing has happened


# ---- what works: the same as NumPy ----------------------------------------------------------------------------------


def add_at(xp: Any, x: Any, *index: Any) -> Any:
    x = x.copy()
    xp.add.at(x, index, 1.0)
    return x


WORKS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda xp, x: 2 - x * 3 / (x + 1) ** 2,
    "comparison": lambda xp, x: (x > 0.5) & ~(x == 1),
    "comparison with None": lambda xp, x: x == None,  # noqa: E711
    "a NumPy scalar promotes": lambda xp, x: x * np.float64(2),
    "a NumPy scalar that does not": lambda xp, x: np.float32(2) * x,
    "a Python number does not": lambda xp, x: 0.1 + x,
    "in place": lambda xp, x: add_in_place(x.copy(), 1),
    "product": lambda xp, x: x @ x.T,
    "batched product": lambda xp, x: xp.matmul(x[None], xp.stack([x.T, x.T])),
    "einsum": lambda xp, x: xp.einsum("ij,kj->ik", x, x, optimize=True),
    "sum": lambda xp, x: x.sum(),
    "sum in float64": lambda xp, x: xp.square(x, dtype="float64").sum(axis=(0, 1), keepdims=True),
    "0 / 0": lambda xp, x: x[:0].sum() / 0,
    "reductions": lambda xp, x: [x.max(axis=1), x.min(), x.var(axis=0), x.argmax(), (x > 1).any(axis=-1)],
    "ufunc methods": lambda xp, x: [xp.add.reduce(x), xp.add.accumulate(x[0]), xp.multiply.outer(x[0], x[1])],
    "overflow": lambda xp, x: xp.exp(x * 1e4) - xp.log(x * 0),
    "where": lambda xp, x: xp.where(x > 1, x, -np.inf),
    "clip": lambda xp, x: xp.clip(x, 0.2, None),
    "pad": lambda xp, x: xp.pad(x, ((1, 0), (0, 2)), constant_values=1.5),
    "concatenate": lambda xp, x: xp.concatenate([x, x], axis=1),
    "split": lambda xp, x: xp.split(x, 2, axis=1),
    "shapes": lambda xp, x: xp.expand_dims(x.transpose(1, 0).reshape(2, -1).swapaxes(0, 1), (0, -1)),
    "slices": lambda xp, x: x[None, ..., 1::2],
    "integers": lambda xp, x: x[1, -1],
    "index arrays": lambda xp, x: x[xp.asarray([0, 2]), :, None],
    "an index array after an ellipsis": lambda xp, x: x[..., xp.asarray([[0, 3]])],
    "a host index": lambda xp, x: x[np.array([0, 2])],
    "a list": lambda xp, x: x[[2, 0]],
    "no elements": lambda xp, x: x[[]],
    "a mask": lambda xp, x: x[x > 0.5],
    "a mask and an index": lambda xp, x: x[x[:, 0] > 0.2, xp.asarray([1])],
    "take": lambda xp, x: xp.take(x, xp.asarray([1, 1]), axis=1),
    "assignment": lambda xp, x: assign(x, (slice(1), xp.asarray([0, 3])), 7),
    "assignment to a mask": lambda xp, x: assign(x, x > 0.5, x[x > 0.5] * 2),
    "add.at": lambda xp, x: add_at(xp, x, xp.asarray([0, 0]), xp.asarray([1, 1])),
    "add.at of rows": lambda xp, x: add_at(xp, x, xp.asarray([0, 0])),
    "out=": lambda xp, x: xp.exp(x, out=xp.ones_like(x)),
    "out= of a reduction": lambda xp, x: xp.sum(x, axis=0, out=xp.zeros(4, "float32")),
    "ones and zeros": lambda xp, x: [xp.ones((2, 3), dtype=bool), xp.zeros_like(x), xp.full((2,), 3.0), xp.arange(3.0)],
    "windows": lambda xp, x: xp.lib.stride_tricks.as_strided(x, (3, 2), (16, 4)),
    "norm": lambda xp, x: xp.linalg.norm(x, axis=1),
    "abs, sum and max of Python": lambda xp, x: [abs(-x), sum([x[0], x[1]]), max(x[0, 0], x[0, 1])],
    "NumPy's names": lambda xp, x: [np.exp(x), np.sum(x, axis=0), np.stack([x, x]), np.add.reduce(x)],
    "constants": lambda xp, x: x.astype(xp.float64) * xp.pi + xp.finfo("float32").eps,
    "deepcopy": lambda xp, x: copy.deepcopy(x),
    "shape, ndim and size": lambda xp, x: [np.asarray(v) for v in (x.shape, x.ndim, x.size, len(x), x.nbytes)],
}


@pytest.mark.parametrize("compute", WORKS.values(), ids=WORKS)
def test_works_as_numpy(compute: Callable[[Any, Any], Any], cupy: ModuleType):
    got = compute(cupy, cupy.asarray(host))
    with np.errstate(all="ignore"):
        expected = compute(np, host)
    for ours, theirs in zip(*(list(r) if isinstance(r, list | tuple) else [r] for r in (got, expected)), strict=True):
        if not isinstance(ours, np.ndarray):
            assert type(ours) is double.ndarray  # a NumPy scalar would be one on the device
            ours = double.unwrap(ours)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_views_share_memory(cupy: ModuleType):
    x = cupy.asarray(host)
    for view in (x[1:], x.T, x.reshape(-1), x[1:][0], cupy.split(x, 3)[0], cupy.broadcast_to(x, (2, 3, 4)), x.ravel()):
        assert view.base is x and not view.flags.owndata
    for own in (x, x.copy(), x.sum(), x + 1, x.T.reshape(-1), x[cupy.asarray([0])]):
        assert own.base is None
    rows = x[1:]
    rows += 1
    np.testing.assert_array_equal(x.get()[1:], host[1:] + 1)
    assert rows.data.ptr - x.data.ptr == x.strides[0] == 16 and x.copy().data.ptr != x.data.ptr
    assert cupy.asarray(x) is x and cupy.array(x) is not x and x.astype("float32", copy=False) is x
    out = cupy.empty_like(x)
    assert cupy.add(x, 1, out=out) is out and cupy.exp(x, out) is out


def test_memory_lies_as_in_cupy(cupy: ModuleType):
    x = cupy.asarray(host)
    assert x.flags.c_contiguous and not x.T.flags.c_contiguous and x.T.flags.f_contiguous
    assert (x.T * 2).flags.c_contiguous  # where NumPy would keep the order of x.T
    assert cupy.asarray(host.T).flags.f_contiguous and cupy.empty_like(x.T).flags.f_contiguous


def test_new_memory_is_nan(cupy: ModuleType):
    assert cupy.isnan(cupy.empty(3)).all() and cupy.isnan(cupy.empty_like(cupy.asarray(host))).all()


def test_a_gpu_does_not_warn(cupy: ModuleType):
    assert cupy.isnan(cupy.zeros((2, 0)).mean(axis=1)).all()  # NumPy warns of the mean of an empty slice


def test_index_arrays_out_of_bounds_wrap_around(cupy: ModuleType):
    x = cupy.arange(3)
    np.testing.assert_array_equal(x[cupy.asarray([7, -7])].get(), [1, 2])
    np.testing.assert_array_equal(cupy.take(x, cupy.asarray([7, -7])).get(), [1, 2])
    cupy.add.at(x, cupy.asarray([3]), 5)
    np.testing.assert_array_equal(x.get(), [5, 1, 2])


WAITS: dict[str, tuple[Callable[[Any, Any], Any], dict[str, int]]] = {
    "float": (lambda xp, x: float(x[0, 0]), {"float": 1}),
    "int": (lambda xp, x: int(x[0, 0]), {"int": 1}),
    "bool": (lambda xp, x: bool(x[0, 0] > 0), {"bool": 1}),
    "if": (lambda xp, x: 1 if (x > 0).any() else 0, {"bool": 1}),
    "max of Python": (lambda xp, x: max(x[0, 0], x[0, 1]), {"bool": 1}),
    "item": (lambda xp, x: x.sum().item(), {"item": 1}),
    "tolist": (lambda xp, x: x.tolist(), {"tolist": 1}),
    "get": (lambda xp, x: x.get(), {"get": 1}),
    "asnumpy": (lambda xp, x: xp.asnumpy(x), {"get": 1}),
    "format": (lambda xp, x: f"{x[0, 0]:.2f}", {"format": 1}),
    "repr": (lambda xp, x: repr(x), {"repr": 1}),
    "str": (lambda xp, x: str(x), {"str": 1}),
    "slice": (lambda xp, x: x[: xp.asarray(2)], {"int": 1}),
    "mask": (lambda xp, x: x[x > 0], {"boolean mask": 1}),
    "assignment to a mask": (lambda xp, x: assign(x, x > 0, 0), {"boolean mask": 1}),
    "nonzero": (lambda xp, x: x.nonzero(), {"nonzero": 1}),
    "where of a condition alone": (lambda xp, x: xp.where(x > 0), {"where": 1}),
    "unique": (lambda xp, x: np.unique(x), {"unique": 1}),
    "bincount": (lambda xp, x: xp.bincount(xp.arange(3)), {"bincount": 1}),
    "repeat": (lambda xp, x: xp.repeat(x, xp.asarray([1, 2, 0]), axis=0), {"repeat": 1}),
    "windows": (lambda xp, x: xp.lib.stride_tricks.sliding_window_view(x, 2, 0), {"sliding_window_view": 1}),
    "synchronize": (lambda xp, x: xp.cuda.get_current_stream().synchronize(), {"synchronize": 1}),
    "nothing": (lambda xp, x: xp.where(x > 0, x, 0).sum() + x[1:].max() + xp.repeat(x, 2).mean() - len(x), {}),
    "comparison of arrays": (lambda xp, x: [xp.allclose(x, x), xp.array_equal(x, x), xp.sort(x)], {}),
}


@pytest.mark.parametrize(("ask", "expected"), WAITS.values(), ids=WAITS)
def test_waits_are_counted(ask: Callable[[Any, Any], Any], expected: dict[str, int], cupy: ModuleType):
    x = cupy.asarray(host)
    ask(cupy, x)
    assert double.waits == expected


def test_copies_are_counted(cupy: ModuleType):
    x = backend.to_device(host, "cuda")
    assert double.copies == {"to_device": 1}
    backend.to_device(x, "cuda:0"), cupy.asarray(x), cupy.array(x), x + 1, x[1:], cupy.stack([x, x])
    assert double.copies == {"to_device": 1}
    x.set(host), x[[0, 1]], x[np.array([0])]
    assert double.copies == {"to_device": 2, "index": 2} and not double.waits


# ---- the recorded names of CuPy ---------------------------------------------------------------------------------


@pytest.mark.needs("gpu")
def test_the_record_is_that_of_the_installed_cupy():
    import cupy

    from tests.helpers.record_cupy_names import record

    stored = json.loads((Path(double.__file__).with_name("cupy_names.json")).read_text())
    if cupy.__version__ != stored["cupy"]:
        pytest.skip(f"the record is of CuPy {stored['cupy']}, and {cupy.__version__} is installed")
    assert json.loads(json.dumps(record(cupy))) == stored
