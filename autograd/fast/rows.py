"""Layers that treat every row alike, some rows at a time: linear, layer_norm, and each half of a MAB.

Written as plain formulas over whole arrays, each of these passes over memory many times: for every +, ×, mean and
square root once.  Here a piece of rows goes through all of a formula's steps while it is in the cache, and memory is
read once and written once.  Two tools save more: a sum along rows or columns is a product with ones, and np.einsum sums
the squares of a row without writing them down.

Arguments are as in ops/linalg.py and ops/nn.py, which check them and have the plain forms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import numpy as np

from autograd.backend import Array
from autograd.forms import row_pieces, small
from autograd.tape import Result, Together
from autograd.threads import each


def linear(x: Array, weight: Array, bias: Array | None, relu: bool) -> Result:
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
        if relu:
            np.maximum(out, zeros[: len(out)], out=out)

    each(forward, pieces)

    def for_wanted(wanted: tuple[bool, ...]) -> Callable[[Array], tuple[Array | None, ...]]:
        # A function keeps alive all that it names: x is kept only for gW, and y only for a ReLU.
        rows, open_where = (x if wanted[1] else None), (y if relu else None)

        def pull(g: Array) -> tuple[Array | None, ...]:
            g = g.reshape(-1, d_out)
            gx = np.empty((len(g), d_in), g.dtype) if wanted[0] else None

            def backward(piece: slice) -> tuple[Array | None, ...]:
                through = g[piece] if open_where is None else g[piece] * (open_where[piece] > 0)
                if wanted[0]:
                    np.dot(through, weight.T, out=gx[piece])
                return rows[piece].T @ through if wanted[1] else None, _ones(through) @ through

            gweight, gbias = _sums(each(backward, pieces))
            return gx.reshape(shape) if wanted[0] else None, gweight, gbias

        return pull

    return y.reshape(*shape[:-1], d_out), Together(for_wanted)


def matmul(x: Array, heads: Array) -> Result:
    """y = x W for x (..., h, n, a), with a W (a, b) for each head that all sets share: heads (h, a, b)

    The rows that meet the same W form one tall matrix: h large products, instead of a small one for each set and head.
    """
    h, a, b = heads.shape

    def joined(x: Array) -> Array:
        return np.moveaxis(x, -3, 0).reshape(h, -1, x.shape[-1])  # (..., h, n, a) -> (h, rows, a)

    def apart(y: Array) -> Array:
        return np.moveaxis(y.reshape(h, *lead, y.shape[-1]), 0, -3)  # (h, rows, b) -> (..., h, n, b)

    lead = (*x.shape[:-3], x.shape[-2])
    x = joined(x)
    pieces = [(j, rows) for j in range(h) for rows in row_pieces(x.shape[1], max(a, b))]
    run = map if small(x) else each  # to wake a thread would take longer
    y = np.empty((h, x.shape[1], b), x.dtype)
    list(run(lambda piece: np.dot(x[piece], heads[piece[0]], out=y[piece]), pieces))

    def pull(wanted: tuple[bool, ...], g: Array) -> tuple[Array, Array]:
        g = joined(g)
        gx, gheads = np.empty((*g.shape[:2], a), g.dtype), np.zeros(heads.shape, g.dtype)

        def backward(piece: tuple[int, slice]) -> Array | int:
            if wanted[0]:
                np.dot(g[piece], heads[piece[0]].T, out=gx[piece])
            return x[piece].T @ g[piece] if wanted[1] else 0

        for (j, _), part in zip(pieces, run(backward, pieces), strict=True):
            gheads[j] += part
        return apart(gx), gheads

    return apart(y), Together(lambda wanted: partial(pull, wanted))


def layer_norm(x: Array, gamma: Array | None, beta: Array | None, plus: Array | None, eps: float) -> Result:
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

    each(forward, pieces)

    def pull(g: Array) -> tuple[Array, ...]:
        g, gs = g.reshape(-1, d), np.empty(normal.shape, normal.dtype)
        sums = each(lambda p: _pull(g[p], normal[p], inverse[p], gamma, gs[p]), pieces)
        gs = gs.reshape(shape)
        return gs, *_sums(sums), gs

    return y.reshape(shape), Together(lambda wanted: pull, shared=plus is not None)


def residual_norm(
    x: Array,
    z: Array,
    weight: Array,
    bias: Array | None,
    gamma: Array | None,
    beta: Array | None,
    relu: bool,
    eps: float,
) -> Result:
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + z W + b, or of s = x + max(z W + b, 0)"""
    shape, d_in, d = x.shape, z.shape[-1], x.shape[-1]
    x, z = x.reshape(-1, d), z.reshape(-1, d_in)
    pieces = row_pieces(len(x), max(d_in, d))
    normal, inverse, y = (np.empty((len(x), width), x.dtype) for width in (d, 1, d))
    zeros, opened = (_zeros(pieces, x), np.empty(x.shape, bool)) if relu else (None, None)

    def forward(piece: slice) -> None:
        s = np.dot(z[piece], weight, out=normal[piece])
        if bias is not None:
            s += bias
        if relu:
            np.maximum(s, zeros[: len(s)], out=s)
            np.greater(s, zeros[: len(s)], out=opened[piece])  # where the ReLU lets something through
        s += x[piece]
        inverse[piece] = _normalise(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    each(forward, pieces)

    def pull(wanted: tuple[bool, ...], g: Array) -> tuple[Array | None, ...]:
        g, gx, gz = g.reshape(-1, d), np.empty(normal.shape, z.dtype), np.empty(z.shape, z.dtype)

        def backward(piece: slice) -> tuple[Array | None, ...]:
            gs = gx[piece]
            ggamma, gbeta = _pull(g[piece], normal[piece], inverse[piece], gamma, gs)
            through = gs * opened[piece] if relu else gs
            if wanted[1]:
                np.dot(through, weight.T, out=gz[piece])
            return z[piece].T @ through if wanted[2] else None, _ones(through) @ through, ggamma, gbeta

        sums = _sums(each(backward, pieces))
        return gx.reshape(shape), gz.reshape(*shape[:-1], d_in), *sums

    return y.reshape(shape), Together(lambda wanted: partial(pull, wanted))


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
