"""Ragged sets: sets of different sizes in one padded array, with a mask of the real elements.

X, mask = pad([first, second])     # (n₁, d) and (n₂, d)  ->  X (2, n, d), mask (2, n), True where an element is real
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd import Tensor, backend
from autograd.ops.nn import require_mask


def pad(sets: Sequence[Any], value: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Sets (nᵢ, d) of any sizes, empty ones included, as one array X (B, n, d), n = max nᵢ, and its mask (B, n)."""
    arrays = [np.asarray(s) for s in sets]
    if not arrays:
        raise ValueError("pad needs at least one set, given an empty list")
    d = next((array.shape[1] for array in arrays if array.ndim == 2), None)
    for i, array in enumerate(arrays):
        if array.shape == (0,):
            raise ValueError(f"set {i} is an empty list, which has no width; use numpy.zeros((0, {d or 'd'})) instead")
        if array.ndim != 2 or array.shape[1] != d:
            raise ValueError(
                f"set {i} has shape {array.shape}; expected (n, {d or 'd'}), with the same width for all sets; "
                "reshape a set of scalars to (n, 1)"
            )
    sizes = np.array([len(array) for array in arrays])
    mask = np.arange(sizes.max()) < sizes[:, None]
    X = np.full((*mask.shape, arrays[0].shape[1]), value, dtype=np.result_type(*arrays, value))
    X[mask] = np.concatenate(arrays)
    return X, mask


def unpad(X: Any, mask: Any) -> list[np.ndarray]:
    """The sets in X (B, n, d), each as an array (nᵢ, d) of its real elements: the inverse of pad."""
    X = X.numpy() if isinstance(X, Tensor) else np.asarray(X)
    mask = mask.data if isinstance(mask, Tensor) else mask
    require_mask(mask, X.shape[:2])
    return [elements[real] for elements, real in zip(X, backend.to_host(mask), strict=True)]
