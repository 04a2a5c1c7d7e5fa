"""The maximum over a set's elements, feature by feature, and its position.

    y = max x over the valid elements, 0 for an empty set          gx = g where x = y, in equal parts

Threads, forward: one per set and feature, which loops over the elements; adjacent threads read adjacent features.  It
records the maximum, the first element that attains it, and the number of elements that do.

Bytes: x is read once, and three values are written per set and feature.  Backward reads x only where two elements tie:
usually arg alone determines where g goes.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, Elementwise, Raw, cuda_name, kernel, or_null

THREADS = 128
FORWARD = Raw(("pooling.cu",), lambda dtype: [f"max_pool_forward<{DTYPES[dtype]}>"])
BACKWARD = Elementwise(
    "max_pool_backward",
    "T g, raw T x, T y, int32 arg, int32 ties, int32 element, bool valid",
    "T gx",
    """
    bool is_max = ties == 1 && element == arg;  // nan equals nothing, itself included: no ties and no gradient
    if (ties > 1) is_max = valid && x[i] == y;  // x is read only in this case
    gx = is_max ? g / T(ties) : T(0);
    """,
)


def forward_reference(x: Array, mask: Array | None) -> tuple[Array, Array, Array]:
    sets, n, d = x.shape
    valid = np.ones((sets, n), bool) if mask is None else mask
    masked = np.where(valid[..., None], x, -np.inf)
    nonempty = np.any(valid, axis=1, keepdims=True)
    if n == 0:
        return np.zeros((sets, d), x.dtype), np.full((sets, d), -1, "int32"), np.zeros((sets, d), "int32")
    y = np.where(nonempty, masked.max(axis=1), 0).astype(x.dtype)
    is_max = (masked == y[:, None]) & valid[..., None]
    first = np.where(np.isnan(y), np.isnan(masked).argmax(axis=1), is_max.argmax(axis=1))
    return y, np.where(nonempty, first, -1).astype("int32"), is_max.sum(axis=1, dtype="int32")


def backward_reference(g: Array, x: Array, y: Array, arg: Array, ties: Array, mask: Array | None) -> Array:
    valid = np.ones(x.shape[:2], bool) if mask is None else mask
    is_max = (x == y[:, None]) & valid[..., None]
    return np.where(is_max, g[:, None] / np.maximum(ties, 1)[:, None].astype(g.dtype), 0)


@kernel(forward_reference, FORWARD, sizes="any")
def max_pool_forward(x: Array, mask: Array | None) -> tuple[Array, Array, Array]:
    """y, arg and ties (sets, d) of x (sets, n, d) and the mask (sets, n)"""
    xp, (sets, n, d) = array_module(x), x.shape
    x = xp.ascontiguousarray(x)
    y, arg, ties = (xp.empty((sets, d), dtype) for dtype in (x.dtype, "int32", "int32"))
    arguments = (x, or_null(mask), y, arg, ties, sets, n, d)
    FORWARD(f"max_pool_forward<{cuda_name(x)}>", -(-sets * d // THREADS), THREADS, arguments)
    return y, arg, ties


@kernel(backward_reference, BACKWARD, sizes="any")
def max_pool_backward(g: Array, x: Array, y: Array, arg: Array, ties: Array, mask: Array | None) -> Array:
    """gx (sets, n, d)"""
    xp, n = array_module(x), x.shape[1]
    elements = xp.arange(n, dtype="int32")[None, :, None]
    valid = xp.ones((), bool) if mask is None else mask[..., None]
    per_set = (a[:, None] for a in (y, arg, ties))
    return BACKWARD(g[:, None], xp.ascontiguousarray(x), *per_set, elements, valid, xp.empty(x.shape, x.dtype))
