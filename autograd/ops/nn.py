"""The parts of a Transformer: linear layers, ReLU, layer normalization, attention.

A mask is boolean, True where an element is present.  Masked elements have no effect on values or gradients, whatever
they contain, including nan and infinity.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.backend import Array, array_module
from autograd.registry import any_dtype, checked_by
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
    rows = x.reshape(math.prod(x.shape[:-1]), d_in)  # the rows of all sets, as one tall matrix
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
    if x.ndim == 0:
        raise ValueError("expected x (..., d), whose last axis is normalized")
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
    centered = x - x.mean(axis=-1, keepdims=True)
    std = xp.sqrt((centered * centered).mean(axis=-1, keepdims=True) + eps)
    normalized = centered / std
    y = normalized if gamma is None else normalized * gamma

    def pull(g: Array) -> tuple[Array, Array, Array]:
        h = g if gamma is None else g * gamma
        gx = (h - h.mean(axis=-1, keepdims=True) - normalized * (h * normalized).mean(axis=-1, keepdims=True)) / std
        return gx, g * normalized, g  # γ and β are broadcast over rows, so backward sums their gradients

    return y if beta is None else y + beta, pull


# ---- attention ------------------------------------------------------------------------------------------------------


@op
@any_dtype
def split_heads(x: Array, *, heads: int) -> Result:
    """(..., n, d) -> (..., h, n, d/h): head j gets the j-th group of d/h features          gx = join_heads(g)"""
    if x.ndim < 2 or x.shape[-1] % heads:
        raise ValueError(f"expected x (..., n, d) with d divisible by heads={heads}")
    return _split(x, heads), _join


@op
@any_dtype
def join_heads(x: Array) -> Result:
    """(..., h, n, e) -> (..., n, h e), the inverse of split_heads          gx = split_heads(g)"""
    if x.ndim < 3:
        raise ValueError("expected x (..., h, n, e)")
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
        score_mask(mask, q, k)


@op
@checked_by(_check_attention)
def attention(q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None) -> Result:
    """O = P V,   P = softmax(S) over the keys,   S = scale · Q Kᵀ

    gV = Pᵀ g,     gQ = scale · gS K,     gK = scale · gSᵀ Q,     gS = P ⊙ (gP − Σ gP ⊙ P)  with gP = g Vᵀ

    q is (..., n, e), k (..., m, e), v (..., m, f), the result (..., n, f); leading dimensions, usually (B, h),
    broadcast.  The scale defaults to 1/√e.  The mask is boolean, True where a key is present: (B, m) for the keys of
    each set, or any shape that broadcasts to the scores (..., n, m).  A masked key gets exactly zero weight, and one
    masked for all queries may contain anything, even nan.  A query that attends to no keys gets zeros, and its gradient
    is zero.
    """
    xp = array_module(q)
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    if mask is not None:
        mask = score_mask(mask, q, k)
        has_keys, attended = mask.any(axis=-1, keepdims=True), mask.any(axis=-2)[..., None]
        # Zero the keys that no query attends to and the queries without keys: their weights are 0, but 0 · nan is nan.
        q, k, v = xp.where(has_keys, q, 0), xp.where(attended, k, 0), xp.where(attended, v, 0)
    P = masked_softmax(q @ k.swapaxes(-1, -2) * scale, -1, mask)  # (..., n, m)

    def pull(g: Array) -> tuple[Array, Array, Array]:
        g = g if mask is None else xp.where(has_keys, g, 0)
        gP = g @ v.swapaxes(-1, -2)
        gS = P * (gP - (gP * P).sum(axis=-1, keepdims=True)) * scale
        return gS @ k, gS.swapaxes(-1, -2) @ q, P.swapaxes(-1, -2) @ g

    return P @ v, pull


def masked_softmax(x: Array, axis: int, mask: Array | None) -> Array:
    """eˣ / Σ eˣ over unmasked elements; masked elements get exactly 0, even if all are masked."""
    xp = array_module(x)
    if x.shape[axis] == 0:
        return xp.zeros_like(x)
    if mask is not None:
        x = xp.where(mask, x, -math.inf)
    top = x.max(axis=axis, keepdims=True)  # subtracted so that no exponential overflows
    e = xp.exp(x - xp.where(top == -math.inf, 0, top))
    total = e.sum(axis=axis, keepdims=True)
    return e / xp.where(total == 0, 1, total)


def score_mask(mask: Array, q: Array, k: Array) -> Array:
    """The mask reshaped to broadcast to the scores (..., n, m)."""
    require_mask(mask)
    given, dimensions = mask.shape, max(q.ndim, k.ndim)
    if mask.ndim == 2 and dimensions > 2:  # (B, m): the same for all heads and queries
        mask = mask.reshape(mask.shape[0], *[1] * (dimensions - 2), mask.shape[1])
    elif mask.ndim == 1:
        mask = mask[None, :]
    scores = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    fits = all(a in (1, b) for a, b in zip(mask.shape[::-1], scores[::-1], strict=False))
    if not (1 <= mask.ndim <= len(scores) and fits):
        raise ValueError(f"expected a key mask (B, m), or one that broadcasts to {scores}; given {given}")
    return mask


# ---- checks ---------------------------------------------------------------------------------------------------------


def require_mask(mask: Array, shape: tuple[int, ...] | None = None) -> None:
    """Raise an error for a mask that is not boolean or does not have the given shape."""
    if getattr(mask, "dtype", None) != np.dtype(bool):
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"a mask must be a boolean array, True where an element is present; given {kind}")
    if shape is not None and mask.shape != shape:
        raise ValueError(f"expected a mask of shape {shape}, given {mask.shape}")
