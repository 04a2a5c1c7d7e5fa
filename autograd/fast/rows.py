"""Layers that process every row the same way, a few rows at a time: linear, layer_norm, and each half of a MAB.

As formulas over entire arrays, each of these makes many passes over memory: one for every +, ×, mean and square root.
Here a piece of rows goes through all steps of a formula while it is in the cache, so memory is read once and written
once.  Two tricks save more: a sum along rows or columns is a product with ones, and np.einsum sums the squares of a row
without storing them.

Every function takes `needs_grad`, one boolean per input, then the arrays; it returns y and pull.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from autograd.backend import Array
from autograd.fast.attach import Flags, cpu_form
from autograd.fast.pieces import row_pieces, small
from autograd.ops import linalg, nn
from autograd.tape import Pull
from autograd.threads import parallel_map

plain_matmul = linalg.matmul.compute  # type: ignore[attr-defined]


@cpu_form(nn.linear)
def linear(needs_grad: Flags, x: Array, weight: Array, bias: Array | None, *, relu: bool = False) -> tuple[Array, Pull]:
    """y = x W + b, or max(x W + b, 0)"""
    shape, (d_in, d_out) = x.shape, weight.shape
    x = x.reshape(-1, d_in)
    pieces = row_pieces(len(x), max(d_in, d_out))
    y = np.empty((len(x), d_out), x.dtype)
    zeros = _zeros(pieces, y) if relu else None

    def forward(piece: slice) -> None:
        out = np.dot(x[piece], weight, out=y[piece])
        if bias is not None:
            out += bias
        if zeros is not None:
            np.maximum(out, zeros[: len(out)], out=out)

    parallel_map(forward, pieces)
    # A closure keeps every array it refers to alive: x is needed only for gW, and y only for a ReLU.
    rows, relu_output = (x if needs_grad[1] else None), (y if relu else None)

    def pull(g: Array) -> tuple[Array | None, ...]:
        g = g.reshape(-1, d_out)
        gx = np.empty((len(g), d_in), g.dtype) if needs_grad[0] else None

        def backward(piece: slice) -> tuple[Array | None, ...]:
            masked_g = g[piece] if relu_output is None else g[piece] * (relu_output[piece] > 0)
            if gx is not None:
                np.dot(masked_g, weight.T, out=gx[piece])
            return None if rows is None else rows[piece].T @ masked_g, _ones(masked_g) @ masked_g

        gweight, gbias = _sums(parallel_map(backward, pieces))
        return None if gx is None else gx.reshape(shape), gweight, gbias

    return y.reshape(*shape[:-1], d_out), pull


@cpu_form(linalg.matmul)
def matmul(needs_grad: Flags, x: Array, weights: Array) -> tuple[Array, Pull]:
    """y = x W for x (..., h, n, a), with one W (a, b) per head that all sets share: weights (h, a, b)

    The rows multiplied by the same W are stacked into one tall matrix, which gives h large products instead of a small
    one per set and head.  Other products use the plain version.
    """
    if not (x.ndim > weights.ndim == 3 and x.shape[-3] == len(weights)):
        return plain_matmul(needs_grad, x, weights)
    h, a, b = weights.shape

    def by_head(x: Array) -> Array:
        return x.transpose(heads_first).reshape(h, -1, x.shape[-1])  # (..., h, n, a) -> (h, rows, a)

    def by_set(y: Array) -> Array:
        return y.reshape(h, *lead, y.shape[-1]).transpose(heads_back)  # (h, rows, b) -> (..., h, n, b)

    sets, lead = range(x.ndim - 3), (*x.shape[:-3], x.shape[-2])
    heads_first = (x.ndim - 3, *sets, x.ndim - 2, x.ndim - 1)  # moves the heads to the front
    heads_back = (*(i + 1 for i in sets), 0, x.ndim - 2, x.ndim - 1)
    x = by_head(x)
    pieces = [(j, rows) for j in range(h) for rows in row_pieces(x.shape[1], max(a, b))]
    run = map if small(x) else parallel_map  # waking up a thread would take longer
    y = np.empty((h, x.shape[1], b), x.dtype)
    list(run(lambda piece: np.dot(x[piece], weights[piece[0]], out=y[piece]), pieces))

    def pull(g: Array) -> tuple[Array, Array]:
        g = by_head(g)
        gx, gweights = np.empty((*g.shape[:2], a), g.dtype), np.zeros(weights.shape, g.dtype)

        def backward(piece: tuple[int, slice]) -> Array | int:
            if needs_grad[0]:
                np.dot(g[piece], weights[piece[0]].T, out=gx[piece])
            return x[piece].T @ g[piece] if needs_grad[1] else 0

        for (j, _), part in zip(pieces, run(backward, pieces), strict=True):
            gweights[j] += part
        return by_set(gx), gweights

    return by_set(y), pull


@cpu_form(nn.layer_norm)
def layer_norm(
    needs_grad: Flags, x: Array, gamma: Array | None, beta: Array | None, r: Array | None = None, *, eps: float = 1e-5
) -> tuple[Array, Pull]:
    """y = γ ⊙ ŝ + β, with ŝ the normalized rows of s = x + r; x and r have the same shape"""
    shape, d = x.shape, x.shape[-1]
    x = x.reshape(-1, d)
    r = None if r is None else r.reshape(-1, d)
    pieces = row_pieces(*x.shape)
    normalized, inverse_std, y = (np.empty((len(x), width), x.dtype) for width in (d, 1, d))

    def forward(piece: slice) -> None:
        s = normalized[piece]
        if r is None:
            np.copyto(s, x[piece])
        else:
            np.add(x[piece], r[piece], out=s)
        inverse_std[piece] = _normalize(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    parallel_map(forward, pieces)
    has_r = r is not None  # so that the closure does not keep r alive

    def pull(g: Array) -> tuple[Array, ...]:
        g, gs = g.reshape(-1, d), np.empty(normalized.shape, normalized.dtype)
        sums = parallel_map(lambda p: _norm_vjp(g[p], normalized[p], inverse_std[p], gamma, gs[p]), pieces)
        gs = gs.reshape(shape)
        gradients = gs, *_sums(sums)
        return (*gradients, gs) if has_r else gradients  # one array for both terms

    return y.reshape(shape), pull


def residual_norm(
    needs_grad: Flags,
    x: Array,
    z: Array,
    weight: Array,
    bias: Array | None,
    gamma: Array | None,
    beta: Array | None,
    *,
    relu: bool,
    eps: float,
) -> tuple[Array, Pull]:
    """y = γ ⊙ ŝ + β, with ŝ the normalized rows of s = x + z W + b, or of s = x + max(z W + b, 0): each half of a MAB

    x is (..., d) and may be shared by all sets, z is (..., d_in), W (d_in, d).
    """
    d_in, d = weight.shape
    shape = (*z.shape[:-1], d)
    x = x if x.shape == shape else np.broadcast_to(x, shape)
    x, z = x.reshape(-1, d), z.reshape(-1, d_in)
    pieces = row_pieces(len(x), max(d_in, d))
    normalized, inverse_std, y = (np.empty((len(x), width), x.dtype) for width in (d, 1, d))
    zeros, relu_mask = _zeros(pieces, x) if relu else None, np.empty(x.shape, bool) if relu else None

    def forward(piece: slice) -> None:
        s = np.dot(z[piece], weight, out=normalized[piece])
        if bias is not None:
            s += bias
        if relu_mask is not None:
            np.maximum(s, zeros[: len(s)], out=s)
            np.greater(s, zeros[: len(s)], out=relu_mask[piece])  # where the ReLU is active
        s += x[piece]
        inverse_std[piece] = _normalize(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    parallel_map(forward, pieces)

    def pull(g: Array) -> tuple[Array | None, ...]:
        g, gx, gz = g.reshape(-1, d), np.empty(normalized.shape, z.dtype), np.empty(z.shape, z.dtype)

        def backward(piece: slice) -> tuple[Array | None, ...]:
            gs = gx[piece]
            ggamma, gbeta = _norm_vjp(g[piece], normalized[piece], inverse_std[piece], gamma, gs)
            masked_g = gs if relu_mask is None else gs * relu_mask[piece]
            if needs_grad[1]:
                np.dot(masked_g, weight.T, out=gz[piece])
            return z[piece].T @ masked_g if needs_grad[2] else None, _ones(masked_g) @ masked_g, ggamma, gbeta

        sums = _sums(parallel_map(backward, pieces))
        return gx.reshape(shape), gz.reshape(*shape[:-1], d_in), *sums

    return y.reshape(shape), pull


# ---- steps on one piece of rows, in the cache -----------------------------------------------------------------------


def _normalize(s: Array, eps: float) -> Array:
    """Normalize the rows of s to mean 0 and variance 1, in place; returns 1 / √(var + ε) of each."""
    d = s.shape[1]
    s -= (s @ np.full(d, 1 / d, s.dtype))[:, None]
    inverse_std = 1 / np.sqrt(np.einsum("ij,ij->i", s, s) / d + eps)[:, None]
    s *= inverse_std
    return inverse_std


def _scale_and_shift(s: Array, gamma: Array | None, beta: Array | None, out: Array) -> None:
    """out = γ ⊙ s + β"""
    np.multiply(s, 1 if gamma is None else gamma, out=out)
    if beta is not None:
        out += beta


def _norm_vjp(g: Array, normalized: Array, inverse_std: Array, gamma: Array | None, out: Array) -> tuple[Array, Array]:
    """out = (h − mean h − ŝ ⊙ mean(h ⊙ ŝ)) / √(var + ε)  with h = γ ⊙ g; returns gγ = Σ g ⊙ ŝ and gβ = Σ g"""
    one, d = _ones(g), g.shape[1]
    gamma = np.ones(d, g.dtype) if gamma is None else gamma
    work = g * normalized
    ggamma, gbeta = one @ work, one @ g
    mean, projection = (g @ gamma)[:, None] / d, (work @ gamma)[:, None] / d  # of h, and of h ⊙ ŝ
    h = np.multiply(g, gamma, out=out)
    h -= mean
    h -= np.multiply(normalized, projection, out=work)
    h *= inverse_std
    return ggamma, gbeta


def _ones(block: Array) -> Array:
    """A vector with a 1 for each row: ones @ block sums the rows."""
    return np.ones(len(block), block.dtype)


def _zeros(pieces: list[slice], like: Array) -> Array:
    """Zeros for a piece: NumPy's maximum of two arrays is three times as fast as that of an array and a scalar."""
    return np.zeros((pieces[0].stop, like.shape[1]), like.dtype)


def _sums(parts: list[tuple[Array | None, ...]]) -> list[Array | None]:
    """The contributions of all pieces to each gradient, added in order."""
    return [None if column[0] is None else reduce(np.add, column) for column in zip(*parts, strict=True)]
