"""Softmax and log-softmax, along any axis."""

from __future__ import annotations

from autograd.backend import Array, array_module
from autograd.ops.nn import masked_softmax, require_mask
from autograd.ops.reduce import axis_of
from autograd.registry import checked_by
from autograd.tape import Result, op


def _check_softmax(x: Array, *, axis: int = -1, mask: Array | None = None) -> None:
    axis_of(x, axis)
    if mask is not None:
        require_mask(mask)
        if mask.ndim > x.ndim or any(a not in (1, b) for a, b in zip(mask.shape[::-1], x.shape[::-1], strict=False)):
            axes = ", ".join(":" if i in (0, x.ndim - 1) else "None" for i in range(x.ndim))
            hint = f"; for a key mask (B, m), pass mask[{axes}]" if mask.ndim == 2 < x.ndim else ""
            raise ValueError(f"expected a mask that broadcasts to {x.shape}, given {mask.shape}{hint}")


@op
@checked_by(_check_softmax)
def softmax(x: Array, *, axis: int = -1, mask: Array | None = None) -> Result:
    """y = eˣ / Σ eˣ over unmasked elements, 0 where masked          gx = y ⊙ (g − Σ g ⊙ y)"""
    y = masked_softmax(x, axis, mask)
    return y, lambda g: y * (g - (g * y).sum(axis=axis, keepdims=True))


@op
def log_softmax(x: Array, *, axis: int = -1) -> Result:
    """y = x − log Σ eˣ          gx = g − eʸ Σ g"""
    xp, axis = array_module(x), axis_of(x, axis)
    if x.shape[axis] == 0:
        return x, lambda g: g
    y = x - x.max(axis=axis, keepdims=True)
    y = y - xp.log(xp.exp(y).sum(axis=axis, keepdims=True))
    return y, lambda g: g - xp.exp(y) * g.sum(axis=axis, keepdims=True)
