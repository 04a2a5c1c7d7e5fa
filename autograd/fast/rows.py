"""Layers that treat every row alike, some rows at a time: linear, layer_norm, and the feed-forward half of a block.

Written as plain formulas over whole arrays, each of these passes over memory many times: for every +, ×, mean and
square root once.  Here a piece of rows goes through all of a formula's steps while it is in the cache, and memory is
read once and written once.  Two tools save more: a sum along rows or columns is a product with ones, and np.einsum sums
the squares of a row without writing them down.

Arguments are as in ops/linalg.py and ops/nn.py, which check them and have the plain forms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from autograd.backend import Array
from autograd.forms import row_pieces
from autograd.ops.common import once
from autograd.tape import Result
from autograd.threads import each

SUMS = 16  # partial sums of a weight's gradient: enough for as many threads, and few enough to add up quickly


def linear(x: Array, weight: Array, bias: Array | None, relu: bool) -> Result:
    """y = x W + b, or max(x W + b, 0)"""
    shape, (d_in, d_out) = x.shape, weight.shape
    x = x.reshape(-1, d_in)
    pieces = row_pieces(len(x), max(d_in, d_out))
    y = np.empty((len(x), d_out), x.dtype)
    zeros = _zeros(pieces, y)

    def forward(piece: slice) -> None:
        out = np.matmul(x[piece], weight, out=y[piece])
        if bias is not None:
            out += bias
        if relu:
            np.maximum(out, zeros[: len(out)], out=out)

    each(forward, pieces)
    kept = y if relu else None  # a vjp keeps alive all that it names, so it should name no more than it needs

    @once
    def passed(g: Array) -> Array:
        """What of g comes through the ReLU, as rows."""
        g = g.reshape(-1, d_out)
        if kept is None:
            return g
        return _fill(np.empty_like(g), lambda piece, out: np.multiply(g[piece], kept[piece] > 0, out=out), pieces)

    def gx(g: Array) -> Array:
        g = passed(g)
        gx = np.empty((len(g), d_in), g.dtype)
        return _fill(gx, lambda piece, out: np.matmul(g[piece], weight.T, out=out), pieces).reshape(shape)

    def gweight(g: Array) -> Array:
        g = passed(g)
        return _total(lambda piece: x[piece].T @ g[piece], row_pieces(len(x), max(d_in, d_out), SUMS))

    return y.reshape(*shape[:-1], d_out), (gx, gweight, lambda g: _column_sums(passed(g), pieces))


def matmul(x: Array, heads: Array) -> Result:
    """y = x W for x (..., h, n, a), with a W (a, b) for each head that all sets share: heads (h, a, b)

    The rows that meet the same W form one tall matrix: h large products, instead of a small one for each set and head.
    """
    x = np.moveaxis(x, -3, 0)  # (h, ..., n, a)
    shape, (h, a, b) = x.shape, heads.shape
    x = x.reshape(h, -1, a)
    y = np.empty((h, x.shape[1], b), x.dtype)
    pieces = [(j, rows) for j in range(h) for rows in row_pieces(x.shape[1], max(a, b))]
    each(lambda piece: np.matmul(x[piece], heads[piece[0]], out=y[piece]), pieces)

    def apart(y: Array) -> Array:
        return np.moveaxis(y.reshape(*shape[:-1], -1), 0, -3)  # (..., h, n, b)

    @once
    def rows(g: Array) -> Array:
        return np.moveaxis(g, -3, 0).reshape(h, -1, b)

    def gx(g: Array) -> Array:
        g = rows(g)
        gx = np.empty((*g.shape[:2], a), g.dtype)
        each(lambda piece: np.matmul(g[piece], heads[piece[0]].T, out=gx[piece]), pieces)
        return apart(gx)

    def gheads(g: Array) -> Array:
        g = rows(g)
        return np.stack(each(lambda j: x[j].T @ g[j], range(h)))

    return apart(y), (gx, gheads)


def layer_norm(x: Array, gamma: Array | None, beta: Array | None, plus: Array | None, eps: float) -> Result:
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + plus; x and plus have the same shape"""
    shape, d = x.shape, x.shape[-1]
    x = x.reshape(-1, d)
    plus = None if plus is None else plus.reshape(-1, d)
    pieces = row_pieces(*x.shape)
    normal, inverse, y = np.empty_like(x), np.empty((len(x), 1), x.dtype), np.empty_like(x)

    def forward(piece: slice) -> None:
        s = normal[piece]
        if plus is None:
            np.copyto(s, x[piece])
        else:
            np.add(x[piece], plus[piece], out=s)
        inverse[piece] = _normalise(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    each(forward, pieces)

    @once
    def gx(g: Array) -> Array:
        g = g.reshape(-1, d)

        def pull(piece: slice, out: Array) -> None:
            _pull(g[piece], normal[piece], inverse[piece], gamma, out)

        return _fill(np.empty_like(normal), pull, pieces).reshape(shape)

    def ggamma(g: Array) -> Array:
        g = g.reshape(-1, d)
        return _total(lambda piece: _ones(g[piece]) @ (g[piece] * normal[piece]), pieces)

    return y.reshape(shape), (gx, ggamma, lambda g: _column_sums(g.reshape(-1, d), pieces), gx)


def feed_norm(
    x: Array, weight: Array, bias: Array | None, gamma: Array | None, beta: Array | None, eps: float
) -> Result:
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + max(x W + b, 0)

    Forward keeps ŝ and where the ReLU was open.  Backward makes all of the gradients in one pass over the rows.
    """
    shape, d = x.shape, x.shape[-1]
    x = x.reshape(-1, d)
    pieces = row_pieces(*x.shape)
    normal, inverse, y = np.empty_like(x), np.empty((len(x), 1), x.dtype), np.empty_like(x)
    opened, zeros = np.empty(x.shape, bool), _zeros(pieces, x)

    def forward(piece: slice) -> None:
        s = np.matmul(x[piece], weight, out=normal[piece])
        if bias is not None:
            s += bias
        np.maximum(s, zeros[: len(s)], out=s)
        np.greater(s, zeros[: len(s)], out=opened[piece])
        s += x[piece]
        inverse[piece] = _normalise(s, eps)
        _scale_and_shift(s, gamma, beta, y[piece])

    each(forward, pieces)

    @once
    def gradients(g: Array) -> tuple[Array, ...]:
        g, gx = g.reshape(-1, d), np.empty_like(x)

        def backward(piece: slice) -> tuple[Array, ...]:
            one = _ones(g[piece])
            h = g[piece] * normal[piece]
            ggamma, gbeta = one @ h, one @ g[piece]
            gs = _pull(g[piece], normal[piece], inverse[piece], gamma, gx[piece])
            np.multiply(gs, opened[piece], out=h)  # what comes through the ReLU
            gs += h @ weight.T
            return x[piece].T @ h, one @ h, ggamma, gbeta

        sums = (reduce(np.add, parts) for parts in zip(*each(backward, pieces), strict=True))
        return gx.reshape(shape), *sums

    return y.reshape(shape), tuple(lambda g, i=i: gradients(g)[i] for i in range(5))


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


def _pull(g: Array, normal: Array, inverse: Array, gamma: Array | None, out: Array) -> Array:
    """out = (h − mean h − ŝ ⊙ mean(h ⊙ ŝ)) / √(var + ε)  with h = γ ⊙ g"""
    d = g.shape[1]
    h = np.multiply(g, 1 if gamma is None else gamma, out=out)
    along = np.einsum("ij,ij->i", h, normal)[:, None] / d
    h -= (h @ np.full(d, 1 / d, h.dtype))[:, None]
    h -= normal * along
    h *= inverse
    return h


def _ones(block: Array) -> Array:
    """A 1 for each row: ones @ block sums the rows."""
    return np.ones(len(block), block.dtype)


# ---- all pieces -----------------------------------------------------------------------------------------------------


def _fill(out: Array, function: Callable[[slice, Array], object], pieces: list[slice]) -> Array:
    """The array, filled piece by piece by function(piece, out[piece])."""
    each(lambda piece: function(piece, out[piece]), pieces)
    return out


def _total(function: Callable[[slice], Array], pieces: list[slice]) -> Array:
    """Σ function(piece), added in the order of the pieces."""
    return reduce(np.add, each(function, pieces))


def _column_sums(g: Array, pieces: list[slice]) -> Array:
    return _total(lambda piece: _ones(g[piece]) @ g[piece], pieces)


def _zeros(pieces: list[slice], like: Array) -> Array:
    """Zeros for a piece: NumPy's maximum of two arrays is three times as fast as that of an array and a number."""
    return np.zeros((pieces[0].stop, like.shape[1]), like.dtype)
