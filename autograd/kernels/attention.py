"""Attention in tiles: no matrix of scores is ever in the GPU's memory.

    O = P V,   P = softmax(S) over the keys,   S = scale · Q Kᵀ          L = log Σ eˢ, so that P = e^(S − L)

    gQ = scale · gS K,     gK = scale · gSᵀ Q,     gV = Pᵀ g,
    gS = P ⊙ (gP − δ)  with gP = g Vᵀ and, for each query, δ = Σ gP ⊙ P = Σ g ⊙ O

Threads, forward: a block takes a tile of queries of one set and head and goes over all keys, a tile at a time.  For
each query it keeps the largest score t so far, the sum s of e^(score − t) and the unfinished answer a; a tile with a
larger score makes it multiply s and a by e^(t_old − t_new) first (the online softmax).  A group of LANES threads holds
ROWS queries in registers: of the scores each thread computes ROWS × COLUMNS, of the answer ROWS × D / LANES.

             keys, a tile at a time ─►                        features D
            ┌──────┬──────┬──────┐                           ┌──────────┐
    queries │ tile │      │      │   one block goes          │ a, kept  │  in registers, for each tile of queries
     tile ─►│  S   │ ···  │      │   from left to right      │  there   │
            ├──────┼──────┼──────┤                           ├──────────┤
            │  another block ··· │

Backward computes the scores anew, from Q, K and L, in two launches: one goes as above for gQ; in the other a block
takes a tile of keys and goes over all queries, for gK and gV.  So every number is summed by one thread in a fixed
order: there are no atomics, and the same bits come out each time.

Bytes: Q, K, V and O are in memory, and L; forward reads K and V once for each tile of queries, mostly from the cache.
Textbook attention also writes and reads the n × m matrices S, eˢ and P, and in backward gP and gS.

The arrays may lie in memory as they like as long as the numbers of a row are neighbours: heads cut from a wider array
by a reshape are not copied.  Two masks can be given: which keys are seen at all, and which query sees which key.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, NOTHING, Raw, cuda_name, fields, kernel

WIDEST = 128  # numbers of a head
# How many queries and keys make a tile, by dtype and width: as many as fit into 48 KiB of shared memory in backward.
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


def weights_reference(q: Array, k: Array, seen: Array | None, pairs: Array | None, scale: float) -> tuple[Array, Array]:
    """P (B, h, n, m) and L (B, h, n); a query that sees nobody has zeros, and -inf."""
    S = q @ k.swapaxes(-1, -2) * scale
    sees = np.ones(S.shape, bool)
    if seen is not None:
        sees = sees & seen[..., None, :]
    if pairs is not None:
        sees = sees & pairs
    S = np.where(sees, S, -np.inf)
    top = S.max(axis=-1, keepdims=True, initial=-np.inf)
    E = np.exp(S - np.where(top == -np.inf, 0, top))
    total = E.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return E / np.where(total == 0, 1, total), (top + np.log(total))[..., 0].astype(q.dtype)


def forward_reference(
    q: Array, k: Array, v: Array, seen: Array | None, pairs: Array | None, scale: float
) -> tuple[Array, Array]:
    if seen is not None:
        k, v = np.where(seen[..., None], k, 0), np.where(seen[..., None], v, 0)
    P, L = weights_reference(q, k, seen, pairs, scale)
    return P @ v, L


def backward_reference(
    q: Array, k: Array, v: Array, seen: Array | None, pairs: Array | None, scale: float, o: Array, L: Array, g: Array
) -> tuple[Array, Array, Array]:
    asks = (-np.inf != L)[..., None]
    q, g = np.where(asks, q, 0), np.where(asks, g, 0)
    if seen is not None:
        k, v = np.where(seen[..., None], k, 0), np.where(seen[..., None], v, 0)
    P, _ = weights_reference(q, k, seen, pairs, scale)
    gP = g @ v.swapaxes(-1, -2)
    gS = P * (gP - (gP * P).sum(axis=-1, keepdims=True)) * scale
    return gS @ k, gS.swapaxes(-1, -2) @ q, P.swapaxes(-1, -2) @ g


# ---- launches -------------------------------------------------------------------------------------------------------


@kernel(forward_reference, CODE, sizes="any B, h, n, m; heads of 1 to 128 numbers")
def attention_forward(
    q: Array, k: Array, v: Array, seen: Array | None, pairs: Array | None, scale: float
) -> tuple[Array, Array]:
    """O (B, h, n, f) and L (B, h, n) of q (B, h, n, e), k (B, h, m, e), v (B, h, m, f)

    seen (B, h, m) says which keys anybody sees, pairs (B, h, n, m) which of them each query sees, if not all.
    """
    xp, (B, h, n, _) = array_module(q), q.shape
    o, L = _empty_heads(xp, (B, h, n, v.shape[3]), q.dtype), xp.empty((B, h, n), q.dtype)
    q, k, v = map(_with_rows, (q, k, v))
    layout = _layout(q, k, v, seen, pairs, o)
    _launch("forward", n, (q, k, v, *_or_nothing(seen, pairs), o, L, layout, scale), q, v)
    return o, L


@kernel(backward_reference, CODE, sizes="any B, h, n, m; heads of 1 to 128 numbers")
def attention_backward(
    q: Array, k: Array, v: Array, seen: Array | None, pairs: Array | None, scale: float, o: Array, L: Array, g: Array
) -> tuple[Array, Array, Array]:
    """gQ, gK and gV; o and L are what forward has returned"""
    xp, delta = array_module(q), array_module(q).empty_like(L)
    gq, gk, gv = (_empty_heads(xp, x.shape, x.dtype) for x in (q, k, v))
    q, k, v, g = map(_with_rows, (q, k, v, g))
    layout = _layout(q, k, v, seen, pairs, o, g, gq, gk, gv)
    given = (q, k, v, *_or_nothing(seen, pairs), g, L)
    _launch("queries", q.shape[2], (*given, o, delta, gq, layout, scale), q, v)
    _launch("keys", k.shape[2], (*given, delta, gk, gv, layout, scale), q, v)
    return gq, gk, gv


def _launch(part: str, rows: int, arguments: tuple, q: Array, v: Array) -> None:
    """A block for each tile of the rows of each set and head."""
    D = next(width for width in TILES[q.dtype.name] if width >= max(q.shape[3], v.shape[3]))
    tile = TILES[q.dtype.name][D]
    function = f"attention_{part}<{cuda_name(q)}, {D}, {tile}>"
    CODE(function, math.prod(q.shape[:2]) * -(-rows // tile), 128 if tile >= 16 else 64, arguments)


def _layout(
    q: Array, k: Array, v: Array, seen: Array | None, pairs: Array | None, o: Array, *made: Array
) -> np.ndarray:
    """The struct Layout of the CUDA text."""
    places = [_strides(x) for x in (q, k, v, o, *(made or (o, q, k, v)))]
    places.append((0, 0, 0) if seen is None else seen.strides)
    *pairs_place, pair_key = (0, 0, 0, 0) if pairs is None else pairs.strides  # a bool is a byte
    numbers = (q.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3])
    return fields(*(s for place in places for s in place), *pairs_place, pair_key, *numbers)


def _strides(x: Array) -> tuple[int, ...]:
    return tuple(s // x.itemsize for s in x.strides[:3])


def _or_nothing(*masks: Array | None) -> tuple:
    """The masks as they lie in memory; the null pointer for one that is not given."""
    return tuple(NOTHING if mask is None else mask for mask in masks)


def _with_rows(x: Array) -> Array:
    """x with the numbers of each row side by side, as the kernels read them."""
    return x if x.strides[-1] == x.itemsize else array_module(x).ascontiguousarray(x)


def _empty_heads(xp: Any, shape: tuple[int, int, int, int], dtype: np.dtype) -> Array:
    """An array (B, h, n, d) in the memory of one (B, n, h, d): to join its heads will copy nothing."""
    B, h, n, d = shape
    return xp.empty((B, n, h, d), dtype).swapaxes(1, 2)
