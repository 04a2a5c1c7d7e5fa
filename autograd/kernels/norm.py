"""Layer normalisation of a sum, and its gradient: the end of each half of a MAB.

    s = x + r,   r = p + b  or  max(p + b, 0)          ŝ = (s − mean s) / √(var s + ε)          y = γ ⊙ ŝ + β

    gs = (h − mean h − ŝ ⊙ mean(h ⊙ ŝ)) / √(var s + ε)  with h = γ ⊙ g          gp = gs, or gs where the ReLU was open
    gγ = Σ g ⊙ ŝ,     gβ = Σ g,     gb = Σ gp          over the rows

All of r, b, the ReLU, γ and β may be left out: then it is a plain layer norm.

Threads: a warp for each row, which it keeps in shared memory from its first reading to its last writing; mean,
variance and their likes are joined by shuffles.  Backward is the same; a warp takes row after row and adds what each
contributes to gγ, gβ and gb to sums of its own in shared memory, the warps of a block add theirs, and a second launch
adds those of the blocks.  Nothing is added by atomics: the order of every sum is fixed.

Bytes, of a float32: forward reads x and p and writes ŝ and y, 16 for each number (and 1 for the ReLU), where CuPy's own
operations take 80.  Backward reads g and ŝ and writes gs (and gp): 12 to 17, instead of 70.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import DTYPES, Raw, cuda_name, kernel, or_nothing

WIDEST = 1024  # numbers in a row: backward keeps five times as many in shared memory, 40 KiB in float64
SHARED = 48 * 1024  # bytes that a block may have on every GPU
BLOCKS = 256  # in backward at most, so that there are few sums of blocks left to add

CODE = Raw(
    ("warp.cu", "norm.cu"),
    lambda dtype: [f"norm_{way}<{DTYPES[dtype]}>" for way in ("forward", "backward")],
)


def forward_reference(
    x: Array, p: Array | None, bias: Array | None, gamma: Array | None, beta: Array | None, relu: bool, eps: float
) -> tuple[Array, Array, Array, Array | None]:
    if p is None:
        s, opened = x, None
    else:
        r = p if bias is None else p + bias
        s, opened = (x + np.maximum(r, 0), r > 0) if relu else (x + r, None)
    centred = s - s.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=-1) + s.dtype.type(eps))
    normal = centred * inverse[:, None]
    y = normal * (1 if gamma is None else gamma) + (0 if beta is None else beta)
    return y, normal, inverse, opened


def backward_reference(
    g: Array, normal: Array, inverse: Array, gamma: Array | None, opened: Array | None
) -> tuple[Array, Array, Array]:
    h = g if gamma is None else g * gamma
    along = (h * normal).mean(axis=-1, keepdims=True)
    gs = (h - h.mean(axis=-1, keepdims=True) - normal * along) * inverse[:, None]
    gp = gs if opened is None else np.where(opened, gs, 0)
    return gs, gp, np.stack([(g * normal).sum(axis=0), g.sum(axis=0), gp.sum(axis=0)])


@kernel(forward_reference, CODE, sizes="any rows of 1 to 1024 numbers")
def norm_forward(
    x: Array, p: Array | None, bias: Array | None, gamma: Array | None, beta: Array | None, relu: bool, eps: float
) -> tuple[Array, Array, Array, Array | None]:
    """y, ŝ (rows, d), 1/√(var s + ε) (rows,), and where the ReLU is open, from x and p (rows, d)"""
    xp, (rows, d) = array_module(x), x.shape
    x, p = xp.ascontiguousarray(x), None if p is None else xp.ascontiguousarray(p)
    y, normal, inverse = xp.empty_like(x), xp.empty_like(x), xp.empty(rows, x.dtype)
    opened = xp.empty(x.shape, bool) if relu else None
    given = (x, or_nothing(p), or_nothing(bias), or_nothing(gamma), or_nothing(beta))
    made, warps = (y, normal, inverse, or_nothing(opened)), _warps(x, 1)
    blocks, shared = -(-rows // warps), warps * d * x.itemsize
    CODE(f"norm_forward<{cuda_name(x)}>", blocks, 32 * warps, (*given, *made, rows, d, eps), shared)
    return y, normal, inverse, opened


@kernel(backward_reference, CODE, sizes="any rows of 1 to 1024 numbers")
def norm_backward(
    g: Array, normal: Array, inverse: Array, gamma: Array | None, opened: Array | None
) -> tuple[Array, Array, Array]:
    """gs and gp (rows, d), and gγ, gβ and gb as (3, d)"""
    xp, (rows, d) = array_module(g), g.shape
    warps = _warps(g, 5)
    blocks, shared = min(-(-rows // warps), BLOCKS), warps * 5 * d * g.itemsize
    gs, gp = xp.empty_like(normal), None if opened is None else xp.empty_like(normal)
    sums = xp.empty((blocks, 3, d), g.dtype)
    given = (xp.ascontiguousarray(g), normal, inverse, or_nothing(gamma), or_nothing(opened))
    CODE(f"norm_backward<{cuda_name(g)}>", blocks, 32 * warps, (*given, gs, or_nothing(gp), sums, rows, d), shared)
    return gs, gs if gp is None else gp, sums.sum(axis=0)


def _warps(x: Array, rows: int) -> int:
    """Warps in a block, each with shared memory for so many rows."""
    return max(1, min(8, SHARED // (rows * x.shape[-1] * x.itemsize)))
