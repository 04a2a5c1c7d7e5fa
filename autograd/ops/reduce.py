"""Ops that reduce over axes.  Each takes keepdims and an axis: None (all axes), an integer or a tuple."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.backend import Array, array_module
from autograd.ops.functions import sqrt
from autograd.registry import any_dtype, composite
from autograd.tape import Result, Tensor, Vjp, op

Axis = int | tuple[int, ...] | None


def axes_of(x: Array, axis: Axis) -> tuple[int, ...]:
    """The reduced axes as nonnegative integers."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for a in axes:
        if not isinstance(a, int | np.integer):
            raise TypeError(f"an axis must be an integer, given {a!r}")
        if not -x.ndim <= a < x.ndim:
            raise ValueError(f"axis {a} does not exist: the input has {x.ndim} dimension(s)")
    return tuple(a % x.ndim for a in axes)


def axis_of(x: Array, axis: int) -> int:
    """The axis as a nonnegative integer, for ops that take a single one."""
    return axes_of(x, (axis,))[0]


def drop_axes(y: Array, axes: tuple[int, ...], keepdims: bool, vjp: Vjp) -> Result:
    """Drop the reduced axes of y unless keepdims, and restore them in g, so that vjp can broadcast it over x."""
    full = y.shape
    shape = tuple(size for i, size in enumerate(full) if keepdims or i not in axes)
    return y.reshape(shape), lambda g: vjp(g.reshape(full))


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[a] for a in axes)


@op
@any_dtype
def sum(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Result:
    """y = Σ x          gx = g, copied to every term"""
    xp, axes, shape = array_module(x), axes_of(x, axis), x.shape
    return drop_axes(x.sum(axis=axes, keepdims=True), axes, keepdims, lambda g: xp.broadcast_to(g, shape))


@op
def mean(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Result:
    """y = Σ x / n          gx = g / n, copied to every term"""
    xp, axes, shape = array_module(x), axes_of(x, axis), x.shape
    n = _count(x, axes)
    if n == 0:
        raise ValueError("the mean of no elements is undefined; mean_pool with a mask returns 0 for an empty set")
    return drop_axes(x.mean(axis=axes, keepdims=True), axes, keepdims, lambda g: xp.broadcast_to(g / n, shape))


@op
@any_dtype
def max(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Result:
    """y = max x          gx = g where x = y, divided equally among ties"""
    axes = axes_of(x, axis)
    if _count(x, axes) == 0:
        raise ValueError("the maximum of no elements is undefined; max_pool with a mask returns 0 for an empty set")
    y = x.max(axis=axes, keepdims=True)
    return drop_axes(y, axes, keepdims, _extremum_vjp(x, y, axes))


@op
@any_dtype
def min(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Result:
    """y = min x          gx = g where x = y, divided equally among ties"""
    axes = axes_of(x, axis)
    if _count(x, axes) == 0:
        raise ValueError("the minimum of no elements is undefined")
    y = x.min(axis=axes, keepdims=True)
    return drop_axes(y, axes, keepdims, _extremum_vjp(x, y, axes))


def _extremum_vjp(x: Array, y: Array, axes: tuple[int, ...]) -> Vjp:
    def vjp(g: Array) -> Array:
        is_extremum = (x == y).astype(g.dtype)  # ties share g equally, so the gradient does not depend on their order
        return is_extremum * (g / is_extremum.sum(axis=axes, keepdims=True))

    return vjp


@op
def var(x: Array, *, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Result:
    """y = Σ (x − mean x)² / (n − ddof)          gx = g · 2 (x − mean x) / (n − ddof)"""
    axes = axes_of(x, axis)
    n = _count(x, axes) - ddof
    if n <= 0:
        raise ValueError(f"the variance of {n + ddof} element(s) with ddof={ddof} is undefined")
    centered = x - x.mean(axis=axes, keepdims=True)
    y = (centered * centered).sum(axis=axes, keepdims=True) / n
    return drop_axes(y, axes, keepdims, lambda g: g * (2 / n) * centered)


@composite
def std(x: Any, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """y = √(var x)"""
    return sqrt(var(x, axis=axis, keepdims=keepdims, ddof=ddof))


@op
def logsumexp(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Result:
    """y = log Σ eˣ = t + log Σ eˣ⁻ᵗ with t = max x          gx = g ⊙ softmax x

    If there are no elements, or all are −∞, y is −∞ and the gradient 0.
    """
    xp, axes = array_module(x), axes_of(x, axis)
    if x.size == 0:
        y = xp.full_like(x.sum(axis=axes, keepdims=True), -math.inf)
        return drop_axes(y, axes, keepdims, lambda g: xp.zeros_like(x))
    top = x.max(axis=axes, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0)  # ∞ − ∞ would be nan
    e = xp.exp(x - top)
    total = e.sum(axis=axes, keepdims=True)
    is_empty, total = total == 0, xp.where(total == 0, 1, total)
    y = xp.where(is_empty, -math.inf, top + xp.log(total))
    return drop_axes(y, axes, keepdims, lambda g: g * (e / total))
