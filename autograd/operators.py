"""The operators + * @ [], each of which calls an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import autograd
from autograd import backend
from autograd.backend import Array

if TYPE_CHECKING:
    from autograd.tape import Node, Tensor


class Operators:
    """A Tensor's operators and array attributes."""

    __slots__ = ()
    if TYPE_CHECKING:
        data: Array
        node: Node | None
        requires_grad: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def device(self) -> str:
        return backend.device_of(self.data)

    # ---- arithmetic; Python evaluates 2 − x as x.__rsub__(2)

    def __add__(self, other: Any) -> Tensor:
        return autograd.add(self, other)

    def __radd__(self, other: Any) -> Tensor:
        return autograd.add(other, self)

    def __sub__(self, other: Any) -> Tensor:
        return autograd.subtract(self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return autograd.subtract(other, self)

    def __mul__(self, other: Any) -> Tensor:
        return autograd.multiply(self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return autograd.multiply(other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return autograd.divide(self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return autograd.divide(other, self)

    def __pow__(self, other: Any) -> Tensor:
        return autograd.power(self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return autograd.power(other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return autograd.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return autograd.matmul(other, self)

    def __neg__(self) -> Tensor:
        return autograd.negative(self)

    def __abs__(self) -> Tensor:
        return autograd.abs(self)

    def __getitem__(self, index: Any) -> Tensor:
        return autograd.getitem(self, index=index)

    # ---- in-place assignment, which could change values that an op saved for backward

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "setitem: a Tensor cannot be assigned to in place, since an op may have saved its values for backward; "
            "build a new one with where(mask, new, x) or concatenate"
        )

    def __iadd__(self, other: Any) -> Tensor:
        return self._unless_leaf("+=") + other

    def __isub__(self, other: Any) -> Tensor:
        return self._unless_leaf("-=") - other

    def __imul__(self, other: Any) -> Tensor:
        return self._unless_leaf("*=") * other

    def __itruediv__(self, other: Any) -> Tensor:
        return self._unless_leaf("/=") / other

    def _unless_leaf(self, symbol: str) -> Operators:
        """x += y binds x to a new Tensor, which is never intended for a leaf: the leaf itself would not change."""
        if self.requires_grad and self.node is None:
            raise TypeError(
                f"{symbol} on a leaf that requires a gradient would create a new Tensor and leave the leaf unchanged; "
                f"write x.data {symbol} … to change its values, or y = x {symbol[:-1]} … for a new Tensor"
            )
        return self
