"""Attention in blocks: the scores of a large set are never in memory all at once.

Textbook attention writes all of the n × m scores to memory, then their exponentials, then the weights, and in backward
three such matrices more.  Here a thread takes a share, some sets and heads, and computes for a block of queries

    forward     S = scale · Q Kᵀ,   E = exp(S − max S),   O = E V / ΣE            and keeps max S and ΣE
    backward    E = exp(S − max S) anew,   gS = E ⊙ (G Vᵀ − Σ (G Vᵀ) ⊙ E / ΣE)  with  G = g / ΣE
                gQ = scale · gS K,     gK += scale · gSᵀ Q,     gV += Eᵀ G

and then for the next.  The weights P = E / ΣE come back from two numbers for each query, for the price of a second
exponential, and so memory grows as n + m instead of n m.  P itself is never written down: to divide the few columns of
g by ΣE is cheaper.  (Of small sets P is kept, and ΣE is 1.)
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from autograd.backend import Array
from autograd.fast.attach import Wanted, cpu_form
from autograd.fast.pieces import Share, attention_shares, few_key_shares, keep_weights
from autograd.ops import nn
from autograd.tape import Pull
from autograd.threads import parallel_map


@cpu_form(nn.attention)
def attention(
    wanted: Wanted, q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None
) -> tuple[Array, Pull]:
    """O = softmax(scale · Q Kᵀ) V for q (..., n, e), k (..., m, e), v (..., m, f), and a mask, or None"""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    if mask is not None:
        mask = nn.mask_of_scores(mask, q, k)
        mask = np.broadcast_to(mask, (*mask.shape[:-1], k.shape[-2]))
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v, mask = (x if x is None else _sets_and_heads(x, lead) for x in (q, k, v, mask))
    (B, h, n, _), m = q.shape, k.shape[2]
    shares, keep = attention_shares(B, h, n, m, max(q.shape[3], v.shape[3])), keep_weights(B, h, n, m)
    o, one = _empty_heads((B, h, n, v.shape[3]), q.dtype), np.ones(m, q.dtype)
    tops, totals = np.zeros((2, B, h, n, 1), q.dtype)  # of each query: the number subtracted, the sum of exponentials

    def forward(share: Share) -> tuple[Part, Array, Array] | None:
        part = Part(share, k, v, mask)
        for rows in part.blocks():
            Q = part.queries(q, rows, scale)
            S = Q @ part.K.swapaxes(-1, -2)
            if not _moderate(S):
                part.hide(S, rows, -math.inf)
                top = S.max(axis=-1, keepdims=True)
                top[top == -math.inf] = 0  # a query without keys
                S -= top
                tops[*share.where, rows] = top
            E = np.exp(S, out=S)
            part.hide(E, rows, 0)
            total = (E.reshape(-1, m) @ one).reshape(*E.shape[:-1], 1)
            total[total == 0] = 1  # again a query without keys: its answer is 0 / 1
            if keep:
                E /= total  # the weights themselves: a single key has exactly 1, and a gradient of exactly 0
                o[*share.where, rows] = E @ part.V
                return part, Q, E  # small sets are a single block
            totals[*share.where, rows] = total
            np.divide(E @ part.V, total, out=o[*share.where, rows])
        return None

    kept, shapes, dtype = parallel_map(forward, shares), (q.shape, k.shape, v.shape), q.dtype
    if keep:
        del q, k, v  # the parts have copies, and a function keeps alive all that it names

    def pull(g: Array) -> tuple[Array | None, ...]:
        g = _sets_and_heads(g, lead)
        lanes = 1 + max(share.lane for share in shares)  # that divide the queries of a head, with a sum each
        room = zip(shapes, (1, lanes, lanes), wanted, strict=True)
        gq, gk, gv = ([_empty_heads(shape, dtype) for _ in range(count * wants)] for shape, count, wants in room)

        def backward(i: int) -> None:
            share, gK, gV = shares[i], None, None
            part = kept[i][0] if keep else Part(share, k, v, mask)
            for rows in part.blocks():
                G = part.queries(g, rows)
                if keep:
                    _, Q, E = kept[i]
                else:
                    top, total = tops[*share.where, rows], totals[*share.where, rows]
                    Q = part.queries(q, rows, scale)
                    S = Q @ part.K.swapaxes(-1, -2)
                    if top.any():
                        part.hide(S, rows, -math.inf)
                        S -= top
                    E = np.exp(S, out=S)
                    part.hide(E, rows, 0)
                    G = G / total
                if wanted[2]:
                    gV = _add(gV, E.swapaxes(-1, -2) @ G)
                if wanted[0] or wanted[1]:
                    gS = G @ part.V.swapaxes(-1, -2)
                    along = np.einsum("...j,...j->...", gS, E)[..., None]
                    gS -= along if keep else along / total
                    gS *= E
                if wanted[0]:
                    np.multiply(gS @ part.K, scale, out=gq[0][*share.where, rows])
                if wanted[1]:
                    gK = _add(gK, gS.swapaxes(-1, -2) @ Q)
            for whole, mine in ((gk, gK), (gv, gV)):
                if mine is not None:
                    whole[share.lane][share.where] = mine

        parallel_map(backward, range(len(shares)))
        return tuple(
            reduce(np.add, parts).reshape(*lead, *parts[0].shape[2:]) if parts else None for parts in (gq, gk, gv)
        )

    return o.reshape(*lead, *o.shape[2:]), pull


def _add(total: Array | None, x: Array) -> Array:
    """total + x, in place; x itself if there is no total yet."""
    if total is None:
        return x
    total += x
    return total


def summed_attention(wanted: Wanted, x: Array, k: Array, c: Array, v: Array) -> tuple[Array, Pull]:
    """y = Σⱼ softmax(x Kⱼᵀ + cⱼ) Vⱼ over the heads j, for x (B, n, d), k (B, h, m, d), c (B, h, m) and v (B, h, m, f)

    The keys of all heads are the rows of one matrix (h m, d), so some queries need one product for all of their scores
    and one for their answers.  Scores have the queries along their last axis: a softmax over a few keys then adds whole
    rows, which NumPy does quickly, and not a few numbers in each of many rows, which it does slowly.
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
        if not _moderate(S):
            heads -= heads.max(axis=2, keepdims=True)
        np.exp(S, out=S)
        heads /= heads.sum(axis=2, keepdims=True)
        P[sets, :, rows] = S
        np.matmul(S.swapaxes(1, 2), V[sets], out=y[share])

    parallel_map(forward, shares)

    def pull(g: Array) -> tuple[Array | None, ...]:
        gx = np.empty(x.shape, x.dtype) if wanted[0] else None

        def backward(share: tuple[slice, slice]) -> tuple[Array, Array, Array]:
            sets, rows = share
            G, weights = g[share], np.ascontiguousarray(P[sets, :, rows])
            gS = V[sets] @ G.swapaxes(1, 2)
            heads = by_heads(gS)
            heads -= by_heads(gS * weights).sum(axis=2, keepdims=True)
            gS *= weights
            if wanted[0]:
                np.matmul(gS.swapaxes(1, 2), K[sets], out=gx[share])
            return gS @ x[share], heads @ np.ones(heads.shape[-1], gS.dtype), weights @ G

        gk, gc, gv = np.zeros((B, h * m, d), x.dtype), np.zeros((B, h, m), x.dtype), np.zeros((B, h * m, f), x.dtype)
        for (sets, _), parts in zip(shares, parallel_map(backward, shares), strict=True):
            for whole, part in zip((gk, gc, gv), parts, strict=True):
                whole[sets] += part
        return gx, gk.reshape(B, h, m, d), gc, gv.reshape(B, h, m, f)

    return y, pull


