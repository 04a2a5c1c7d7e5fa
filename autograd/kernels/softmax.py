"""Softmax over rows of which some numbers may be hidden, and its gradient.

    y = eˣ / Σ eˣ over what is present, 0 where hidden          gx = y ⊙ (g − Σ g ⊙ y)

Threads: a warp (32 threads that run together) for each row; lane i takes the numbers i, i + 32, …, and what the lanes
have found is joined by shuffles, which pass registers from lane to lane.

Forward goes over a row twice: first for its largest number and Σ e^(x − largest) together, by the rule

    (t, s) and (t', s')  join to  (u, s e^(t − u) + s' e^(t' − u))  with u = max(t, t'),

then to write y.  Bytes: x is read twice, the second time mostly from the cache, and y written once, where CuPy's own
where, max, subtract, exp, sum and divide pass over the array eleven times.  Backward reads y and g and writes gx.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, Raw, cuda_name, kernel, or_nothing

WARPS = 4  # in a block: rows that share nothing but their launch

CODE = Raw(
    ("warp.cu", "softmax.cu"),
    lambda dtype: [f"softmax_{way}<{DTYPES[dtype]}>" for way in ("forward", "backward")],
)


def forward_reference(x: Array, mask: Array | None) -> Array:
    present = np.ones(x.shape, bool) if mask is None else np.broadcast_to(mask, x.shape)
    x = np.where(present, x, -np.inf)
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
    _launch("softmax_forward", x, x, or_nothing(mask), y)
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
