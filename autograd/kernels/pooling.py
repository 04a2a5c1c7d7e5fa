"""The largest of a set's elements, feature by feature, and where it was.

    y = max x over the elements present, 0 for an empty set          gx = g where x = y, in equal parts

Threads, forward: one for each set and feature, which goes over the elements; neighbours read neighbouring features.  It
notes the largest number, the first element that has it, and how many have it.

Bytes: x is read once, and three numbers written for each set and feature.  Backward needs x only where two elements are
equal: usually it knows from arg alone where g goes, and reads next to nothing.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, Elementwise, Raw, cuda_name, kernel, or_nothing

THREADS = 128
FORWARD = Raw(("pooling.cu",), lambda dtype: [f"max_pool_forward<{DTYPES[dtype]}>"])
BACKWARD = Elementwise(
    "max_pool_backward",
    "T g, raw T x, T y, int32 arg, int32 ties, int32 element, bool present",
    "T gx",
    """
    bool mine = ties == 1 && element == arg;  // a nan is equal to nobody: it has no ties, and no gradient
    if (ties > 1) mine = present && x[i] == y;  // only now x is read
    gx = mine ? g / T(ties) : T(0);
    """,
)


def forward_reference(x: Array, mask: Array | None) -> tuple[Array, Array, Array]:
    sets, n, d = x.shape
    present = np.ones((sets, n), bool) if mask is None else mask
    hidden = np.where(present[..., None], x, -np.inf)
    someone = np.any(present, axis=1, keepdims=True)
    if n == 0:
        return np.zeros((sets, d), x.dtype), np.full((sets, d), -1, "int32"), np.zeros((sets, d), "int32")
    y = np.where(someone, hidden.max(axis=1), 0).astype(x.dtype)
    hits = (hidden == y[:, None]) & present[..., None]
    first = np.where(np.isnan(y), np.isnan(hidden).argmax(axis=1), hits.argmax(axis=1))
    return y, np.where(someone, first, -1).astype("int32"), hits.sum(axis=1, dtype="int32")


def backward_reference(g: Array, x: Array, y: Array, arg: Array, ties: Array, mask: Array | None) -> Array:
    present = np.ones(x.shape[:2], bool) if mask is None else mask
    hits = (x == y[:, None]) & present[..., None]
    return np.where(hits, g[:, None] / np.maximum(ties, 1)[:, None].astype(g.dtype), 0)


@kernel(forward_reference, FORWARD, sizes="any")
def max_pool_forward(x: Array, mask: Array | None) -> tuple[Array, Array, Array]:
    """y, arg and ties (sets, d) of x (sets, n, d) and the mask (sets, n)"""
    xp, (sets, n, d) = array_module(x), x.shape
    x = xp.ascontiguousarray(x)
    y, arg, ties = (xp.empty((sets, d), dtype) for dtype in (x.dtype, "int32", "int32"))
    arguments = (x, or_nothing(mask), y, arg, ties, sets, n, d)
    FORWARD(f"max_pool_forward<{cuda_name(x)}>", -(-sets * d // THREADS), THREADS, arguments)
    return y, arg, ties


@kernel(backward_reference, BACKWARD, sizes="any")
def max_pool_backward(g: Array, x: Array, y: Array, arg: Array, ties: Array, mask: Array | None) -> Array:
    """gx (sets, n, d)"""
    xp, n = array_module(x), x.shape[1]
    elements = xp.arange(n, dtype="int32")[None, :, None]
    present = xp.ones((), bool) if mask is None else mask[..., None]
    each = (a[:, None] for a in (y, arg, ties))
    return BACKWARD(g[:, None], xp.ascontiguousarray(x), *each, elements, present, xp.empty(x.shape, x.dtype))
