"""What + * @ [] and the methods of a Tensor mean: one table, from Python's names to the ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autograd import backend
from autograd.ops import elementwise as e
from autograd.ops import linalg, reduce, shape
from autograd.tape import Tensor


def _reversed(op: Any) -> Any:
    """For 2 − x, which Python asks of x as x.__rsub__(2)."""
    return lambda x, y: op(y, x)


def _reshape(x: Tensor, *lengths: Any) -> Tensor:
    """x.reshape(2, 3) and x.reshape((2, 3)) are the same."""
    return shape.reshape(x, lengths[0] if len(lengths) == 1 else lengths)


def _transpose(x: Tensor, *axes: Any) -> Tensor:
    """x.transpose(), x.transpose(1, 0) and x.transpose((1, 0))."""
    return shape.transpose(x, (axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes) or None)


def _to(x: Tensor, device: str) -> Tensor:
    """x on a device: itself if it is there already, otherwise a copy from which gradients travel back."""
    moved = e.to_device(x, device)
    return x if moved.data is x.data else moved


def _refuse_assignment(x: Tensor, index: Any, value: Any) -> None:
    raise TypeError(
        "setitem: a Tensor cannot be assigned to in place, since an op may have kept its numbers for backward; "
        "build a new one with where(mask, new, x) or concatenate"
    )


def _in_place(symbol: str, op: Any) -> Any:
    """x += y makes a new Tensor under the old name, which for a leaf is never meant: the leaf would stay as it was."""

    def augmented(x: Tensor, y: Any) -> Tensor:
        if x.requires_grad and x.node is None:
            raise TypeError(
                f"{symbol} on a leaf that requires a gradient would make a new Tensor and leave the leaf as it was; "
                f"write x.data {symbol} … to change its numbers, or y = x {symbol[:-1]} … for a new Tensor"
            )
        return op(x, y)

    return augmented


def _refuse_conversion(x: Tensor, *_: Any, **__: Any) -> None:
    raise TypeError("a Tensor does not turn into a NumPy array by itself: write x.numpy()")


def _represent(x: Tensor) -> str:
    made_by = f", made by {x.node.op}" if x.node else ""
    leaf = ", requires_grad=True" if x.requires_grad and not x.node else ""
    return f"Tensor({x.numpy()}, {x.dtype}{made_by}{leaf})"


def _length(x: Tensor) -> int:
    return len(x.data)


def _iterate(x: Tensor) -> Iterator[Tensor]:
    return (x[i] for i in range(len(x)))


OPERATORS = {
    "__add__": e.add,
    "__radd__": _reversed(e.add),
    "__sub__": e.subtract,
    "__rsub__": _reversed(e.subtract),
    "__mul__": e.multiply,
    "__rmul__": _reversed(e.multiply),
    "__truediv__": e.divide,
    "__rtruediv__": _reversed(e.divide),
    "__pow__": e.power,
    "__rpow__": _reversed(e.power),
    "__matmul__": linalg.matmul,
    "__rmatmul__": _reversed(linalg.matmul),
    "__iadd__": _in_place("+=", e.add),
    "__isub__": _in_place("-=", e.subtract),
    "__imul__": _in_place("*=", e.multiply),
    "__itruediv__": _in_place("/=", e.divide),
    "__neg__": e.negative,
    "__abs__": e.abs,
    "__getitem__": shape.getitem,
    "__setitem__": _refuse_assignment,
    # Comparisons have no derivative: they give plain boolean arrays, ready to be masks.
    "__eq__": lambda x, y: x.data == _beside(x, y),
    "__ne__": lambda x, y: x.data != _beside(x, y),
    "__hash__": object.__hash__,  # so that a Tensor is found in a dictionary by its identity all the same
    "__lt__": lambda x, y: x.data < _beside(x, y),
    "__le__": lambda x, y: x.data <= _beside(x, y),
    "__gt__": lambda x, y: x.data > _beside(x, y),
    "__ge__": lambda x, y: x.data >= _beside(x, y),
    # With these NumPy and CuPy leave  array + tensor  to __radd__ instead of looping over the Tensor themselves.
    "__array_ufunc__": None,
    "__array_priority__": 1000,
    "__array__": _refuse_conversion,
    "__repr__": _represent,
    "__format__": lambda x, spec: format(x.item() if spec else repr(x), spec),
    "__len__": _length,
    "__iter__": _iterate,
    "__bool__": lambda x: bool(x.data),
    "__float__": lambda x: float(x.data),
    "T": property(shape.transpose),
    "to": _to,
    "astype": e.astype,
    "reshape": _reshape,
    "transpose": _transpose,
    "swapaxes": shape.swapaxes,
    "sum": reduce.sum,
    "mean": reduce.mean,
    "max": reduce.max,
    "min": reduce.min,
    "var": reduce.var,
    "exp": e.exp,
    "log": e.log,
    "sqrt": e.sqrt,
    "tanh": e.tanh,
}


def _beside(x: Tensor, y: Any) -> Any:
    y = y.data if isinstance(y, Tensor) else y
    return backend.beside(y, x.data) if backend.is_array(y) else y


for name, meaning in OPERATORS.items():
    setattr(Tensor, name, meaning)
