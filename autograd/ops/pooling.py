"""Pooling a set to a vector, with masks; and dropout.  As everywhere, masked elements have no effect."""

from __future__ import annotations

import math

import numpy as np

from autograd.backend import Array, array_module, to_device_of
from autograd.ops.nn import require_mask
from autograd.ops.reduce import axes_of, axis_of, drop_axes
from autograd.registry import checked_by
from autograd.tape import Result, op


def _check_pool(x: Array, *, axis: int = -2, mask: Array | None = None) -> None:
    axis = axis_of(x, axis)
    if mask is not None:
        require_mask(mask, x.shape[: axis + 1])


def _valid(x: Array, axis: int, mask: Array | None) -> Array:
    """The mask, of shape x.shape[: axis + 1], reshaped to broadcast against x; all True if there is none."""
    shape = x.shape[: axis + 1]
    mask = array_module(x).ones(shape, dtype=bool) if mask is None else mask
    return mask.reshape(shape + (1,) * (x.ndim - len(shape)))


@op
@checked_by(_check_pool)
def mean_pool(x: Array, *, axis: int = -2, mask: Array | None = None) -> Result:
    """y = Σ x / n over the n valid elements of an axis; 0 for an empty set          gx = g / n where valid"""
    xp, axes = array_module(x), axes_of(x, (axis,))
    valid = _valid(x, axes[0], mask)
    n = xp.maximum(valid.sum(axis=axes, keepdims=True), 1).astype(x.dtype)
    y = xp.where(valid, x, 0).sum(axis=axes, keepdims=True) / n
    return drop_axes(y, axes, False, lambda g: xp.where(valid, g / n, 0))


@op
@checked_by(_check_pool)
def max_pool(x: Array, *, axis: int = -2, mask: Array | None = None) -> Result:
    """y = max x over the valid elements of an axis; 0 for an empty set          gx = g where x = y, in equal parts"""
    xp, axes = array_module(x), axes_of(x, (axis,))
    valid = _valid(x, axes[0], mask)
    if x.shape[axes[0]] == 0:
        return drop_axes(x.sum(axis=axes, keepdims=True), axes, False, lambda g: xp.zeros_like(x))
    x = xp.where(valid, x, -math.inf)
    y = xp.where(valid.any(axis=axes, keepdims=True), x.max(axis=axes, keepdims=True), 0)

    def vjp(g: Array) -> Array:
        is_max = (x == y) & valid
        ties = xp.maximum(is_max.sum(axis=axes, keepdims=True), 1).astype(g.dtype)
        return xp.where(is_max, g / ties, 0)

    return drop_axes(y, axes, False, vjp)


@op
def dropout(x: Array, *, p: float, rng: np.random.Generator) -> Result:
    """y = x ⊙ keep / (1 − p), each element kept with probability 1 − p          gx = g ⊙ keep / (1 − p)

    The random numbers are always sampled on the CPU, so that they are the same on every device.
    """
    if not 0 <= p < 1:
        raise ValueError(f"the probability p of dropping an element must lie in [0, 1), given {p}")
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a generator of random numbers, np.random.default_rng(seed), given {rng!r}")
    if p == 0:
        return x, lambda g: g
    keep = to_device_of(rng.random(x.shape, dtype=x.dtype) >= p, x) * (1 / (1 - p))
    keep = keep.astype(x.dtype)
    return x * keep, lambda g: g * keep
