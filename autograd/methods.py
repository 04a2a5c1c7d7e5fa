"""A Tensor's methods, each an op of the same name, its comparisons, and its interface to Python and NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import autograd
from autograd import backend
from autograd.arguments import plain_array
from autograd.backend import Array
from autograd.operators import Operators

if TYPE_CHECKING:
    from autograd.tape import Tensor

Axis = int | tuple[int, ...] | None


class Methods(Operators):
    """A Tensor's methods, besides its operators."""

    __slots__ = ()

    # ---- ops

    @property
    def T(self) -> Tensor:
        return autograd.transpose(self)

    def to(self, device: str) -> Tensor:
        """The Tensor on a device: itself if it is already there, otherwise a copy that passes gradients back."""
        moved = autograd.to_device(self, device=device)
        return cast("Tensor", self) if moved.data is self.data else moved

    def astype(self, dtype: Any) -> Tensor:
        return autograd.astype(self, dtype=dtype)

    def reshape(self, *shape: Any) -> Tensor:
        """x.reshape(2, 3) and x.reshape((2, 3)) are the same."""
        return autograd.reshape(self, shape=shape[0] if len(shape) == 1 else shape)

    def flatten(self) -> Tensor:
        return autograd.reshape(self, shape=-1)

    def transpose(self, *axes: Any) -> Tensor:
        """x.transpose(), x.transpose(1, 0) and x.transpose((1, 0))."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return autograd.transpose(self, axes=axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        return autograd.swapaxes(self, axis1=axis1, axis2=axis2)

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return autograd.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return autograd.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return autograd.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return autograd.min(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        return autograd.var(self, axis=axis, keepdims=keepdims, ddof=ddof)

    def std(self, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        return autograd.std(self, axis=axis, keepdims=keepdims, ddof=ddof)

    def exp(self) -> Tensor:
        return autograd.exp(self)

    def log(self) -> Tensor:
        return autograd.log(self)

    def sqrt(self) -> Tensor:
        return autograd.sqrt(self)

    def tanh(self) -> Tensor:
        return autograd.tanh(self)

    def relu(self) -> Tensor:
        return autograd.relu(self)

    def sigmoid(self) -> Tensor:
        return autograd.sigmoid(self)

    def abs(self) -> Tensor:
        return autograd.abs(self)

    def clip(self, low: Any = None, high: Any = None) -> Tensor:
        return autograd.clip(self, low, high)

    # ---- comparisons have no derivative: they return plain boolean arrays, which can be used as masks

    def __eq__(self, other: object) -> Array:
        return self.data == self._operand(other)

    def __ne__(self, other: object) -> Array:
        return self.data != self._operand(other)

    def __lt__(self, other: Any) -> Array:
        return self.data < self._operand(other)

    def __le__(self, other: Any) -> Array:
        return self.data <= self._operand(other)

    def __gt__(self, other: Any) -> Array:
        return self.data > self._operand(other)

    def __ge__(self, other: Any) -> Array:
        return self.data >= self._operand(other)

    __hash__ = object.__hash__  # __eq__ is elementwise, but Tensors still hash by identity

    def _operand(self, other: Any) -> Any:
        other = other.data if isinstance(other, Operators) else other
        return backend.to_device_of(plain_array("comparison", other), self.data) if backend.is_array(other) else other

    # ---- Python's protocols

    def __repr__(self) -> str:
        made_by = f", made by {self.node.op}" if self.node else ""
        leaf = ", requires_grad=True" if self.requires_grad and not self.node else ""
        return f"Tensor({self.numpy()!s}, {self.dtype}{made_by}{leaf})"

    def __format__(self, spec: str) -> str:
        return format(self.item() if spec else repr(self), spec)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a Tensor of shape () has no length: it is a single number, x.item()")
        return len(self.data)

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("a Tensor of shape () cannot be iterated over: it is a single number, x.item()")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def item(self) -> Any:
        """The single element of this Tensor, as a Python number."""
        return self.data.item()

    def numpy(self) -> np.ndarray:
        """The data as a NumPy array: shared on the CPU, copied from a GPU."""
        return backend.to_host(self.data)

    # ---- NumPy's protocols

    __array_priority__ = 1000  # CuPy leaves  array + tensor  to __radd__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """np.asarray(x), an error if that would lose a gradient or silently copy from a GPU."""
        if self.requires_grad or self.device != "cpu":
            why = "requires a gradient, which an array would lose" if self.requires_grad else f"is on {self.device}"
            raise TypeError(f"this Tensor {why}, so it is not converted to a NumPy array implicitly: write x.numpy()")
        return np.array(self.data, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """NumPy calls this for array + x; any other NumPy function raises an error that names the op to use."""
        arithmetic = _ARITHMETIC.get(ufunc.__name__)
        if method == "__call__" and arithmetic and len(inputs) == 2 and not isinstance(inputs[0], Operators):
            return getattr(inputs[1], arithmetic)(inputs[0])
        raise TypeError(_instead(ufunc.__name__))

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        raise TypeError(_instead(function.__name__))


_ARITHMETIC = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "equal": "__eq__",
    "not_equal": "__ne__",
}
_OTHER_NAMES = {"absolute": "abs", "true_divide": "divide", "amax": "max", "amin": "min", "expand_dims": "reshape"}


def _instead(name: str) -> str:
    op_name = _OTHER_NAMES.get(name, name)
    if callable(getattr(autograd, op_name, None)):
        method = f" or x.{op_name}()" if hasattr(Methods, op_name) else ""
        return f"np.{name} does not track gradients: for a Tensor write autograd.{op_name}(x){method}"
    return f"np.{name} does not track gradients, and there is no op of that name: write np.{name}(x.numpy(), ...)"
