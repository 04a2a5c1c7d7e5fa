"""Convolution and batch normalization, a few images at a time, with each pixel's channels contiguous in memory.

Callers see images as (N, channels, H, W).  In memory they are (N, H, W, channels), and results are views of that with
the axes in the usual order, so that a stack of layers needs no transposes: a pixel's channels are a row of a matrix,
as in rows.py, and only images from elsewhere are copied, once.

The windows of a convolution are built for a few images, multiplied and discarded.  Backward builds them again, which
is a copy within the cache, whereas keeping them would take nine times the memory of the images (for 3 × 3 kernels).

The plain versions are in ops/images.py.
"""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np

from autograd.backend import Array, as_strided
from autograd.fast.attach import Flags, cpu_form
from autograd.fast.pieces import image_shares, row_pieces
from autograd.fast.rows import _ones, _sums, _zeros
from autograd.ops import images as ops
from autograd.ops.images import pair
from autograd.tape import Pull
from autograd.threads import parallel_map

Pair = tuple[int, int]  # along the rows and the columns of an image


@cpu_form(ops.conv2d)
def conv2d(
    needs_grad: Flags,
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
) -> tuple[Array, Pull]:
    """y[n, o, r, c] = bias[o] + Σ over i, a, b of w[o, i, a, b] x[n, i, s r + a, s c + b], with zeros around x"""
    stride, padding = pair(stride), pair(padding)
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))  # no copy if x is the result of an op in this file
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
        gx = np.empty(x.shape, x.dtype) if needs_grad[0] else None
        rotated = weight[:, :, ::-1, ::-1].transpose(2, 3, 0, 1).reshape(kh * kw * C_out, C_in)

        def gradient(flat: Array, g: Array) -> Array:
            """For a few images: the gradients of all windows, each added at the window's position."""
            if stride == (1, 1) and pr < kh and pc < kw:  # the same sums, as a convolution of g with a rotated kernel
                return (_windows(g, (kh, kw), stride, (kh - 1 - pr, kw - 1 - pc)) @ rotated).reshape(-1, H, W, C_in)
            grows = (flat @ kernel.T).reshape(-1, R, C, kh, kw, C_in)
            gpadded = np.zeros((len(grows), H + 2 * pr, W + 2 * pc, C_in), x.dtype)
            for a, b in product(range(kh), range(kw)):  # pixel (a, b) of every window at once
                gpadded[:, a : a + sr * R : sr, b : b + sc * C : sc] += grows[:, :, :, a, b]
            return gpadded[:, pr : pr + H, pc : pc + W]

        def backward(share: list[slice]) -> tuple[Array | None, Array]:
            gkernel, gbias = np.zeros(kernel.shape, x.dtype) if needs_grad[1] else None, np.zeros(C_out, x.dtype)
            for images in share:
                flat = g[images].reshape(-1, C_out)
                gbias += _ones(flat) @ flat
                if needs_grad[1]:
                    gkernel += windows(images).T @ flat
                if needs_grad[0]:
                    gx[images] = gradient(flat, g[images])
            return gkernel, gbias

        gkernel, gbias = _sums(parallel_map(backward, shares))
        gweight = gkernel.reshape(kh, kw, C_in, C_out).transpose(3, 2, 0, 1) if needs_grad[1] else None
        return gx.transpose(0, 3, 1, 2) if needs_grad[0] else None, gweight, gbias

    return y.transpose(0, 3, 1, 2), pull


def _windows(x: Array, kernel: Pair, stride: Pair, padding: Pair) -> Array:
    """The windows of zero-padded images (N, H, W, channels), one per row.

    A row consists of kh contiguous runs of kw pixels, which makes the copy fast.
    """
    (N, H, W, channels), (kh, kw), (sr, sc), (pr, pc) = x.shape, kernel, stride, padding
    padded = np.zeros((N, H + 2 * pr, W + 2 * pc, channels), x.dtype)
    padded[:, pr : pr + H, pc : pc + W] = x
    R, C = (H + 2 * pr - kh) // sr + 1, (W + 2 * pc - kw) // sc + 1
    image, row, column, item = padded.strides
    runs = as_strided(padded, (N, R, C, kh, kw * channels), (image, row * sr, column * sc, row, item))
    return runs.reshape(N * R * C, kh * kw * channels)


def moments(x: Array, axis: int) -> tuple[Array, Array]:
    """Mean and (biased) variance of each channel.

    Each piece has its own mean and sum of squared deviations from it.  For two pieces of n and m rows with means μ and
    ν, the combined sum is that of both plus n m / (n + m) · (μ − ν)².
    """
    x = _rows(x, axis)

    def of_piece(piece: slice) -> tuple[int, Array, Array]:
        rows = x[piece]
        mean = _ones(rows) @ rows / len(rows)
        centered = rows - mean
        return len(rows), mean, _ones(rows) @ np.square(centered, out=centered)

    def combined(first: tuple, second: tuple) -> tuple[int, Array, Array]:
        (n, mean, squares), (m, mean_, squares_) = first, second
        distance = mean_ - mean
        return n + m, mean + distance * (m / (n + m)), squares + squares_ + np.square(distance) * (n * m / (n + m))

    n, mean, squares = reduce(combined, parallel_map(of_piece, row_pieces(*x.shape)))
    return mean, squares / n


@cpu_form(ops.batch_norm)
def batch_norm(
    needs_grad: Flags,
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

    gx = γ / √(σ² + ε) ⊙ (g − mean g − x̂ ⊙ mean(g ⊙ x̂)), with means over all rows: one pass for them, one for gx.
    """
    mean, variance = (s.astype(x.dtype) for s in (statistics or moments(x, axis)))
    shape, x = np.moveaxis(x, axis, -1).shape, _rows(x, axis)

    def as_images(rows: Array) -> Array:
        return np.moveaxis(rows.reshape(shape), -1, axis)

    inverse_std = 1 / np.sqrt(variance + eps)
    scale = inverse_std if gamma is None else inverse_std * gamma
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
    relu_output = y if relu else None  # a closure keeps every array it refers to alive

    def pull(g: Array) -> tuple[Array, Array, Array]:
        g = _rows(g, axis)
        gx = np.empty(x.shape, x.dtype)

        def sums(piece: slice) -> tuple[Array, Array]:
            masked_g = gx[piece]
            np.multiply(g[piece], 1 if relu_output is None else relu_output[piece] > 0, out=masked_g)
            centered = x[piece] - mean
            centered *= masked_g
            return _ones(centered) @ centered * inverse_std, _ones(masked_g) @ masked_g

        ggamma, gbeta = _sums(parallel_map(sums, pieces))
        x_factor, constant = -scale * inverse_std * ggamma / len(x), -scale * gbeta / len(x)

        def finish(piece: slice) -> None:
            out = gx[piece]
            out *= scale
            if not frozen:
                centered = x[piece] - mean
                centered *= x_factor
                centered += constant
                out += centered

        parallel_map(finish, pieces)
        return as_images(gx), ggamma, gbeta

    return as_images(y), pull


def _rows(x: Array, axis: int) -> Array:
    """One row per pixel: (N, channels, H, W) as (N H W, channels); a view if the channels are contiguous."""
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
