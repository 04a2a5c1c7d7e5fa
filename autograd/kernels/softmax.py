"""Softmax over rows with an optional mask, and its gradient.

    y = eˣ / Σ eˣ over unmasked elements, 0 where masked          gx = y ⊙ (g − Σ g ⊙ y)

Threads: one warp (32 threads that run together) per row; lane i takes the elements i, i + 32, …, and the lanes' results
are combined by shuffles, which pass registers from lane to lane.

Forward makes two passes over a row: the first computes its maximum and Σ e^(x − maximum) together, by the rule

    (t, s) and (t', s')  combine to  (u, s e^(t − u) + s' e^(t' − u))  with u = max(t, t'),

and the second writes y.  Bytes: x is read twice, the second time mostly from the cache, and y written once, where
CuPy's where, max, subtract, exp, sum and divide make eleven passes.  Backward reads y and g and writes gx.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, Raw, cuda_name, kernel, or_null

WARPS = 4  # in a block, one row each

CODE = Raw(
    ("warp.cu", "softmax.cu"),
    lambda dtype: [f"softmax_{way}<{DTYPES[dtype]}>" for way in ("forward", "backward")],
)


def forward_reference(x: Array, mask: Array | None) -> Array:
    x = x if mask is None else np.where(mask, x, -np.inf)
    top = x.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(x - np.where(top == -np.inf, 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def backward_reference(y: Array, g: Array) -> Array:
    return y * (g - (g * y).sum(axis=-1, keepdims=True))


@kernel(forward_reference, CODE, sizes="any rows of any length")
def softmax_forward(x: Array, mask: Array | None) -> Array:
    """softmax of x (..., m) over its last axis; the mask broadcasts to x"""
    xp = array_module(x)
    x = xp.ascontiguousarray(x)
    mask = None if mask is None else xp.ascontiguousarray(xp.broadcast_to(mask, x.shape))
    y = xp.empty_like(x)
    _launch("softmax_forward", x, x, or_null(mask), y)
    return y


@kernel(backward_reference, CODE, sizes="any rows of any length")
def softmax_backward(y: Array, g: Array) -> Array:
    xp = array_module(y)
    gx = xp.empty_like(y)
    _launch("softmax_backward", y, y, xp.ascontiguousarray(g), gx)
    return gx


def _launch(name: str, x: Array, *arrays: Array) -> None:
    width = x.shape[-1]
    rows = x.size // max(width, 1)
    CODE(f"{name}<{cuda_name(x)}>", -(-rows // WARPS), 32 * WARPS, (*arrays, rows, width))
