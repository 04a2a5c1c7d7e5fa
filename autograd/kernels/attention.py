"""Attention in tiles: the score matrix is never in GPU memory.

    O = P V,   P = softmax(S) over the keys,   S = scale · Q Kᵀ          L = log Σ eˢ, so that P = e^(S − L)

    gQ = scale · gS K,     gK = scale · gSᵀ Q,     gV = Pᵀ g,
    gS = P ⊙ (gP − δ)  with gP = g Vᵀ and, for each query, δ = Σ gP ⊙ P = Σ g ⊙ O

Threads, forward: a block takes a tile of queries of one set and head and iterates over all keys, a tile at a time.  For
each query it keeps the largest score t so far, the sum s of e^(score − t) and the unnormalized output a; if a tile has
a larger score, s and a are first multiplied by e^(t_old − t_new) (the online softmax).  A group of LANES threads holds
ROWS queries in registers: each thread computes ROWS × COLUMNS of the scores and ROWS × D / LANES of the output.

             keys, a tile at a time ─►                        features D
            ┌──────┬──────┬──────┐                           ┌──────────┐
    queries │ tile │      │      │   one block moves         │ a, in    │  for each tile of queries
     tile ─►│  S   │ ···  │      │   from left to right      │ registers│
            ├──────┼──────┼──────┤                           ├──────────┤
            │  another block ··· │

Backward recomputes the scores from Q, K and L in two launches: one as above for gQ; in the other a block takes a tile
of keys and iterates over all queries, for gK and gV.  So every element is summed by one thread in a fixed order: there
are no atomics, and the result is bit-identical every time.

Bytes: only Q, K, V, O and L are in memory; forward reads K and V once per tile of queries, mostly from the cache.
Textbook attention also writes and reads the n × m matrices S, eˢ and P, and gP and gS in backward.

The arrays may have any strides as long as each row is contiguous: heads that are views of a wider array are not
copied.  There are two optional masks: which keys are attended to at all, and which keys each query attends to.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, NULL, Raw, cuda_name, int64_struct, kernel

Mask = Array | None
WIDEST = 128  # features of a head
# Queries and keys in a tile, by dtype and width: as many as fit into 48 KiB of shared memory in backward.
TILES = {"float32": {16: 32, 32: 32, 64: 32, 128: 16}, "float64": {16: 32, 32: 32, 64: 16, 128: 8}}

CODE = Raw(
    ("attention.cu",),
    lambda dtype: [
        f"attention_{part}<{DTYPES[dtype]}, {D}, {TILE}>"
        for part in ("forward", "queries", "keys")
        for D, TILE in TILES[dtype].items()
    ],
)


# ---- NumPy references -----------------------------------------------------------------------------------------------


def visible_reference(key_mask: Mask, pair_mask: Mask) -> Array:
    """Which keys each query attends to; broadcasts to the scores (B, h, n, m)."""
    keys = np.True_ if key_mask is None else key_mask[..., None, :]
    return keys if pair_mask is None else keys & pair_mask


def weights_reference(q: Array, k: Array, key_mask: Mask, pair_mask: Mask, scale: float) -> tuple[Array, Array]:
    """P (B, h, n, m) and L (B, h, n); zeros and -inf for a query that attends to no keys."""
    visible = visible_reference(key_mask, pair_mask)
    S = np.where(visible, q @ k.swapaxes(-1, -2) * scale, -np.inf)
    top = S.max(axis=-1, keepdims=True, initial=-np.inf)
    E = np.exp(S - np.where(top == -np.inf, 0, top))
    total = E.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.where(visible, E / np.where(total == 0, 1, total), 0), (top + np.log(total))[..., 0].astype(q.dtype)


def forward_reference(
    q: Array, k: Array, v: Array, key_mask: Mask, pair_mask: Mask, scale: float
) -> tuple[Array, Array]:
    if key_mask is not None:
        k, v = np.where(key_mask[..., None], k, 0), np.where(key_mask[..., None], v, 0)
    P, L = weights_reference(q, k, key_mask, pair_mask, scale)
    return P @ v, L


def backward_reference(
    q: Array, k: Array, v: Array, key_mask: Mask, pair_mask: Mask, scale: float, o: Array, L: Array, g: Array
) -> tuple[Array, Array, Array]:
    has_keys = (-np.inf != L)[..., None]
    q, g = np.where(has_keys, q, 0), np.where(has_keys, g, 0)
    if key_mask is not None:
        k, v = np.where(key_mask[..., None], k, 0), np.where(key_mask[..., None], v, 0)
    P, _ = weights_reference(q, k, key_mask, pair_mask, scale)
    gP = g @ v.swapaxes(-1, -2)
    gS = P * (gP - (gP * P).sum(axis=-1, keepdims=True)) * scale
    gS = np.where(visible_reference(key_mask, pair_mask), gS, 0)  # also where the sum is nan
    return gS @ k, gS.swapaxes(-1, -2) @ q, P.swapaxes(-1, -2) @ g


# ---- launches -------------------------------------------------------------------------------------------------------


@kernel(forward_reference, CODE, sizes="any B, h, n, m; heads of 1 to 128 features")
def attention_forward(
    q: Array, k: Array, v: Array, key_mask: Mask, pair_mask: Mask, scale: float
) -> tuple[Array, Array]:
    """O (B, h, n, f) and L (B, h, n) of q (B, h, n, e), k (B, h, m, e), v (B, h, m, f)

    key_mask (B, h, m) is True for keys that any query attends to, pair_mask (B, h, n, m) for those of each query.
    """
    xp, (B, h, n, _) = array_module(q), q.shape
    o, L = _empty_heads(xp, (B, h, n, v.shape[3]), q.dtype), xp.empty((B, h, n), q.dtype)
    q, k, v = map(_with_contiguous_rows, (q, k, v))
    layout = _layout(q, k, v, key_mask, pair_mask, o)
    _launch("forward", n, (q, k, v, *_or_null(key_mask, pair_mask), o, L, layout, scale), q, v)
    return o, L


@kernel(backward_reference, CODE, sizes="any B, h, n, m; heads of 1 to 128 features")
def attention_backward(
    q: Array, k: Array, v: Array, key_mask: Mask, pair_mask: Mask, scale: float, o: Array, L: Array, g: Array
) -> tuple[Array, Array, Array]:
    """gQ, gK and gV; o and L are the results of forward"""
    xp, delta = array_module(q), array_module(q).empty_like(L)
    gq, gk, gv = (_empty_heads(xp, x.shape, x.dtype) for x in (q, k, v))
    q, k, v, g = map(_with_contiguous_rows, (q, k, v, g))
    layout = _layout(q, k, v, key_mask, pair_mask, o, g, gq, gk, gv)
    inputs = (q, k, v, *_or_null(key_mask, pair_mask), g, L)
    _launch("queries", q.shape[2], (*inputs, o, delta, gq, layout, scale), q, v)
    _launch("keys", k.shape[2], (*inputs, delta, gk, gv, layout, scale), q, v)
    return gq, gk, gv


def _launch(part: str, rows: int, arguments: tuple, q: Array, v: Array) -> None:
    """Launch one block per tile of rows of each set and head."""
    D = next(width for width in TILES[q.dtype.name] if width >= max(q.shape[3], v.shape[3]))
    tile = TILES[q.dtype.name][D]
    function = f"attention_{part}<{cuda_name(q)}, {D}, {tile}>"
    CODE(function, math.prod(q.shape[:2]) * -(-rows // tile), 128 if tile >= 16 else 64, arguments)


def _layout(q: Array, k: Array, v: Array, key_mask: Mask, pair_mask: Mask, o: Array, *gradients: Array) -> np.ndarray:
    """The struct Layout of the CUDA source."""
    strides = [_strides(x) for x in (q, k, v, o, *(gradients or (o, q, k, v)))]
    strides.append((0, 0, 0) if key_mask is None else key_mask.strides)
    *pair_strides, pair_key = (0, 0, 0, 0) if pair_mask is None else pair_mask.strides  # a bool is a byte
    sizes = (q.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3])
    return int64_struct(*(s for triple in strides for s in triple), *pair_strides, pair_key, *sizes)


def _strides(x: Array) -> tuple[int, ...]:
    return tuple(s // x.itemsize for s in x.strides[:3])


def _or_null(*masks: Array | None) -> tuple:
    """The masks without a copy; the null pointer for one that is not inputs."""
    return tuple(NULL if mask is None else mask for mask in masks)


def _with_contiguous_rows(x: Array) -> Array:
    """x with contiguous rows, which the kernels require."""
    return x if x.strides[-1] == x.itemsize else array_module(x).ascontiguousarray(x)


def _empty_heads(xp: Any, shape: tuple[int, int, int, int], dtype: np.dtype) -> Array:
    """An array (B, h, n, d) with the memory layout of (B, n, h, d), so that joining its heads needs no copy."""
    B, h, n, d = shape
    return xp.empty((B, n, h, d), dtype).swapaxes(1, 2)
