"""What Transformers are made of: linear layers, ReLU, layer normalisation, attention.

A mask is boolean, True where an element is present.  What it hides has no influence at all, whatever is stored there:
nan and infinity included, values and gradients alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.backend import Array, array_module
from autograd.registry import checked_by
from autograd.tape import Result, op


def _check_linear(x: Array, weight: Array, bias: Array | None) -> None:
    if getattr(x, "ndim", 0) == 0 or getattr(weight, "ndim", 0) != 2 or x.shape[-1] != weight.shape[0]:
        raise ValueError("expected x (..., d_in) and a weight (d_in, d_out) that agree in d_in")
    if bias is not None and bias.shape != weight.shape[1:]:
        raise ValueError(f"expected a bias of shape {weight.shape[1:]}, given {bias.shape}")


@op
@checked_by(_check_linear)
def linear(x: Array, weight: Array, bias: Array | None = None) -> Result:
    """y = x W + b          gx = g Wᵀ,   gW = Σ xᵀ g,   gb = Σ g   (summed over all rows)

    x is (..., d_in), W (d_in, d_out), b (d_out,).
    """
    d_in, d_out = weight.shape
    rows = x.reshape(math.prod(x.shape[:-1]), d_in)  # those of all sets, as one tall matrix
    y = x @ weight
    return y if bias is None else y + bias, (
        lambda g: g @ weight.T,
        lambda g: rows.T @ g.reshape(len(rows), d_out),
        lambda g: g.reshape(len(rows), d_out).sum(axis=0),
    )


@op
def relu(x: Array) -> Result:
    """y = max(x, 0)          gx = g ⊙ [x > 0]"""
    y = array_module(x).maximum(x, 0)
    return y, lambda g: g * (y > 0)


def _check_layer_norm(x: Array, gamma: Array | None, beta: Array | None, *, eps: float = 1e-5) -> None:
    for name, vector in (("gamma", gamma), ("beta", beta)):
        if vector is not None and vector.shape != x.shape[-1:]:
            raise ValueError(f"expected {name} of shape {x.shape[-1:]}, given {vector.shape}")


@op
@checked_by(_check_layer_norm)
def layer_norm(x: Array, gamma: Array | None = None, beta: Array | None = None, *, eps: float = 1e-5) -> Result:
    """y = γ ⊙ x̂ + β,   x̂ = (x − mean x) / √(var x + ε), over the last axis

    gx = (h − mean h − x̂ ⊙ mean(h ⊙ x̂)) / √(var x + ε)  with h = γ ⊙ g,     gγ = Σ g ⊙ x̂,     gβ = Σ g
    """
    xp = array_module(x)
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    normal = centred / deviation
    y = normal if gamma is None else normal * gamma

    def pull(g: Array) -> tuple[Array, Array, Array]:
        h = g if gamma is None else g * gamma
        gx = (h - h.mean(axis=-1, keepdims=True) - normal * (h * normal).mean(axis=-1, keepdims=True)) / deviation
        return gx, g * normal, g  # γ and β serve every row, so backward sums their gradients over the rows

    return y if beta is None else y + beta, pull


# ---- attention ------------------------------------------------------------------------------------------------------


@op
def split_heads(x: Array, *, heads: int) -> Result:
    """(..., n, d) -> (..., h, n, d/h): head j gets the j-th run of d/h features          join_heads leads g back"""
    if x.ndim < 2 or x.shape[-1] % heads:
        raise ValueError(f"expected x (..., n, d) with a width d that divides into {heads} heads")
    return _split(x, heads), _join


@op
def join_heads(x: Array) -> Result:
    """(..., h, n, e) -> (..., n, h e), which undoes split_heads          split_heads leads g back"""
    heads = x.shape[-3]
    return _join(x), lambda g: _split(g, heads)


def _split(x: Array, heads: int) -> Array:
    *lead, n, d = x.shape
    return array_module(x).ascontiguousarray(x.reshape(*lead, n, heads, d // heads).swapaxes(-2, -3))


def _join(x: Array) -> Array:
    *lead, heads, n, e = x.shape
    return x.swapaxes(-2, -3).reshape(*lead, n, heads * e)


def _check_attention(q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: Any = None) -> None:
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError("expected q (..., n, e), k (..., m, e) and v (..., m, f) that agree in e and m")
    if mask is not None:
        mask_of_scores(mask, q, k)


@op
@checked_by(_check_attention)
def attention(q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None) -> Result:
    """O = P V,   P = softmax(S) over the keys,   S = scale · Q Kᵀ

    gV = Pᵀ g,     gQ = scale · gS K,     gK = scale · gSᵀ Q,     gS = P ⊙ (gP − Σ gP ⊙ P)  with gP = g Vᵀ

    q is (..., n, e), k (..., m, e), v (..., m, f), the result (..., n, f); leading dimensions, usually (B, h),
    broadcast.  The scale is 1/√e unless given.  The mask is boolean, True where a key is present: (B, m) for the keys
    of each set, or anything that broadcasts to the scores (..., n, m).  A hidden key gets exactly zero weight, and one
    hidden from all queries may hold anything, even nan; a query without any key gets zeros, and sends none back.
    """
    xp = array_module(q)
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    if mask is not None:
        mask = mask_of_scores(mask, q, k)
        asks, seen = mask.any(axis=-1, keepdims=True), mask.any(axis=-2)[..., None]
        # Keys that nobody attends to, and queries that attend to nobody, are wiped: their weights are 0, but 0 · nan
        # is not.
        q, k, v = xp.where(asks, q, 0), xp.where(seen, k, 0), xp.where(seen, v, 0)
    P = masked_softmax(q @ k.swapaxes(-1, -2) * scale, -1, mask)  # (..., n, m)

    def pull(g: Array) -> tuple[Array, Array, Array]:
        g = g if mask is None else xp.where(asks, g, 0)
        gP = g @ v.swapaxes(-1, -2)
        gS = P * (gP - (gP * P).sum(axis=-1, keepdims=True)) * scale
        return gS @ k, gS.swapaxes(-1, -2) @ q, P.swapaxes(-1, -2) @ g

    return P @ v, pull


def masked_softmax(x: Array, axis: int, mask: Array | None) -> Array:
    """eˣ / Σ eˣ over what is present; what is hidden gets exactly 0, and so does all where nothing is present."""
    xp = array_module(x)
    if x.shape[axis] == 0:
        return xp.zeros_like(x)
    if mask is not None:
        x = xp.where(mask, x, -math.inf)
    top = x.max(axis=axis, keepdims=True)  # subtracted so that no exponential overflows
    e = xp.exp(x - xp.where(top == -math.inf, 0, top))
    total = e.sum(axis=axis, keepdims=True)
    return e / xp.where(total == 0, 1, total)


def mask_of_scores(mask: Array, q: Array, k: Array) -> Array:
    """The mask with the dimensions of the scores (..., n, m), or with such as broadcast to them."""
    require_mask(mask)
    given, dimensions = mask.shape, max(q.ndim, k.ndim)
    if mask.ndim == 2 and dimensions > 2:  # (B, m): the same for all heads and queries
        mask = mask.reshape(mask.shape[0], *[1] * (dimensions - 2), mask.shape[1])
    elif mask.ndim == 1:
        mask = mask[None, :]
    scores = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    fits = all(a in (1, b) for a, b in zip(mask.shape[::-1], scores[::-1], strict=False))
    if not (1 <= mask.ndim <= len(scores) and fits):
        raise ValueError(f"expected a mask (B, m) of the keys, or one that broadcasts to {scores}; given {given}")
    return mask


# ---- refusals -------------------------------------------------------------------------------------------------------


def require_mask(mask: Array, shape: tuple[int, ...] | None = None) -> None:
    """Refuse a mask that is not boolean, or not of the shape."""
    if getattr(mask, "dtype", None) != np.dtype(bool):
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"a mask is a boolean array, True where an element is present; given {kind}")
    if shape is not None and mask.shape != shape:
        raise ValueError(f"expected a mask of shape {shape}, given {mask.shape}")
