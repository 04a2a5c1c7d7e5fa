"""Convolution and batch normalisation of images, some images at a time, each pixel's channels side by side in memory.

Images are (N, channels, H, W) for whoever calls.  In memory they lie as (N, H, W, channels), and what is returned is a
view of that with its axes in the usual order, so that a stack of layers turns nothing around: a pixel's channels are a
row of a matrix, as in rows.py, and only what comes from outside is copied once.

The windows of a convolution are laid out for a few images, multiplied, and forgotten; backward lays them out again,
which is a copy within the cache, where to keep them would take nine times the memory of the images (3 × 3 kernels).

The plain forms are in ops/images.py.
"""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np

from autograd.backend import Array, as_strided
from autograd.fast.attach import Wanted, cpu_form
from autograd.fast.pieces import image_shares, row_pieces
from autograd.fast.rows import _ones, _sums, _zeros
from autograd.ops import images as ops
from autograd.ops.images import pair
from autograd.tape import Pull
from autograd.threads import parallel_map

Pair = tuple[int, int]  # along the rows and along the columns of an image


@cpu_form(ops.conv2d)
def conv2d(
    wanted: Wanted,
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
) -> tuple[Array, Pull]:
    """y[n, o, r, c] = bias[o] + Σ over i, a, b of w[o, i, a, b] x[n, i, s r + a, s c + b], with zeros around x"""
    stride, padding = pair(stride), pair(padding)
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))  # no copy of what an op of this file has made
    (N, H, W, C_in), (C_out, _, kh, kw), (sr, sc), (pr, pc) = x.shape, weight.shape, stride, padding
    R, C = (H + 2 * pr - kh) // sr + 1, (W + 2 * pc - kw) // sc + 1
    kernel = weight.transpose(2, 3, 1, 0).reshape(kh * kw * C_in, C_out)
    shares = image_shares(N, R * C, *kernel.shape)
    y = np.empty((N, R, C, C_out), x.dtype)

    def windows(images: slice) -> Array:
        return _windows(x[images], (kh, kw), stride, padding)

    def forward(share: list[slice]) -> None:
        for images in share:
            out = np.dot(windows(images), kernel, out=y[images].reshape(-1, C_out))
            if bias is not None:
                out += bias

    parallel_map(forward, shares)

    def pull(g: Array) -> tuple[Array | None, ...]:
        g = np.ascontiguousarray(g.transpose(0, 2, 3, 1))
        gx = np.empty(x.shape, x.dtype) if wanted[0] else None
        turned = weight[:, :, ::-1, ::-1].transpose(2, 3, 0, 1).reshape(kh * kw * C_out, C_in)

        def gradient(flat: Array, g: Array) -> Array:
            """Of some images: the gradients of all windows, each added where the window was cut."""
            if stride == (1, 1) and pr < kh and pc < kw:  # the same sums, as a convolution of g with the kernel turned
                return (_windows(g, (kh, kw), stride, (kh - 1 - pr, kw - 1 - pc)) @ turned).reshape(-1, H, W, C_in)
            grows = (flat @ kernel.T).reshape(-1, R, C, kh, kw, C_in)
            gpadded = np.zeros((len(grows), H + 2 * pr, W + 2 * pc, C_in), x.dtype)
            for a, b in product(range(kh), range(kw)):  # pixel (a, b) of every window at once
                gpadded[:, a : a + sr * R : sr, b : b + sc * C : sc] += grows[:, :, :, a, b]
            return gpadded[:, pr : pr + H, pc : pc + W]

        def backward(share: list[slice]) -> tuple[Array | None, Array]:
            gkernel, gbias = np.zeros(kernel.shape, x.dtype) if wanted[1] else None, np.zeros(C_out, x.dtype)
            for images in share:
                flat = g[images].reshape(-1, C_out)
                gbias += _ones(flat) @ flat
                if wanted[1]:
                    gkernel += windows(images).T @ flat
                if wanted[0]:
                    gx[images] = gradient(flat, g[images])
            return gkernel, gbias

        gkernel, gbias = _sums(parallel_map(backward, shares))
        gweight = gkernel.reshape(kh, kw, C_in, C_out).transpose(3, 2, 0, 1) if wanted[1] else None
        return gx.transpose(0, 3, 1, 2) if wanted[0] else None, gweight, gbias

    return y.transpose(0, 3, 1, 2), pull


