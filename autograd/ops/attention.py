"""Attention: every query looks at every key, and takes a weighted mean of the values."""

from __future__ import annotations

import math

import numpy as np

from autograd import forms
from autograd.backend import Array, array_module
from autograd.fast import attention as fast
from autograd.kernels import attention as tiles
from autograd.kernels import ops as kernels
from autograd.ops.common import once, unbroadcast
from autograd.ops.nn import masked_softmax, require_mask
from autograd.tape import Result, op


@op
def attention(q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None) -> Result:
    """O = P V,   P = softmax(S) over the keys,   S = scale · Q Kᵀ

    gV = Pᵀ g,     gQ = scale · gS K,     gK = scale · gSᵀ Q,     gS = P ⊙ (gP − Σ gP ⊙ P)  with gP = g Vᵀ

    q is (..., n, e), k (..., m, e), v (..., m, f), the result (..., n, f); leading dimensions, usually (B, h),
    broadcast.  The scale is 1/√e unless given.  The mask is boolean, True where a key is present: (B, m) for the keys
    of each set, or anything that broadcasts to the scores (..., n, m).  A hidden key gets exactly zero weight, and one
    hidden from all queries may hold anything, even nan; a query without any key gets zeros, and sends none back.
    """
    xp, shapes = array_module(q), (q.shape, k.shape, v.shape)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError("expected q (..., n, e), k (..., m, e) and v (..., m, f) that agree in e and m")
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    scale = float(scale)  # a NumPy scalar would turn float32 into float64
    mask = None if mask is None else _for_scores(mask, q, k)
    if forms.fast(q, k, v) and q.size and v.size and k.shape[-2] > 1:  # one key has the weight 1: nothing to gain
        return fast.attention(q, k, v, mask, scale)
    if forms.fused(q, k, v) and min(q.shape[-1], v.shape[-1]) > 0 and max(q.shape[-1], v.shape[-1]) <= tiles.WIDEST:
        return kernels.attention(q, k, v, mask, scale)
    if mask is not None:
        seen, sees = mask.any(axis=-2)[..., None], mask.any(axis=-1, keepdims=True)
        # Keys that nobody sees and queries that see nobody are wiped: their weights are 0, but 0 · nan is not.
        q, k, v = xp.where(sees, q, 0), xp.where(seen, k, 0), xp.where(seen, v, 0)
    # Heads arrive as strided views, for which NumPy's product falls back to a slow loop; on copies it calls BLAS.
    q, k, v = (xp.ascontiguousarray(x) for x in (q, k, v))
    P = masked_softmax(q @ k.swapaxes(-1, -2) * scale, -1, mask)  # (..., n, m)

    @once
    def heard(g: Array) -> Array:
        return g if mask is None else xp.where(sees, g, 0)  # what is sent to a query without keys ends there

    @once
    def gS(g: Array) -> Array:
        gP = heard(g) @ v.swapaxes(-1, -2)
        return P * (gP - (gP * P).sum(axis=-1, keepdims=True)) * scale

    return P @ v, (
        lambda g: unbroadcast(gS(g) @ k, shapes[0]),
        lambda g: unbroadcast(gS(g).swapaxes(-1, -2) @ q, shapes[1]),
        lambda g: unbroadcast(P.swapaxes(-1, -2) @ heard(g), shapes[2]),
    )


@op
def summed_attention(x: Array, k: Array, c: Array, v: Array) -> Result:
    """y = Σⱼ Pⱼ Vⱼ over heads j that ask with the same queries x,   Pⱼ = softmax(x Kⱼᵀ + cⱼ) over the keys

    gVⱼ = Pⱼᵀ g,     gx = Σⱼ gSⱼ Kⱼ,     gKⱼ = gSⱼᵀ x,     gcⱼ = Σ gSⱼ over the queries,
    gSⱼ = Pⱼ ⊙ (gPⱼ − Σ gPⱼ ⊙ Pⱼ)  with gPⱼ = g Vⱼᵀ

    x is (B, n, d), k (B, h, m, d), c (B, h, m) and v (B, h, m, f), with m > 0; the result is (B, n, f).
    """
    B, h, m, d = k.shape
    if x.shape != (B, x.shape[1], d) or c.shape != (B, h, m) or v.shape[:3] != (B, h, m) or not m:
        raise ValueError("expected x (B, n, d), k (B, h, m, d), c (B, h, m) and v (B, h, m, f) with m > 0")
    if forms.fast(x, k, c, v) and x.size and v.size:
        return fast.summed_attention(x, k, c, v)
    each = x[:, None]  # the same queries for every head
    P = masked_softmax(each @ k.swapaxes(-1, -2) + c[..., None, :], -1, None)  # (B, h, n, m)

    @once
    def gS(g: Array) -> Array:
        gP = g[:, None] @ v.swapaxes(-1, -2)
        return P * (gP - (gP * P).sum(axis=-1, keepdims=True))

    return (P @ v).sum(axis=1), (
        lambda g: (gS(g) @ k).sum(axis=1),
        lambda g: gS(g).swapaxes(-1, -2) @ each,
        lambda g: gS(g).sum(axis=-2),
        lambda g: P.swapaxes(-1, -2) @ g[:, None],
    )


def _for_scores(mask: Array, q: Array, k: Array) -> Array:
    """The mask with the dimensions of the scores (..., n, m) or with such as broadcast to them."""
    require_mask(mask)
    given = mask.shape
    dimensions = max(q.ndim, k.ndim)
    if mask.ndim == 2 and dimensions > 2:  # (B, m): the same for all heads and queries
        mask = mask.reshape(mask.shape[0], *[1] * (dimensions - 2), mask.shape[1])
    elif mask.ndim == 1:
        mask = mask[None, :]
    scores = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    fits = all(a in (1, b) for a, b in zip(mask.shape[::-1], scores[::-1], strict=False))
    if not (1 <= mask.ndim <= len(scores) and fits):
        raise ValueError(f"expected a mask (B, m) of the keys, or one that broadcasts to {scores}; given {given}")
    return mask
