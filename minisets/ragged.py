"""Ragged sets: sets of different sizes in one array, with a mask that says who is there.

X, mask = pad([first, second])     # (n₁, d) and (n₂, d)  ->  X (2, n, d), mask (2, n), True where present
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd import Tensor, backend
from autograd.ops.nn import require_mask


def pad(sets: Sequence[Any], value: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Sets (nᵢ, d) of any sizes, zero included, as one array X (B, n, d) with n the largest, and the mask (B, n)."""
    arrays = [np.asarray(s) for s in sets]
    if not arrays:
        raise ValueError("pad needs at least one set, given an empty list")
    d = next((array.shape[1] for array in arrays if array.ndim == 2), None)
    for i, array in enumerate(arrays):
        if array.shape == (0,):
            raise ValueError(f"set {i} is an empty list, which has no width; write numpy.zeros((0, {d or 'd'})) for it")
        if array.ndim != 2 or array.shape[1] != d:
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
