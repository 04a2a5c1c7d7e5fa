"""Convolution of images as one matrix product."""

from __future__ import annotations

from autograd import forms
from autograd.backend import Array, array_module, as_strided
from autograd.fast import images as fast
from autograd.tape import Result, op


@op
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
    (sr, sc), (pr, pc) = _pair(stride), _pair(padding)
    if x.ndim != 4 or weight.ndim != 4 or x.shape[1] != weight.shape[1]:
        raise ValueError("expected images (N, C_in, H, W) and a weight (C_out, C_in, kh, kw) that agree in C_in")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"expected a bias of shape {weight.shape[:1]}, given {bias.shape}")
    if min(sr, sc) < 1 or min(pr, pc) < 0:
        raise ValueError(f"expected a stride of at least 1 and a padding of at least 0, given {stride}, {padding}")
    (N, C_in, H, W), (C_out, _, kh, kw) = x.shape, weight.shape
    H, W = H + 2 * pr, W + 2 * pc
    R, C = (H - kh) // sr + 1, (W - kw) // sc + 1
    if R < 1 or C < 1:
        raise ValueError(f"the kernel of {kh}×{kw} is larger than the padded image of {H}×{W}")
    if forms.fast(x, weight, bias) and x.size and weight.size:
        return fast.conv2d(x, weight, bias, (sr, sc), (pr, pc))
    padded = xp.pad(x, ((0, 0), (0, 0), (pr, pr), (pc, pc)))

    image, channel, row, column = padded.strides
    windows = as_strided(padded, (N, R, C, C_in, kh, kw), (image, row * sr, column * sc, channel, row, column))
    rows = windows.reshape(N * R * C, C_in * kh * kw)  # a copy: each pixel stands in up to kh · kw rows
    kernel = weight.reshape(C_out, C_in * kh * kw)
    y = rows @ kernel.T
    if bias is not None:
        y += bias

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


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)
