"""Elementwise functions, and conversions to another dtype or device."""

from __future__ import annotations

from typing import Any

from autograd import backend
from autograd.backend import Array, array_module
from autograd.registry import any_dtype, integer_arithmetic
from autograd.tape import Result, op


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
@integer_arithmetic
def abs(x: Array) -> Result:
    """y = |x|          gx = g ⊙ sign x   (0 at x = 0)"""
    xp = array_module(x)
    return xp.abs(x), lambda g: g * xp.sign(x)


@op
def tanh(x: Array) -> Result:
    """y = tanh x          gx = g ⊙ (1 − y²)"""
    y = array_module(x).tanh(x)
    return y, lambda g: g * (1 - y * y)


@op
def sigmoid(x: Array) -> Result:
    """y = σ(x) = 1 / (1 + e⁻ˣ)          gx = g ⊙ σ(x) σ(−x), since 1 − σ(x) loses all precision where σ(x) is near 1"""
    y = logistic(x)
    return y, lambda g: g * y * logistic(-x)


def logistic(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), written so that no exponential overflows: e^−|x| is at most 1."""
    xp = array_module(x)
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1, e) / (1 + e)


@op
def softplus(x: Array) -> Result:
    """y = log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|)          gx = g ⊙ sigmoid x"""
    xp = array_module(x)
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x))), lambda g: g * logistic(x)


@op
@any_dtype
def clip(x: Array, low: Array | None = None, high: Array | None = None) -> Result:
    """y = min(max(x, low), high)          gx = g ⊙ [low ≤ x ≤ high];  a bound receives g where y is the bound, not x"""
    xp = array_module(x, low, high)
    raised = x if low is None else xp.maximum(x, low)
    y = raised if high is None else xp.minimum(raised, high)
    return y, (lambda g: g * (x == y), lambda g: g * ((x < low) & (raised == y)), lambda g: g * (raised > high))


@op
@any_dtype
def astype(x: Array, *, dtype: Any) -> Result:
    """y = x in another dtype          gx = g in x's dtype"""
    original = x.dtype  # only the dtype, so that backward does not keep x alive
    return x.astype(dtype), lambda g: g.astype(original)


@op
@any_dtype
def to_device(x: Array, *, device: str) -> Result:
    """y = x on another device          gx = g on x's device"""
    original = backend.device_of(x)
    return backend.to_device(x, device), lambda g: backend.to_device(g, original)
