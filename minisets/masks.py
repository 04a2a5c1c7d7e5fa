"""Ragged sets: sets of different sizes in one array, with a mask that says who is there.

    X, mask = pad([first, second])     # (n₁, d) and (n₂, d)  ->  X (2, n, d), mask (2, n), True where present

All blocks keep two promises.  What a mask hides has no influence on anything, not even if it is nan; and a hidden
element comes out as zeros, and receives a gradient of exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd import Tensor, backend, where
from autograd.backend import Array
from autograd.ops.nn import require_mask
from minisets.nn.module import tensor_like


def pad(sets: Sequence[Any], value: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Sets (nᵢ, d) of any sizes, zero included, as one array X (B, n, d) with n the largest, and the mask (B, n)."""
    arrays = [np.asarray(s) for s in sets]
    if not arrays:
        raise ValueError("pad needs at least one set, given an empty list")
    for i, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[1] != arrays[0].shape[-1]:
            raise ValueError(
                f"set {i} has shape {array.shape}; expected sets (n, d) of the same width d, as the first of "
                f"{arrays[0].shape}; single numbers have d = 1"
            )
    sizes = np.array([len(array) for array in arrays])
    mask = np.arange(sizes.max()) < sizes[:, None]
    X = np.full((*mask.shape, arrays[0].shape[1]), value, dtype=np.result_type(*arrays, value))
    X[mask] = np.concatenate(arrays)
    return X, mask


def unpad(X: Any, mask: Any) -> list[np.ndarray]:
    """The sets in X (B, n, d), each as an array (nᵢ, d) of the elements present; it undoes pad."""
    X = X.numpy() if isinstance(X, Tensor) else np.asarray(X)
    mask = mask.data if isinstance(mask, Tensor) else mask
    require_mask(mask, X.shape[:2])
    return [elements[present] for elements, present in zip(X, backend.to_host(mask), strict=True)]


def hide(X: Tensor, mask: Array | None) -> Tensor:
    """X with zeros where the mask says that nobody is there."""
    return X if mask is None else where(mask[..., None], X, 0)


def enter(name: str, X: Any, mask: Any, d: int, like: Tensor | None = None) -> tuple[Tensor, Array | None]:
    """What a block sees of its arguments: sets (B, n, d), or a single set (n, d), as a Tensor; the mask as an array.

    Hidden elements are zeros from here on.  An array takes the dtype and device of the Tensor `like`, a parameter.
    """
    try:
        X = Tensor(X) if like is None and not isinstance(X, Tensor) else tensor_like(X, like)
    except (TypeError, ValueError):
        raise TypeError(f"{name} expected an array of numbers; sets of different sizes become one by pad()") from None
    if X.dtype.kind != "f":
        X = X.astype("float64" if like is None else like.dtype)
    if X.ndim not in (2, 3) or X.shape[-1] != d:
        raise ValueError(f"{name} expected a batch of sets (B, n, {d}) or a single set (n, {d}), given {X.shape}")
    if like is not None and X.dtype != like.dtype:
        raise TypeError(
            f"{name} computes in {like.dtype}, given a Tensor of {X.dtype}; convert it, or the network, with .astype"
        )
    mask = mask.data if isinstance(mask, Tensor) else mask
    if mask is not None:
        try:
            require_mask(mask, X.shape[:-1])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name} of sets {X.shape}: {error}") from None
        mask = backend.beside(mask, X.data)  # here, once, and not in each op that looks at it
    return hide(X, mask), mask
