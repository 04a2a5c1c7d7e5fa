"""Convolution of images, and the normalisation of batches that goes with it."""

from __future__ import annotations

from typing import Any

from autograd.backend import Array, array_module, as_strided
from autograd.ops.reduce import axes_of
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
        raise ValueError(f"the kernel of {kh}×{kw} is larger than the padded image of {H}×{W}")


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

    x is (N, C_in, H, W), w (C_out, C_in, kh, kw), y (N, C_out, R, C), with zeros around x as the padding says.  Every
    window of x is laid out as a row ("im2col"), and the convolution is the product of these rows with w:
    y = rows wᵀ,   gw = gᵀ rows,   grows = g w,   and gx adds each window's gradient back where the window was cut.
    """
    xp = array_module(x)
    (sr, sc), (pr, pc) = pair(stride), pair(padding)
    (N, C_in, H, W), (C_out, _, kh, kw) = x.shape, weight.shape
    H, W = H + 2 * pr, W + 2 * pc
    R, C = (H - kh) // sr + 1, (W - kw) // sc + 1
    padded = xp.pad(x, ((0, 0), (0, 0), (pr, pr), (pc, pc)))

    image, channel, row, column = padded.strides
    windows = as_strided(padded, (N, R, C, C_in, kh, kw), (image, row * sr, column * sc, channel, row, column))
    rows = windows.reshape(N * R * C, C_in * kh * kw)  # a copy: each pixel stands in up to kh · kw rows
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
    """The same along the rows and the columns of an image, unless a pair is given."""
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def moments(x: Array, axis: int) -> tuple[Array, Array]:
    """Mean and (biased) variance of each channel, the channels lying along an axis."""
    others = tuple(a for a in range(x.ndim) if a not in axes_of(x, axis))
    if x.size == 0:
        raise ValueError("the statistics of an empty batch are not defined")
    return x.mean(axis=others), x.var(axis=others)


def _check_batch_norm(
    x: Array, gamma: Any, beta: Any, *, axis: int = 1, statistics: Any = None, eps: float = 1e-5, frozen: bool = False
) -> None:
    (channels,) = (x.shape[a] for a in axes_of(x, axis))
    for vector in (gamma, beta, *(statistics or ())):
        if vector is not None and vector.shape != (channels,):
            raise ValueError(f"expected a number for each of {channels} channels, given {vector.shape}")


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

    statistics = (μ, σ²) are the batch's own moments(x, axis) unless given.  If frozen they are constants, as in
    evaluation; otherwise they count as functions of x, and the gradient is that of layer_norm with other axes.
    """
    xp, (axis,) = array_module(x), axes_of(x, axis)
    others = tuple(a for a in range(x.ndim) if a != axis)
    along = [1] * x.ndim
    along[axis] = x.shape[axis]
    mean, variance = (s.astype(x.dtype).reshape(along) for s in (statistics or moments(x, axis)))
    inverse = 1 / xp.sqrt(variance + eps)
    normal = (x - mean) * inverse
    y = normal if gamma is None else normal * gamma.reshape(along)
    y = y if beta is None else y + beta.reshape(along)

    n = x.size // max(x.shape[axis], 1)  # numbers in a channel

    def pull(g: Array) -> tuple[Array, Array, Array]:
        ggamma, gbeta = (g * normal).sum(axis=others), g.sum(axis=others)
        h = g
        if not frozen:
            h = g - gbeta.reshape(along) / n - normal * ggamma.reshape(along) / n
        return h * (inverse if gamma is None else inverse * gamma.reshape(along)), ggamma, gbeta

    return y, pull
