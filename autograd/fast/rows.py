"""Layers that treat every row alike, some rows at a time: linear, layer_norm, and each half of a MAB.

Written as plain formulas over whole arrays, each of these passes over memory many times: for every +, ×, mean and
square root once.  Here a piece of rows goes through all of a formula's steps while it is in the cache, and memory is
read once and written once.  Two tools save more: a sum along rows or columns is a product with ones, and np.einsum sums
the squares of a row without writing them down.

Every function takes `wanted`, whether the gradient of each input is wanted, then the arrays; it returns y and pull.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from autograd.backend import Array
from autograd.fast.attach import Wanted, cpu_form
from autograd.fast.pieces import row_pieces, small
from autograd.ops import linalg, nn
from autograd.tape import Pull
from autograd.threads import parallel_map

plain_matmul = linalg.matmul.compute  # type: ignore[attr-defined]


@cpu_form(nn.linear)
def linear(wanted: Wanted, x: Array, weight: Array, bias: Array | None, *, relu: bool = False) -> tuple[Array, Pull]:
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
    # A function keeps alive all that it names: x is kept only for gW, and y only for a ReLU.
    rows, open_where = (x if wanted[1] else None), (y if relu else None)

    def pull(g: Array) -> tuple[Array | None, ...]:
        g = g.reshape(-1, d_out)
        gx = np.empty((len(g), d_in), g.dtype) if wanted[0] else None

        def backward(piece: slice) -> tuple[Array | None, ...]:
            through = g[piece] if open_where is None else g[piece] * (open_where[piece] > 0)
            if gx is not None:
                np.dot(through, weight.T, out=gx[piece])
            return None if rows is None else rows[piece].T @ through, _ones(through) @ through

        gweight, gbias = _sums(parallel_map(backward, pieces))
        return None if gx is None else gx.reshape(shape), gweight, gbias

    return y.reshape(*shape[:-1], d_out), pull


@cpu_form(linalg.matmul)
def matmul(wanted: Wanted, x: Array, heads: Array) -> tuple[Array, Pull]:
    """y = x W for x (..., h, n, a), with a W (a, b) for each head that all sets share: heads (h, a, b)

    The rows that meet the same W form one tall matrix: h large products, instead of a small one for each set and head.
    Other products are the plain form's.
    """
    if not (x.ndim > heads.ndim == 3 and x.shape[-3] == len(heads)):
        return plain_matmul(wanted, x, heads)
    h, a, b = heads.shape

    def joined(x: Array) -> Array:
        return x.transpose(there).reshape(h, -1, x.shape[-1])  # (..., h, n, a) -> (h, rows, a)

    def apart(y: Array) -> Array:
        return y.reshape(h, *lead, y.shape[-1]).transpose(back)  # (h, rows, b) -> (..., h, n, b)

    sets, lead = range(x.ndim - 3), (*x.shape[:-3], x.shape[-2])
    there = (x.ndim - 3, *sets, x.ndim - 2, x.ndim - 1)  # the heads to the front
    back = (*(i + 1 for i in sets), 0, x.ndim - 2, x.ndim - 1)
    x = joined(x)
    pieces = [(j, rows) for j in range(h) for rows in row_pieces(x.shape[1], max(a, b))]
    run = map if small(x) else parallel_map  # to wake a thread would take longer
    y = np.empty((h, x.shape[1], b), x.dtype)
    list(run(lambda piece: np.dot(x[piece], heads[piece[0]], out=y[piece]), pieces))

    def pull(g: Array) -> tuple[Array, Array]:
        g = joined(g)
        gx, gheads = np.empty((*g.shape[:2], a), g.dtype), np.zeros(heads.shape, g.dtype)

        def backward(piece: tuple[int, slice]) -> Array | int:
            if wanted[0]:
                np.dot(g[piece], heads[piece[0]].T, out=gx[piece])
            return x[piece].T @ g[piece] if wanted[1] else 0

        for (j, _), part in zip(pieces, run(backward, pieces), strict=True):
            gheads[j] += part
        return apart(gx), gheads

    return apart(y), pull


@cpu_form(nn.layer_norm)
def layer_norm(
    wanted: Wanted, x: Array, gamma: Array | None, beta: Array | None, plus: Array | None = None, *, eps: float = 1e-5
) -> tuple[Array, Pull]:
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + plus; x and plus have the same shape"""
    shape, d = x.shape, x.shape[-1]
    x = x.reshape(-1, d)
    plus = None if plus is None else plus.reshape(-1, d)
    pieces = row_pieces(*x.shape)
    normal, inverse, y = (np.empty((len(x), width), x.dtype) for width in (d, 1, d))

    def forward(piece: slice) -> None:
        s = normal[piece]
        if plus is None:
            np.copyto(s, x[piece])
        else:
            np.add(x[piece], plus[piece], out=s)
        inverse[piece] = _normalise(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    parallel_map(forward, pieces)
    of_a_sum = plus is not None  # a function keeps alive all that it names: not the terms of the sum

    def pull(g: Array) -> tuple[Array, ...]:
        g, gs = g.reshape(-1, d), np.empty(normal.shape, normal.dtype)
        sums = parallel_map(lambda p: _pull(g[p], normal[p], inverse[p], gamma, gs[p]), pieces)
        gs = gs.reshape(shape)
        gradients = gs, *_sums(sums)
        return (*gradients, gs) if of_a_sum else gradients  # one array for both terms

    return y.reshape(shape), pull


def residual_norm(
    wanted: Wanted,
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
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + z W + b, or of s = x + max(z W + b, 0): each half of a MAB

    x is (..., d) and may be shared by all sets, z (..., d_in), W (d_in, d).
    """
    d_in, d = weight.shape
    shape = (*z.shape[:-1], d)
    x = x if x.shape == shape else np.broadcast_to(x, shape)
    x, z = x.reshape(-1, d), z.reshape(-1, d_in)
    pieces = row_pieces(len(x), max(d_in, d))
    normal, inverse, y = (np.empty((len(x), width), x.dtype) for width in (d, 1, d))
    zeros, opened = _zeros(pieces, x) if relu else None, np.empty(x.shape, bool) if relu else None

    def forward(piece: slice) -> None:
        s = np.dot(z[piece], weight, out=normal[piece])
        if bias is not None:
            s += bias
        if opened is not None:
            np.maximum(s, zeros[: len(s)], out=s)
            np.greater(s, zeros[: len(s)], out=opened[piece])  # where the ReLU lets something through
        s += x[piece]
        inverse[piece] = _normalise(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    parallel_map(forward, pieces)

    def pull(g: Array) -> tuple[Array | None, ...]:
        g, gx, gz = g.reshape(-1, d), np.empty(normal.shape, z.dtype), np.empty(z.shape, z.dtype)

        def backward(piece: slice) -> tuple[Array | None, ...]:
            gs = gx[piece]
            ggamma, gbeta = _pull(g[piece], normal[piece], inverse[piece], gamma, gs)
            through = gs if opened is None else gs * opened[piece]
            if wanted[1]:
                np.dot(through, weight.T, out=gz[piece])
            return z[piece].T @ through if wanted[2] else None, _ones(through) @ through, ggamma, gbeta

        sums = _sums(parallel_map(backward, pieces))
        return gx.reshape(shape), gz.reshape(*shape[:-1], d_in), *sums

    return y.reshape(shape), pull


# ---- what is done to a piece of rows in the cache -------------------------------------------------------------------


def _normalise(s: Array, eps: float) -> Array:
    """Bring the rows of s to mean 0 and variance 1, in place; returns 1 / √(var + ε) of each."""
    d = s.shape[1]
    s -= (s @ np.full(d, 1 / d, s.dtype))[:, None]
    inverse = 1 / np.sqrt(np.einsum("ij,ij->i", s, s) / d + eps)[:, None]
    s *= inverse
    return inverse


def _scale_and_shift(s: Array, gamma: Array | None, beta: Array | None, out: Array) -> None:
    """out = γ ⊙ s + β"""
    np.multiply(s, 1 if gamma is None else gamma, out=out)
    if beta is not None:
        out += beta


def _pull(g: Array, normal: Array, inverse: Array, gamma: Array | None, out: Array) -> tuple[Array, Array]:
    """out = (h − mean h − ŝ ⊙ mean(h ⊙ ŝ)) / √(var + ε)  with h = γ ⊙ g; returns gγ = Σ g ⊙ ŝ and gβ = Σ g"""
    one, d = _ones(g), g.shape[1]
    gamma = np.ones(d, g.dtype) if gamma is None else gamma
    work = g * normal
    ggamma, gbeta = one @ work, one @ g
    mean, along = (g @ gamma)[:, None] / d, (work @ gamma)[:, None] / d  # of h, and of h ⊙ ŝ
    h = np.multiply(g, gamma, out=out)
    h -= mean
    h -= np.multiply(normal, along, out=work)
    h *= inverse
    return ggamma, gbeta


def _ones(block: Array) -> Array:
    """A 1 for each row: ones @ block sums the rows."""
    return np.ones(len(block), block.dtype)


def _zeros(pieces: list[slice], like: Array) -> Array:
    """Zeros for a piece: NumPy's maximum of two arrays is three times as fast as that of an array and a number."""
    return np.zeros((pieces[0].stop, like.shape[1]), like.dtype)


def _sums(parts: list[tuple[Array | None, ...]]) -> list[Array | None]:
    """What the pieces contribute to each gradient, added up in their order."""
    return [None if each_part[0] is None else reduce(np.add, each_part) for each_part in zip(*parts, strict=True)]
