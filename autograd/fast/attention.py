"""Attention in blocks: the scores of a large set are never all in memory.

Textbook attention writes all n × m scores to memory, then their exponentials, then the weights, and three more such
matrices in backward.  Here a thread takes a share of the sets and heads, and computes one block of queries at a time:

    forward     S = scale · Q Kᵀ,   E = exp(S − max S),   O = E V / ΣE            and saves max S and ΣE
    backward    E = exp(S − max S) again,   gS = E ⊙ (G Vᵀ − Σ (G Vᵀ) ⊙ E / ΣE)  with  G = g / ΣE
                gQ = scale · gS K,     gK += scale · gSᵀ Q,     gV += Eᵀ G

The weights P = E / ΣE are recomputed from two values per query, at the cost of a second exponential, so memory grows
as n + m instead of n m.  P itself is not stored: dividing the few columns of g by ΣE is cheaper.  (For small sets P is
saved, and ΣE is 1.)
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from autograd.backend import Array
from autograd.fast.attach import Flags, cpu_form
from autograd.fast.pieces import Share, attention_shares, few_key_shares, keep_weights
from autograd.ops import nn
from autograd.tape import Pull
from autograd.threads import parallel_map


@cpu_form(nn.attention)
def attention(
    needs_grad: Flags, q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None
) -> tuple[Array, Pull]:
    """O = softmax(scale · Q Kᵀ) V for q (..., n, e), k (..., m, e), v (..., m, f), and a mask, or None"""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    if mask is not None:
        mask = nn.score_mask(mask, q, k)
        mask = np.broadcast_to(mask, (*mask.shape[:-1], k.shape[-2]))
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v, mask = (x if x is None else _as_sets_and_heads(x, lead) for x in (q, k, v, mask))
    (B, h, n, _), m = q.shape, k.shape[2]
    shares, keep = attention_shares(B, h, n, m, max(q.shape[3], v.shape[3])), keep_weights(B, h, n, m)
    o, one = _empty_heads((B, h, n, v.shape[3]), q.dtype), np.ones(m, q.dtype)
    maxima, totals = np.zeros((2, B, h, n, 1), q.dtype)  # per query: the subtracted maximum, the sum of exponentials

    def forward(share: Share) -> tuple[Part, Array, Array] | None:
        part = Part(share, k, v, mask)
        for rows in part.blocks():
            Q = part.queries(q, rows, scale)
            S = Q @ part.K.swapaxes(-1, -2)
            if not _in_exp_range(S):
                part.fill_masked(S, rows, -math.inf)
                top = S.max(axis=-1, keepdims=True)
                top[top == -math.inf] = 0  # a query that attends to no keys
                S -= top
                maxima[*share.where, rows] = top
            E = np.exp(S, out=S)
            part.fill_masked(E, rows, 0)
            total = (E.reshape(-1, m) @ one).reshape(*E.shape[:-1], 1)
            total[total == 0] = 1  # a query that attends to no keys: its output is 0 / 1
            if keep:
                E /= total  # the weights: a single key has exactly 1, and a gradient of exactly 0
                o[*share.where, rows] = E @ part.V
                return part, Q, E  # a small set is a single block
            totals[*share.where, rows] = total
            np.divide(E @ part.V, total, out=o[*share.where, rows])
        return None

    saved, shapes, dtype = parallel_map(forward, shares), (q.shape, k.shape, v.shape), q.dtype
    if keep:
        del q, k, v  # the parts hold copies, and a closure keeps every array it refers to alive

    def pull(g: Array) -> tuple[Array | None, ...]:
        g = _as_sets_and_heads(g, lead)
        accumulators = 1 + max(share.accumulator for share in shares)  # more than 1 if a head's queries are split
        counts = zip(shapes, (1, accumulators, accumulators), needs_grad, strict=True)
        gq, gk, gv = ([_empty_heads(shape, dtype) for _ in range(count * needed)] for shape, count, needed in counts)

        def backward(i: int) -> None:
            share, gK, gV = shares[i], None, None
            part = saved[i][0] if keep else Part(share, k, v, mask)
            for rows in part.blocks():
                G = part.queries(g, rows)
                if keep:
                    _, Q, E = saved[i]
                else:
                    top, total = maxima[*share.where, rows], totals[*share.where, rows]
                    Q = part.queries(q, rows, scale)
                    S = Q @ part.K.swapaxes(-1, -2)
                    if top.any():
                        part.fill_masked(S, rows, -math.inf)
                        S -= top
                    E = np.exp(S, out=S)
                    part.fill_masked(E, rows, 0)
                    G = G / total
                if needs_grad[2]:
                    gV = _add(gV, E.swapaxes(-1, -2) @ G)
                if needs_grad[0] or needs_grad[1]:
                    gS = G @ part.V.swapaxes(-1, -2)
                    projection = np.einsum("...j,...j->...", gS, E)[..., None]
                    gS -= projection if keep else projection / total
                    gS *= E
                if needs_grad[0]:
                    np.multiply(gS @ part.K, scale, out=gq[0][*share.where, rows])
                if needs_grad[1]:
                    gK = _add(gK, gS.swapaxes(-1, -2) @ Q)
            for gradients, gradient in ((gk, gK), (gv, gV)):
                if gradient is not None:
                    gradients[share.accumulator][share.where] = gradient

        parallel_map(backward, range(len(shares)))
        return tuple(
            reduce(np.add, parts).reshape(*lead, *parts[0].shape[2:]) if parts else None for parts in (gq, gk, gv)
        )

    return o.reshape(*lead, *o.shape[2:]), pull


def _add(total: Array | None, x: Array) -> Array:
    """total += x; x itself if there is no total yet."""
    if total is None:
        return x
    total += x
    return total


def summed_attention(needs_grad: Flags, x: Array, k: Array, c: Array, v: Array) -> tuple[Array, Pull]:
    """y = Σⱼ softmax(x Kⱼᵀ + cⱼ) Vⱼ over the heads j, for x (B, n, d), k (B, h, m, d), c (B, h, m) and v (B, h, m, f)

    The keys of all heads are the rows of one matrix (h m, d), so a piece of queries needs one product for its scores
    and one for its outputs.  The last axis of the scores is the queries: a softmax over a few keys then adds entire
    rows, which is fast in NumPy, rather than a few elements in each of many rows, which is slow.
    """
    (B, n, d), (h, m, f) = x.shape, v.shape[1:]
    shares = few_key_shares(B, n, max(d, h * m))
    K, V = np.ascontiguousarray(k).reshape(B, h * m, d), np.ascontiguousarray(v).reshape(B, h * m, f)
    P, y = np.empty((B, h * m, n), x.dtype), np.empty((B, n, f), x.dtype)

    def by_heads(S: Array) -> Array:
        return S.reshape(len(S), h, m, -1)

    def forward(share: tuple[slice, slice]) -> None:
        sets, rows = share
        S = K[sets] @ x[share].swapaxes(1, 2)  # (sets, h m, rows)
        heads = by_heads(S)
        heads += c[sets][..., None]
        if not _in_exp_range(S):
            heads -= heads.max(axis=2, keepdims=True)
        np.exp(S, out=S)
        heads /= heads.sum(axis=2, keepdims=True)
        P[sets, :, rows] = S
        np.matmul(S.swapaxes(1, 2), V[sets], out=y[share])

    parallel_map(forward, shares)

    def pull(g: Array) -> tuple[Array | None, ...]:
        gx = np.empty(x.shape, x.dtype) if needs_grad[0] else None

        def backward(share: tuple[slice, slice]) -> tuple[Array, Array, Array]:
            sets, rows = share
            G, weights = g[share], np.ascontiguousarray(P[sets, :, rows])
            gS = V[sets] @ G.swapaxes(1, 2)
            heads = by_heads(gS)
            heads -= by_heads(gS * weights).sum(axis=2, keepdims=True)
            gS *= weights
            if needs_grad[0]:
                np.matmul(gS.swapaxes(1, 2), K[sets], out=gx[share])
            return gS @ x[share], heads @ np.ones(heads.shape[-1], gS.dtype), weights @ G

        gk, gc, gv = np.zeros((B, h * m, d), x.dtype), np.zeros((B, h, m), x.dtype), np.zeros((B, h * m, f), x.dtype)
        for (sets, _), parts in zip(shares, parallel_map(backward, shares), strict=True):
            for gradient, part in zip((gk, gc, gv), parts, strict=True):
                gradient[sets] += part
        return gx, gk.reshape(B, h, m, d), gc, gv.reshape(B, h, m, f)

    return y, pull


def _in_exp_range(S: Array) -> bool:
    """Whether all scores are within ±30, so that exp is safe without subtracting each query's maximum.

    Subtracting the maximum keeps exp from overflowing and its sum from being 0.  Neither can happen between e⁻³⁰ and
    e³⁰, so the subtraction, and with it two passes over the scores, can be skipped.
    """
    return S.min() > -30 and S.max() < 30


class Part:
    """Contiguous copies of a share's keys and values: NumPy would not use BLAS for products of strided heads.

    As in the plain version, keys that no query attends to and queries without keys are zeroed: they may contain nan.
    """

    def __init__(self, share: Share, k: Array, v: Array, mask: Array | None) -> None:
        self.share = share
        self.mask = None if mask is None else mask[share.where]
        self.K, self.V = np.ascontiguousarray(k[share.where]), np.ascontiguousarray(v[share.where])
        if mask is not None:
            attended = self.mask.any(axis=-2)[..., None]
            self.K, self.V = np.where(attended, self.K, 0), np.where(attended, self.V, 0)

    def blocks(self) -> list[slice]:
        """The blocks of the share's queries."""
        first, last, step = self.share.queries.start, self.share.queries.stop, self.share.rows
        return [slice(start, min(start + step, last)) for start in range(first, last, step)]

    def fill_masked(self, S: Array, rows: slice, value: float) -> None:
        """Set S to the value where a key is masked for a query in these rows."""
        if self.mask is not None:
            np.copyto(S, value, where=~self._mask(rows))

    def queries(self, x: Array, rows: slice, scale: float | None = None) -> Array:
        """These rows of x, which has one row per query, scaled; zeros for queries that attend to no keys."""
        x = x[*self.share.where, rows]
        x = np.ascontiguousarray(x) if scale is None else np.multiply(x, scale, order="C")
        return x if self.mask is None else np.where(self._mask(rows).any(axis=-1, keepdims=True), x, 0)

    def _mask(self, rows: slice) -> Array:
        return self.mask if self.mask.shape[-2] == 1 else self.mask[..., rows, :]


def _as_sets_and_heads(x: Array, lead: tuple[int, ...]) -> Array:
    """x (..., n, d), with its leading dimensions broadcast, as (B, h, n, d)."""
    x = x if x.shape[:-2] == lead else np.broadcast_to(x, lead + x.shape[-2:])
    match len(lead):
        case 0:
            return x[None, None]
        case 1:
            return x[:, None]
    return x.reshape(-1, *x.shape[-3:])


def _empty_heads(shape: tuple[int, int, int, int], dtype: np.dtype) -> Array:
    """An array (B, h, n, d) with the memory layout of (B, n, h, d), so that joining its heads needs no copy."""
    B, h, n, d = shape
    return np.empty((B, n, h, d), dtype).swapaxes(1, 2)
