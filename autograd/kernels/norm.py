"""Layer normalization of a sum, and its gradient: the end of each half of a MAB.

    s = x + r,   r = p + b  or  max(p + b, 0)          ŝ = (s − mean s) / √(var s + ε)          y = γ ⊙ ŝ + β

    gs = (h − mean h − ŝ ⊙ mean(h ⊙ ŝ)) / √(var s + ε)  with h = γ ⊙ g          gp = gs, or gs ⊙ [r > 0]
    gγ = Σ g ⊙ ŝ,     gβ = Σ g,     gb = Σ gp          over the rows

r, b, the ReLU, γ and β are optional: without them it is a plain layer norm.

Threads: one warp per row, which it keeps in shared memory from the first read to the last write; sums over a row, such
as its mean and variance, use shuffles.  Backward is similar: a warp processes one row after another and accumulates
their contributions to gγ, gβ and gb in shared memory; the sums of a block's warps are added at the end, and a second
launch adds those of the blocks.  There are no atomics: the order of every sum is fixed.

Bytes in float32: forward reads x and p and writes ŝ and y, 16 per element (and 1 for the ReLU), where CuPy's own
operations take 80.  Backward reads g and ŝ and writes gs (and gp): 12 to 17, instead of 70.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, Raw, cuda_name, kernel, or_null

WIDEST = 1024  # elements in a row: backward keeps five times as many in shared memory, 40 KiB in float64
SHARED = 48 * 1024  # bytes of shared memory available to a block on every GPU
BLOCKS = 256  # the maximum in backward, so that there are few block sums to add

CODE = Raw(
    ("warp.cu", "norm.cu"),
    lambda dtype: [f"norm_{way}<{DTYPES[dtype]}>" for way in ("forward", "backward")],
)


def forward_reference(
    x: Array, p: Array | None, bias: Array | None, gamma: Array | None, beta: Array | None, relu: bool, eps: float
) -> tuple[Array, Array, Array, Array | None]:
    if p is None:
        s, relu_mask = x, None
    else:
        r = p if bias is None else p + bias
        s, relu_mask = (x + np.maximum(r, 0), r > 0) if relu else (x + r, None)
    centered = s - s.mean(axis=-1, keepdims=True)
    inverse_std = 1 / np.sqrt((centered * centered).mean(axis=-1) + s.dtype.type(eps))
    normalized = centered * inverse_std[:, None]
    y = normalized * (1 if gamma is None else gamma) + (0 if beta is None else beta)
    return y, normalized, inverse_std, relu_mask


def backward_reference(
    g: Array, normalized: Array, inverse_std: Array, gamma: Array | None, relu_mask: Array | None
) -> tuple[Array, Array, Array]:
    h = g if gamma is None else g * gamma
    projection = (h * normalized).mean(axis=-1, keepdims=True)
    gs = (h - h.mean(axis=-1, keepdims=True) - normalized * projection) * inverse_std[:, None]
    gp = gs if relu_mask is None else gs * relu_mask
    return gs, gp, np.stack([(g * normalized).sum(axis=0), g.sum(axis=0), gp.sum(axis=0)])


@kernel(forward_reference, CODE, sizes="any rows of 1 to 1024 elements")
def norm_forward(
    x: Array, p: Array | None, bias: Array | None, gamma: Array | None, beta: Array | None, relu: bool, eps: float
) -> tuple[Array, Array, Array, Array | None]:
    """y, ŝ (rows, d), 1/√(var s + ε) (rows,), and where the ReLU is active, from x and p (rows, d)"""
    xp, (rows, d) = array_module(x), x.shape
    x, p = xp.ascontiguousarray(x), None if p is None else xp.ascontiguousarray(p)
    y, normalized, inverse_std = xp.empty_like(x), xp.empty_like(x), xp.empty(rows, x.dtype)
    relu_mask = xp.empty(x.shape, bool) if relu else None
    inputs = (x, or_null(p), or_null(bias), or_null(gamma), or_null(beta))
    outputs, warps = (y, normalized, inverse_std, or_null(relu_mask)), _warps(x, 1)
    blocks, shared = -(-rows // warps), warps * d * x.itemsize
    CODE(f"norm_forward<{cuda_name(x)}>", blocks, 32 * warps, (*inputs, *outputs, rows, d, eps), shared)
    return y, normalized, inverse_std, relu_mask


@kernel(backward_reference, CODE, sizes="any rows of 1 to 1024 elements")
def norm_backward(
    g: Array, normalized: Array, inverse_std: Array, gamma: Array | None, relu_mask: Array | None
) -> tuple[Array, Array, Array]:
    """gs and gp (rows, d), and gγ, gβ and gb as (3, d)"""
    xp, (rows, d) = array_module(g), g.shape
    warps = _warps(g, 5)
    blocks, shared = min(-(-rows // warps), BLOCKS), warps * 5 * d * g.itemsize
    gs, gp = xp.empty_like(normalized), None if relu_mask is None else xp.empty_like(normalized)
    sums = xp.empty((blocks, 3, d), g.dtype)
    inputs = (xp.ascontiguousarray(g), normalized, inverse_std, or_null(gamma), or_null(relu_mask))
    CODE(f"norm_backward<{cuda_name(g)}>", blocks, 32 * warps, (*inputs, gs, or_null(gp), sums, rows, d), shared)
    return gs, gs if gp is None else gp, sums.sum(axis=0)


def _warps(x: Array, rows: int) -> int:
    """The number of warps in a block, if each needs shared memory for the inputs number of rows."""
    return max(1, min(8, SHARED // (rows * x.shape[-1] * x.itemsize)))