def _windows(x: Array, kernel: Pair, stride: Pair, padding: Pair) -> Array:
    """What a kernel of that size sees of images (N, H, W, channels) with zeros around them: a row for each place.

    A row is made of kh runs of kw pixels that lie side by side, which is why the copy is fast.
    """
    (N, H, W, channels), (kh, kw), (sr, sc), (pr, pc) = x.shape, kernel, stride, padding
    padded = np.zeros((N, H + 2 * pr, W + 2 * pc, channels), x.dtype)
    padded[:, pr : pr + H, pc : pc + W] = x
    R, C = (H + 2 * pr - kh) // sr + 1, (W + 2 * pc - kw) // sc + 1
    image, row, column, number = padded.strides
    runs = as_strided(padded, (N, R, C, kh, kw * channels), (image, row * sr, column * sc, row, number))
    return runs.reshape(N * R * C, kh * kw * channels)


def moments(x: Array, axis: int) -> tuple[Array, Array]:
    """Mean and (biased) variance of each channel.

    Each piece has its own mean and squares around that; two pieces of n and m rows with means μ and ν then have the
    squares of both, and n m / (n + m) · (μ − ν)² for the distance between them.
    """
    x = _rows(x, axis)

    def of_piece(piece: slice) -> tuple[int, Array, Array]:
        rows = x[piece]
        mean = _ones(rows) @ rows / len(rows)
        centred = rows - mean
        return len(rows), mean, _ones(rows) @ np.square(centred, out=centred)

    def joined(one: tuple, other: tuple) -> tuple[int, Array, Array]:
        (n, mean, squares), (m, mean_, squares_) = one, other
        apart = mean_ - mean
        return n + m, mean + apart * (m / (n + m)), squares + squares_ + np.square(apart) * (n * m / (n + m))

    n, mean, squares = reduce(joined, parallel_map(of_piece, row_pieces(*x.shape)))
    return mean, squares / n


@cpu_form(ops.batch_norm)
def batch_norm(
    wanted: Wanted,
    x: Array,
    gamma: Array | None,
    beta: Array | None,
    *,
    axis: int = 1,
    eps: float = 1e-5,
    statistics: tuple[Array, Array] | None = None,
    frozen: bool = False,
    relu: bool = False,
) -> tuple[Array, Pull]:
    """y = γ ⊙ x̂ + β, or max(γ ⊙ x̂ + β, 0),   x̂ = (x − μ) / √(σ² + ε)

    gx = γ / √(σ² + ε) ⊙ (g − mean g − x̂ ⊙ mean(g ⊙ x̂)), the means over all rows: one pass for them, another for gx.
    """
    mean, variance = (s.astype(x.dtype) for s in (statistics or moments(x, axis)))
    shape, x = np.moveaxis(x, axis, -1).shape, _rows(x, axis)

    def as_images(rows: Array) -> Array:
        return np.moveaxis(rows.reshape(shape), -1, axis)

    inverse = 1 / np.sqrt(variance + eps)
    scale = inverse if gamma is None else inverse * gamma
    pieces = row_pieces(*x.shape)
    y = np.empty(x.shape, x.dtype)
    zeros = _zeros(pieces, y) if relu else None

    def forward(piece: slice) -> None:
        out = np.subtract(x[piece], mean, out=y[piece])
        out *= scale
        if beta is not None:
            out += beta
        if relu:
            np.maximum(out, zeros[: len(out)], out=out)

    parallel_map(forward, pieces)
    open_where = y if relu else None  # a function keeps alive all that it names

    def pull(g: Array) -> tuple[Array, Array, Array]:
        g = _rows(g, axis)
        gx = np.empty(x.shape, x.dtype)

        def sums(piece: slice) -> tuple[Array, Array]:
            through = gx[piece]
            np.multiply(g[piece], 1 if open_where is None else open_where[piece] > 0, out=through)
            along = x[piece] - mean
            along *= through
            return _ones(along) @ along * inverse, _ones(through) @ through

        ggamma, gbeta = _sums(parallel_map(sums, pieces))
        slope, offset = -scale * inverse * ggamma / len(x), -scale * gbeta / len(x)

        def rest(piece: slice) -> None:
            out = gx[piece]
            out *= scale
            if not frozen:
                along = x[piece] - mean
                along *= slope
                along += offset
                out += along

        parallel_map(rest, pieces)
        return as_images(gx), ggamma, gbeta

    return as_images(y), pull


def _rows(x: Array, axis: int) -> Array:
    """A row for each pixel: (N, channels, H, W) as (N H W, channels); a view if the channels lie side by side."""
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