def _moderate(S: Array) -> bool:
    """Whether all scores lie within ±30.

    To subtract the largest score of each query keeps exp from overflowing, and its sum from being 0.  Between e⁻³⁰ and
    e³⁰ there is no such danger, nothing needs to be subtracted, and two passes over the scores are saved.
    """
    return S.min() > -30 and S.max() < 30


class Part:
    """A share of the arrays, in memory of its own: strided heads would make NumPy's product fall off BLAS.

    As in the plain form, keys that nobody attends to and queries that attend to nobody are wiped: they may hold nan.
    """

    def __init__(self, share: Share, k: Array, v: Array, mask: Array | None) -> None:
        self.share = share
        self.mask = None if mask is None else mask[share.where]
        self.K, self.V = np.ascontiguousarray(k[share.where]), np.ascontiguousarray(v[share.where])
        if mask is not None:
            seen = self.mask.any(axis=-2)[..., None]
            self.K, self.V = np.where(seen, self.K, 0), np.where(seen, self.V, 0)

    def blocks(self) -> list[slice]:
        """The queries of the share, a block at a time."""
        first, last, step = self.share.queries.start, self.share.queries.stop, self.share.rows
        return [slice(start, min(start + step, last)) for start in range(first, last, step)]

    def hide(self, S: Array, rows: slice, value: float) -> None:
        """Put the value where a key is hidden from a query of these rows."""
        if self.mask is not None:
            np.copyto(S, value, where=~self._mask(rows))

    def queries(self, x: Array, rows: slice, scale: float | None = None) -> Array:
        """What x, which has a row for each query, has for these, scaled; zeros for a query that attends to nobody."""
        x = x[*self.share.where, rows]
        x = np.ascontiguousarray(x) if scale is None else np.multiply(x, scale, order="C")
        return x if self.mask is None else np.where(self._mask(rows).any(axis=-1, keepdims=True), x, 0)

    def _mask(self, rows: slice) -> Array:
        return self.mask if self.mask.shape[-2] == 1 else self.mask[..., rows, :]


def _sets_and_heads(x: Array, lead: tuple[int, ...]) -> Array:
    """x (..., n, d), its leading dimensions broadcast, as (B, h, n, d)."""
    x = x if x.shape[:-2] == lead else np.broadcast_to(x, lead + x.shape[-2:])
    match len(lead):
        case 0:
            return x[None, None]
        case 1:
            return x[:, None]
    return x.reshape(-1, *x.shape[-3:])


def _empty_heads(shape: tuple[int, int, int, int], dtype: np.dtype) -> Array:
    """An array (B, h, n, d) in the memory of one (B, n, h, d): to join its heads will copy nothing."""
    B, h, n, d = shape
    return np.empty((B, n, h, d), dtype).swapaxes(1, 2)
