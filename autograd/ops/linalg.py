"""Matrix products and einsum."""

from __future__ import annotations

from autograd.backend import Array, array_module
from autograd.registry import checked_by
from autograd.tape import Result, op


def _check_matmul(x: Array, y: Array) -> None:
    if 0 in (getattr(x, "ndim", 0), getattr(y, "ndim", 0)):
        raise ValueError("a matrix product needs vectors or matrices; use * for a product with a number")
    if x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        raise ValueError("the last dimension of the left operand must equal the number of rows of the right operand")


@op
@checked_by(_check_matmul)
def matmul(x: Array, y: Array) -> Result:
    """z = x y          gx = g yᵀ,   gy = xᵀ g

    The last two axes are matrices, all others are batch axes that broadcast.  As in NumPy, a vector on the left is a
    row, one on the right a column, and the axis added for it is dropped from the result.
    """
    xp = array_module(x, y)
    row, column = x.ndim == 1, y.ndim == 1

    def matrices(g: Array) -> Array:
        g = xp.expand_dims(g, -1) if column else g
        return xp.expand_dims(g, -2) if row else g

    def gx(g: Array) -> Array:
        gx = matrices(g) @ (y[:, None] if column else y).swapaxes(-1, -2)
        return gx[..., 0, :] if row else gx

    def gy(g: Array) -> Array:
        gy = (x[None, :] if row else x).swapaxes(-1, -2) @ matrices(g)
        return gy[..., 0] if column else gy

    return x @ y, (gx, gy)


def _check_einsum(subscripts: str, x: Array, y: Array) -> None:
    a, b, _ = _letters(subscripts)
    if (len(a), len(b)) != (x.ndim, y.ndim):
        raise ValueError(f"{subscripts!r}: expected one letter per axis, {x.ndim} and {y.ndim}")
    if any(x.shape[a.index(s)] != y.shape[b.index(s)] for s in set(a) & set(b)):
        raise ValueError(f"{subscripts!r}: an axis that both operands share must have the same length in both")


def _letters(subscripts: str) -> tuple[str, str, str]:
    """The letters of the two operands and of the output."""
    subscripts = subscripts.replace(" ", "")
    inputs, arrow, output = subscripts.partition("->")
    operands = inputs.split(",")
    if not arrow:  # NumPy's rule: the letters that occur once, in alphabetical order
        output = "".join(sorted(a for a in set(inputs) - {","} if inputs.count(a) == 1))
    if len(operands) != 2 or "." in subscripts or any(len(set(s)) < len(s) for s in operands):
        raise ValueError(
            f"{subscripts!r}: einsum takes two operands, without an ellipsis or a letter repeated in one operand"
        )
    return operands[0], operands[1], output


@op
@checked_by(_check_einsum)
def einsum(subscripts: str, x: Array, y: Array) -> Result:
    """z = einsum("ij,jk->ik", x, y): multiply where letters agree, sum over letters that are not in the output

    The derivative is an einsum too: gx maps the letters of g and y to those of x.  A letter that only x has and that
    was summed over occurs in neither, so gx is constant along it and is broadcast.
    """
    xp = array_module(x, y)
    a, b, output = _letters(subscripts)
    z = xp.einsum(f"{a},{b}->{output}", x, y)
    shapes = x.shape, y.shape

    def pull(g: Array, letters: str, other: Array, other_letters: str, shape: tuple[int, ...]) -> Array:
        kept = "".join(letter for letter in letters if letter in output + other_letters)
        gx = xp.einsum(f"{output},{other_letters}->{kept}", g, other)
        missing = tuple(i for i, letter in enumerate(letters) if letter not in kept)
        return xp.broadcast_to(xp.expand_dims(gx, missing), shape)

    return z, (None, lambda g: pull(g, a, y, b, shapes[0]), lambda g: pull(g, b, x, a, shapes[1]))
