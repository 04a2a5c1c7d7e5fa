"""Arithmetic, and choosing between values.

Shapes broadcast as in NumPy.  The derivatives here can ignore that: backward sums the gradients of copies (tape.py).
"""

from __future__ import annotations

from autograd import backend
from autograd.backend import Array, array_module
from autograd.registry import any_dtype, integer_arithmetic
from autograd.tape import Result, op


@op
@integer_arithmetic
def add(x: Array, y: Array) -> Result:
    """z = x + y          gx = g,   gy = g"""
    return x + y, (lambda g: g, lambda g: g)


@op
@integer_arithmetic
def subtract(x: Array, y: Array) -> Result:
    """z = x − y          gx = g,   gy = −g"""
    return x - y, (lambda g: g, lambda g: -g)


@op
@integer_arithmetic
def multiply(x: Array, y: Array) -> Result:
    """z = x ⊙ y          gx = g ⊙ y,   gy = g ⊙ x"""
    return x * y, (lambda g: g * y, lambda g: g * x)


@op
def divide(x: Array, y: Array) -> Result:
    """z = x / y          gx = g / y,   gy = −g z / y"""
    z = x / y
    return z, (lambda g: g / y, lambda g: -g * z / y)


@op
@integer_arithmetic
def negative(x: Array) -> Result:
    """y = −x          gx = −g"""
    return -x, lambda g: -g


@op
def power(x: Array, y: Array) -> Result:
    """z = xʸ          gx = g y xʸ⁻¹,   gy = g z log x

    In the two cases of 0 · ∞ the limit is taken: gx = 0 where y = 0, and gy = 0 where x = 0.
    """
    xp = array_module(x, y)
    if not backend.is_array(x):
        x = xp.asarray(x, dtype=y.dtype)  # 2 ** y: the log of a Python number would be float64
    z = x**y

    def gx(g: Array) -> Array:
        never_zero = isinstance(y, int | float) and y != 0  # x ** 2, the usual case: no 0 · ∞ to avoid
        base = x if never_zero else xp.where(xp.asarray(y == 0), 1, x)
        return g * y * base ** (y - 1)

    return z, (gx, lambda g: g * xp.where(x == 0, 0, z) * xp.log(xp.where(x == 0, 1, x)))


@op
@any_dtype
def maximum(x: Array, y: Array) -> Result:
    """z = max(x, y)          gx = g ⊙ [x > y],   gy = g ⊙ [y > x]   (half each where x = y)"""
    z = array_module(x, y).maximum(x, y)
    return z, (lambda g: g * (x > y) + g * 0.5 * (x == y), lambda g: g * (y > x) + g * 0.5 * (x == y))


@op
@any_dtype
def minimum(x: Array, y: Array) -> Result:
    """z = min(x, y)          gx = g ⊙ [x < y],   gy = g ⊙ [y < x]   (half each where x = y)"""
    z = array_module(x, y).minimum(x, y)
    return z, (lambda g: g * (x < y) + g * 0.5 * (x == y), lambda g: g * (y < x) + g * 0.5 * (x == y))


@op
@any_dtype
def where(condition: Array, x: Array, y: Array) -> Result:
    """z = x where the condition holds, y elsewhere; each receives g where it was chosen and 0 elsewhere"""
    xp = array_module(condition, x, y)
    return xp.where(condition, x, y), (None, lambda g: xp.where(condition, g, 0), lambda g: xp.where(condition, 0, g))
