"""Convolution of images, and batch normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.backend import Array, array_module, as_strided
from autograd.ops.reduce import axis_of
from autograd.registry import checked_by
from autograd.tape import Result, op


def _check_conv2d(x: Array, weight: Array, bias: Array | None, *, stride: Any = 1, padding: Any = 0) -> None:
    (sr, sc), (pr, pc) = pair(stride), pair(padding)
    if x.ndim != 4 or weight.ndim != 4 or x.shape[1] != weight.shape[1]:
        raise ValueError("expected images (N, C_in, H, W) and a weight (C_out, C_in, kh, kw) that agree in C_in")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"expected a bias of shape {weight.shape[:1]}, given {bias.shape}")
    if min(sr, sc) < 1 or min(pr, pc) < 0:
        raise ValueError(f"expected a stride of at least 1 and a padding of at least 0, given {stride}, {padding}")
    (H, W), (kh, kw) = (x.shape[2] + 2 * pr, x.shape[3] + 2 * pc), weight.shape[2:]
    if kh > H or kw > W:
        raise ValueError(f"the {kh}×{kw} kernel is larger than the {H}×{W} padded image")


@op
@checked_by(_check_conv2d)
def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
) -> Result:
    """y[n, o, r, c] = bias[o] + Σ over i, a, b of w[o, i, a, b] x[n, i, s r + a, s c + b]

    x is (N, C_in, H, W), w (C_out, C_in, kh, kw), y (N, C_out, R, C), with `padding` zeros around x.  Every window of x
    becomes a row of a matrix ("im2col"), and the convolution is the product of this matrix with w:
    y = rows wᵀ,   gw = gᵀ rows,   grows = g w,   and gx adds each window's gradient at the window's position.
    """
    xp = array_module(x)
    (sr, sc), (pr, pc) = pair(stride), pair(padding)
    (N, C_in, H, W), (C_out, _, kh, kw) = x.shape, weight.shape
    H, W = H + 2 * pr, W + 2 * pc
    R, C = (H - kh) // sr + 1, (W - kw) // sc + 1
    padded = xp.pad(x, ((0, 0), (0, 0), (pr, pr), (pc, pc)))

    image, channel, row, column = padded.strides
    windows = as_strided(padded, (N, R, C, C_in, kh, kw), (image, row * sr, column * sc, channel, row, column))
    rows = windows.reshape(N * R * C, C_in * kh * kw)  # a copy: each pixel appears in up to kh · kw rows
    kernel = weight.reshape(C_out, C_in * kh * kw)
    y = rows @ kernel.T
    y = y if bias is None else y + bias

    def flat(g: Array) -> Array:
        return g.transpose(0, 2, 3, 1).reshape(N * R * C, C_out)

    def gx(g: Array) -> Array:
        grows = (flat(g) @ kernel).reshape(N, R, C, C_in, kh, kw).transpose(0, 3, 1, 2, 4, 5)
        gpadded = xp.zeros((N, C_in, H, W), dtype=g.dtype)
        for a in range(kh):
            for b in range(kw):  # pixel (a, b) of every window at once
                gpadded[:, :, a : a + sr * R : sr, b : b + sc * C : sc] += grows[..., a, b]
        return gpadded[:, :, pr : H - pr, pc : W - pc]

    return y.reshape(N, R, C, C_out).transpose(0, 3, 1, 2), (
        gx,
        lambda g: (flat(g).T @ rows).reshape(weight.shape),
        lambda g: g.sum(axis=(0, 2, 3)),
    )


def pair(value: int | tuple[int, int]) -> tuple[int, int]:
    """A pair of integers for the rows and columns of an image; a single one is used for both."""
    values = (value, value) if isinstance(value, int | np.integer) else value
    if not isinstance(values, list | tuple) or [isinstance(v, int | np.integer) for v in values] != [True, True]:
        raise TypeError(f"expected an integer or a pair of integers, given {value!r}")
    return values[0], values[1]


def moments(x: Array, axis: int) -> tuple[Array, Array]:
    """Mean and (biased) variance of each channel, with the channels along the given axis."""
    others = tuple(a for a in range(x.ndim) if a != axis_of(x, axis))
    if x.size == 0:
        raise ValueError("the statistics of an empty batch are not defined")
    return x.mean(axis=others), x.var(axis=others)


def _check_batch_norm(
    x: Array, gamma: Any, beta: Any, *, axis: int = 1, statistics: Any = None, eps: float = 1e-5, frozen: bool = False
) -> None:
    channels = x.shape[axis_of(x, axis)]
    for vector in (gamma, beta, *(statistics or ())):
        if vector is not None and getattr(vector, "shape", None) != (channels,):
            given = f"shape {vector.shape}" if hasattr(vector, "shape") else repr(vector)
            raise ValueError(f"expected an array of one value for each of {channels} channels, given {given}")


@op
@checked_by(_check_batch_norm)
def batch_norm(
    x: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    *,
    axis: int = 1,
    eps: float = 1e-5,
    statistics: tuple[Array, Array] | None = None,
    frozen: bool = False,
) -> Result:
    """y = γ ⊙ x̂ + β,   x̂ = (x − μ) / √(σ² + ε), with μ, σ² of each channel along the axis

    statistics = (μ, σ²) defaults to moments(x, axis) of the batch.  If frozen, they are constants, as in evaluation;
    otherwise they are treated as functions of x, and the gradient is that of layer_norm over other axes.
    """
    xp, axis = array_module(x), axis_of(x, axis)
    others = tuple(a for a in range(x.ndim) if a != axis)
    channel_shape = [1] * x.ndim
    channel_shape[axis] = x.shape[axis]
    mean, variance = (s.astype(x.dtype).reshape(channel_shape) for s in (statistics or moments(x, axis)))
    inverse_std = 1 / xp.sqrt(variance + eps)
    normalized = (x - mean) * inverse_std
    y = normalized if gamma is None else normalized * gamma.reshape(channel_shape)
    y = y if beta is None else y + beta.reshape(channel_shape)

    n = x.size // max(x.shape[axis], 1)  # elements per channel

    def pull(g: Array) -> tuple[Array, Array, Array]:
        ggamma, gbeta = (g * normalized).sum(axis=others), g.sum(axis=others)
        h = g
        if not frozen:
            h = g - gbeta.reshape(channel_shape) / n - normalized * ggamma.reshape(channel_shape) / n
        return h * (inverse_std if gamma is None else inverse_std * gamma.reshape(channel_shape)), ggamma, gbeta

    return y, pull
