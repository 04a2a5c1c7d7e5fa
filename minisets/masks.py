"""Masks: True where an element of a set is present, False where it is masked out, such as padding.

All blocks guarantee two things.  A masked element has no influence on anything, even if it is nan; and its own output
is zero, as is the gradient it receives.

Both are enforced in __call__ (SetModule's, or the block's own): calling a block checks its arguments and zeroes masked
elements, and its forward, the equation, assumes that this was done.  Inside a block, where everything has been checked,
the forward of another is called directly.  ragged.py builds masks for sets of different sizes.
"""

from __future__ import annotations

from typing import Any

from autograd import Tensor, backend, where
from autograd.backend import Array
from autograd.ops.nn import require_mask
from minisets.nn.module import Module, tensor_like


def zero_masked(X: Tensor, mask: Array | None) -> Tensor:
    """X with masked elements set to zero."""
    return X if mask is None else where(mask[..., None], X, 0)


def check_sets(name: str, X: Any, mask: Any, d: int, like: Tensor | None) -> tuple[Tensor, Array | None]:
    """Valid sets (B, n, d), or a single set (n, d), as a Tensor with masked elements zeroed; the mask as an array.

    An array or an integer Tensor is converted to the dtype and device of `like`, a parameter; a floating-point Tensor
    of another dtype raises TypeError.
    """
    try:
        X = tensor_like(X, like)
    except (TypeError, ValueError):
        raise TypeError(f"{name} expected an array of numbers; use pad() to combine sets of different sizes") from None
    if X.data.dtype.kind != "f":
        X = X.astype("float64" if like is None else like.dtype)
    elif like is not None and X.data.dtype != like.data.dtype:
        raise TypeError(
            f"{name} computes in {like.dtype}, given a Tensor of {X.dtype}; convert it, or the network, with .astype"
        )
    if X.data.ndim not in (2, 3) or X.data.shape[-1] != d:
        raise ValueError(f"{name} expected a batch of sets (B, n, {d}) or a single set (n, {d}), given {X.shape}")
    if mask is None:
        return X, None
    mask = mask.data if isinstance(mask, Tensor) else mask
    try:
        require_mask(mask, X.shape[:-1])
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} on sets {X.shape}: {error}") from None
    mask = backend.to_device_of(mask, X.data)
    return zero_masked(X, mask), mask


class SetModule(Module):
    """A Module on sets X (B, n, d_in) with a mask (B, n), or on a single set (n, d_in) with a mask (n,)."""

    d_in: int
    pools = False  # True if the output is not a set of the same size

    def __call__(self, X: Any, mask: Any = None) -> Tensor:
        like = next((x for _, x in self.named_tensors()), None)
        X, mask = check_sets(type(self).__name__, X, mask, self.d_in, like)
        Y = self.forward(X, mask)
        return Y if self.pools else zero_masked(Y, mask)
