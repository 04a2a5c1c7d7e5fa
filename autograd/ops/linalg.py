"""Products of matrices: the ops in which a network spends its time."""

from __future__ import annotations

import math

from autograd import forms
from autograd.backend import Array, array_module
from autograd.fast import rows as fast
from autograd.kernels import ops as kernels
from autograd.kernels import products
from autograd.ops.common import once, unbroadcast
from autograd.tape import Result, op


@op
def matmul(x: Array, y: Array) -> Result:
    """z = x y          gx = g yᵀ,   gy = xᵀ g

    The last two axes are matrices, all others batches that broadcast.  As in NumPy a vector on the left is a row, one
    on the right a column, and the axis so added is dropped from the result.
    """
    xp = array_module(x, y)
    if 0 in (getattr(x, "ndim", 0), getattr(y, "ndim", 0)):
        raise ValueError("a matrix product needs vectors or matrices; use * for a product with a number")
    if x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        raise ValueError("the last dimension of the left one must be as long as the columns of the right one")
    if forms.fast(x, y) and x.ndim > y.ndim == 3 and x.shape[-3] == y.shape[0] and x.size and y.size:
        return fast.matmul(x, y)
    row, column, shapes = x.ndim == 1, y.ndim == 1, (x.shape, y.shape)
    left = x[None, :] if row else x  # (..., n, d)
    right = y[:, None] if column else y  # (..., d, e)
    flat = left.shape, right.shape

    product = products.matmul if forms.fused(x, y) else xp.matmul

    def matrices(g: Array) -> Array:
        g = xp.expand_dims(g, -1) if column else g
        return xp.expand_dims(g, -2) if row else g

    def gx(g: Array) -> Array:
        return unbroadcast(product(matrices(g), right.swapaxes(-1, -2)), flat[0]).reshape(shapes[0])

    def gy(g: Array) -> Array:
        return unbroadcast(product(left.swapaxes(-1, -2), matrices(g)), flat[1]).reshape(shapes[1])

    return product(x, y) if min(x.ndim, y.ndim) > 1 else x @ y, (gx, gy)


@op
def einsum(subscripts: str, x: Array, y: Array) -> Result:
    """z = einsum("ij,jk->ik", x, y): multiply where letters agree, sum over those that the result does not name

    The derivative is an einsum too: gx takes g's letters and y's to x's.  Letters that x has to itself and that were
    summed away are in neither, so gx is constant along them and is broadcast.
    """
    xp = array_module(x, y)
    if not isinstance(subscripts, str):
        raise TypeError("einsum takes its subscripts first: einsum('ij,jk->ik', x, y)")
    subscripts = subscripts.replace(" ", "")
    inputs, arrow, output = subscripts.partition("->")
    operands = inputs.split(",")
    if not arrow:  # NumPy's rule: the letters that occur once, in the order of the alphabet
        output = "".join(sorted(a for a in set(inputs) - {","} if inputs.count(a) == 1))
    if len(operands) != 2 or "." in subscripts or any(len(set(s)) < len(s) for s in operands):
        raise ValueError(
            f"{subscripts!r}: einsum takes two operands, without an ellipsis or a letter repeated in one operand"
        )
    a, b = operands
    if any(
        x.shape[a.index(s)] != y.shape[b.index(s)] for s in set(a) & set(b) if len(a) == x.ndim and len(b) == y.ndim
    ):
        raise ValueError(f"{subscripts!r}: a letter that both operands have must have the same length in both")
    z = xp.einsum(f"{a},{b}->{output}", x, y)
    shapes = x.shape, y.shape

    def pull(g: Array, mine: str, other: Array, others: str, shape: tuple[int, ...]) -> Array:
        known = "".join(letter for letter in mine if letter in output + others)
        gx = xp.einsum(f"{output},{others}->{known}", g, other)
        gaps = tuple(i for i, letter in enumerate(mine) if letter not in known)
        return xp.broadcast_to(xp.expand_dims(gx, gaps), shape)

    return z, (None, lambda g: pull(g, a, y, b, shapes[0]), lambda g: pull(g, b, x, a, shapes[1]))


@op
def linear(x: Array, weight: Array, bias: Array | None = None, *, relu: bool = False) -> Result:
    """y = x W + b          gx = g Wᵀ,   gW = xᵀ g,   gb = Σ g   (summed over all rows)

    x is (..., d_in), W (d_in, d_out), b (d_out,).  All rows of all sets form one tall matrix, for one large product
    instead of a small one for each set.  With relu=True y = max(x W + b, 0), and g is first multiplied by [y > 0].
    """
    if getattr(x, "ndim", 0) == 0 or getattr(weight, "ndim", 0) != 2 or x.shape[-1] != weight.shape[0]:
        raise ValueError("expected x (..., d_in) and a weight (d_in, d_out) that agree in d_in")
    d_in, d_out = weight.shape
    if bias is not None and bias.shape != (d_out,):
        raise ValueError(f"expected a bias of shape ({d_out},), given {bias.shape}")
    if forms.fast(x, weight, bias) and x.size and d_out:
        return fast.linear(x, weight, bias, relu)
    if forms.fused(x, weight, bias) and x.size and d_out:
        return kernels.linear(x, weight, bias, relu)
    shape, rows = x.shape, math.prod(x.shape[:-1])
    flat = x.reshape(rows, d_in)
    y = flat @ weight
    if bias is not None:
        y += bias
    if relu:
        y = array_module(x).maximum(y, 0)

    opened = y > 0 if relu else None

    @once
    def passed(g: Array) -> Array:
        g = g.reshape(rows, d_out)
        return g if opened is None else g * opened

    return y.reshape(*shape[:-1], d_out), (
        lambda g: (passed(g) @ weight.T).reshape(shape),
        lambda g: flat.T @ passed(g),
        lambda g: passed(g).sum(axis=0),
    )
