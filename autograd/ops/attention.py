"""Attention: every query looks at every key, and takes a weighted mean of the values."""

from __future__ import annotations

import math

from autograd.backend import Array, array_module
from autograd.ops.common import once, unbroadcast
from autograd.ops.nn import masked_softmax, require_mask
from autograd.tape import Result, op


@op
def attention(q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None) -> Result:
    """O = P V,   P = softmax(S) over the keys,   S = scale · Q Kᵀ

    gV = Pᵀ g,     gQ = scale · gS K,     gK = scale · gSᵀ Q,     gS = P ⊙ (gP − Σ gP ⊙ P)  with gP = g Vᵀ

    q is (..., n, e), k (..., m, e), v (..., m, f), the result (..., n, f); leading dimensions, usually (B, h),
    broadcast.  The scale is 1/√e unless given.  The mask is boolean, True where a key is present: (B, m) for the keys
    of each set, or anything that broadcasts to the scores (..., n, m).  A hidden key gets exactly zero weight, whatever
    is stored there; a query without any key gets zeros, and sends none back.
    """
    xp = array_module(q)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    shapes = q.shape, k.shape, v.shape
    if mask is not None:
        mask = _for_scores(mask, q, k)
        anywhere = mask.any(axis=-2)[..., None]  # a key that no query may see is wiped, as 0 · nan is not 0
        k, v = xp.where(anywhere, k, 0), xp.where(anywhere, v, 0)
    # Heads arrive as strided views, for which NumPy leaves BLAS: a product on a copy is up to fifty times faster.
    q, k, v = (xp.ascontiguousarray(x) for x in (q, k, v))
    P = masked_softmax(q @ k.swapaxes(-1, -2) * scale, -1, mask)  # (..., n, m)

    @once
    def gS(g: Array) -> Array:
        gP = g @ v.swapaxes(-1, -2)
        return P * (gP - (gP * P).sum(axis=-1, keepdims=True)) * scale

    return P @ v, (
        lambda g: unbroadcast(gS(g) @ k, shapes[0]),
        lambda g: unbroadcast(gS(g).swapaxes(-1, -2) @ q, shapes[1]),
        lambda g: unbroadcast(P.swapaxes(-1, -2) @ g, shapes[2]),
    )


def _for_scores(mask: Array, q: Array, k: Array) -> Array:
    """The mask with the dimensions of the scores (..., n, m) or with such as broadcast to them."""
    require_mask(mask)
    dimensions = max(q.ndim, k.ndim)
    if mask.ndim == 2 and dimensions > 2:  # (B, m): the same for all heads and queries
        mask = mask.reshape(mask.shape[0], *[1] * (dimensions - 2), mask.shape[1])
    elif mask.ndim == 1:
        mask = mask[None, :]
    n, m = q.shape[-2], k.shape[-2]
    if mask.shape[-1] not in (1, m) or mask.shape[-2] not in (1, n):
        raise ValueError(f"expected a mask for {m} keys, (B, {m}) or (..., {n}, {m}); given {mask.shape}")
    return mask
