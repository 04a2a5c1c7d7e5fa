"""Ops that treat every element alike.  Where inputs broadcast, @broadcasting takes care of the adjoint of that."""

from __future__ import annotations

from typing import Any

from autograd import backend
from autograd.backend import Array, array_module
from autograd.ops.common import broadcasting
from autograd.tape import Result, op

# ---- arithmetic -----------------------------------------------------------------------------------------------------


@op
@broadcasting
def add(x: Array, y: Array) -> Result:
    """z = x + y          gx = g,   gy = g"""
    return x + y, (lambda g: g, lambda g: g)


@op
@broadcasting
def subtract(x: Array, y: Array) -> Result:
    """z = x − y          gx = g,   gy = −g"""
    return x - y, (lambda g: g, lambda g: -g)


@op
@broadcasting
def multiply(x: Array, y: Array) -> Result:
    """z = x ⊙ y          gx = g ⊙ y,   gy = g ⊙ x"""
    return x * y, (lambda g: g * y, lambda g: g * x)


@op
@broadcasting
def divide(x: Array, y: Array) -> Result:
    """z = x / y          gx = g / y,   gy = −g z / y"""
    z = x / y
    return z, (lambda g: g / y, lambda g: -g * z / y)


@op
def negative(x: Array) -> Result:
    """y = −x          gx = −g"""
    return -x, lambda g: -g


@op
@broadcasting
def power(x: Array, y: Array) -> Result:
    """z = xʸ          gx = g y xʸ⁻¹,   gy = g z log x

    At the two places where these read 0 · ∞ the limit is meant: gx = 0 where y = 0, and gy = 0 where x = 0.
    """
    xp = array_module(x, y)
    if not backend.is_array(x) or x.dtype.kind == "b":
        x = xp.asarray(x, dtype=y.dtype)  # 2 ** y: the logarithm of a Python number, or boolean, would be float64
    if backend.is_array(y) and y.dtype.kind == "b":
        y = y.astype(x.dtype)
    z = x**y

    def gx(g: Array) -> Array:
        number = isinstance(y, int | float) and y != 0  # x ** 2, nearly always: nothing to look out for
        base = x if number else xp.where(xp.asarray(y == 0), 1, x)
        return g * y * base ** (y - 1)

    return z, (gx, lambda g: g * z * xp.log(xp.where(x == 0, 1, x)))


# ---- functions of one input -----------------------------------------------------------------------------------------


@op
def exp(x: Array) -> Result:
    """y = eˣ          gx = g ⊙ y"""
    y = array_module(x).exp(x)
    return y, lambda g: g * y


@op
def log(x: Array) -> Result:
    """y = log x          gx = g / x"""
    return array_module(x).log(x), lambda g: g / x


@op
def sqrt(x: Array) -> Result:
    """y = √x          gx = g / 2y"""
    y = array_module(x).sqrt(x)
    return y, lambda g: g / (2 * y)


@op
def abs(x: Array) -> Result:
    """y = |x|          gx = g ⊙ sign x   (0 at x = 0)"""
    xp = array_module(x)
    return xp.abs(x), lambda g: g * xp.sign(x)


@op
def tanh(x: Array) -> Result:
    """y = tanh x          gx = g ⊙ (1 − y²)"""
    y = array_module(x).tanh(x)
    return y, lambda g: g * (1 - y * y)


def logistic(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), written so that no exponential overflows: e^−|x| is at most 1."""
    xp = array_module(x)
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1, e) / (1 + e)


@op
def sigmoid(x: Array) -> Result:
    """y = σ(x) = 1 / (1 + e⁻ˣ)          gx = g ⊙ σ(x) σ(−x), as 1 − σ(x) has no digits left where σ(x) is nearly 1"""
    y = logistic(x)
    return y, lambda g: g * y * logistic(-x)


@op
def softplus(x: Array) -> Result:
    """y = log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|)          gx = g ⊙ sigmoid x"""
    xp = array_module(x)
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x))), lambda g: g * logistic(x)


@op
def relu(x: Array) -> Result:
    """y = max(x, 0)          gx = g ⊙ [x > 0]"""
    y = array_module(x).maximum(x, 0)
    return y, lambda g: g * (y > 0)


# ---- choosing -------------------------------------------------------------------------------------------------------


@op
@broadcasting
def maximum(x: Array, y: Array) -> Result:
    """z = max(x, y)          gx = g ⊙ [x > y],   gy = g ⊙ [y > x]   (half each where x = y)"""
    z = array_module(x, y).maximum(x, y)
    return z, (lambda g: g * (x > y) + g * 0.5 * (x == y), lambda g: g * (y > x) + g * 0.5 * (x == y))


@op
@broadcasting
def minimum(x: Array, y: Array) -> Result:
    """z = min(x, y)          gx = g ⊙ [x < y],   gy = g ⊙ [y < x]   (half each where x = y)"""
    z = array_module(x, y).minimum(x, y)
    return z, (lambda g: g * (x < y) + g * 0.5 * (x == y), lambda g: g * (y < x) + g * 0.5 * (x == y))


@op
@broadcasting
def where(condition: Array, x: Array, y: Array) -> Result:
    """z = x where the condition holds, y elsewhere; each receives g where it was chosen and 0 where not"""
    xp = array_module(condition, x, y)
    return xp.where(condition, x, y), (None, lambda g: xp.where(condition, g, 0), lambda g: xp.where(condition, 0, g))


@op
def clip(x: Array, *, low: float | None = None, high: float | None = None) -> Result:
    """y = min(max(x, low), high)          gx = g ⊙ [low ≤ x ≤ high]"""
    y = array_module(x).clip(x, low, high)
    return y, lambda g: g * (x == y)


@op
def disregard(x: Array, unused: Array) -> Result:
    """y = x          gx = g,   gunused = 0: for a parameter that plays no part, and whose gradient should say so"""
    zero = array_module(unused).zeros_like(unused)
    return x, (lambda g: g, lambda g: zero)


# ---- the same numbers elsewhere -------------------------------------------------------------------------------------


@op
def astype(x: Array, *, dtype: Any) -> Result:
    """y = x in another dtype          gx = g in x's dtype"""
    before = x.dtype  # the dtype alone, so that backward does not keep x alive
    return x.astype(dtype), lambda g: g.astype(before)


@op
def to_device(x: Array, *, device: str) -> Result:
    """y = x on another device          gx = g on x's device"""
    home = backend.device_of(x)
    return backend.to_device(x, device), lambda g: backend.to_device(g, home)
