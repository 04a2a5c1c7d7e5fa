"""Ops that rearrange elements without changing them.  Their derivatives move the gradients back."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from autograd.backend import Array, array_module, is_array, scatter_add
from autograd.ops.reduce import axis_of
from autograd.registry import any_dtype, checked_by, composite
from autograd.tape import Result, Tensor, op


@op
@any_dtype
def reshape(x: Array, *, shape: int | tuple[int, ...]) -> Result:
    """The same elements in the same order with another shape, in which one length may be −1."""
    original = x.shape
    return x.reshape(shape), lambda g: g.reshape(original)


@op
@any_dtype
def transpose(x: Array, *, axes: Sequence[int] | None = None) -> Result:
    """Axis i of the result is axis axes[i] of x; the default reverses the axes."""
    axes = tuple(reversed(range(x.ndim)) if axes is None else axes)
    y = x.transpose(axes)
    inverse = tuple(axes.index(i) if i in axes else axes.index(i - x.ndim) for i in range(x.ndim))
    return y, lambda g: g.transpose(inverse)


@op
@any_dtype
def swapaxes(x: Array, *, axis1: int, axis2: int) -> Result:
    """x with two axes swapped."""
    return x.swapaxes(axis1, axis2), lambda g: g.swapaxes(axis1, axis2)


@op
@any_dtype
def broadcast_to(x: Array, *, shape: tuple[int, ...]) -> Result:
    """x copied along new axes and axes of length 1          gx = Σ of g over the copies"""
    return array_module(x).broadcast_to(x, shape), lambda g: g  # backward sums over the copies


def _check_concatenate(*xs: Array, axis: int = 0) -> None:
    for x in xs:
        axis_of(x, axis)


@op
@checked_by(_check_concatenate)
@any_dtype
def concatenate(xs: Sequence[Array], *, axis: int = 0) -> Result:
    """The inputs joined along an axis          each receives its part of g"""
    xp, ends = array_module(*xs), np.cumsum([x.shape[axis] for x in xs])[:-1].tolist()
    return xp.concatenate(xs, axis=axis), lambda g: xp.split(g, ends, axis=axis)


def _check_stack(*xs: Array, axis: int = 0) -> None:
    axis_of(xs[0][None], axis)


@op
@checked_by(_check_stack)
@any_dtype
def stack(xs: Sequence[Array], *, axis: int = 0) -> Result:
    """The inputs joined along a new axis          each receives its slice of g"""
    xp, count = array_module(*xs), len(xs)
    return xp.stack(xs, axis=axis), lambda g: [xp.take(g, i, axis=axis) for i in range(count)]


@composite
def split(x: Any, sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """x split along an axis into equal sections or at the given indices, as a list; the inverse of concatenate."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    try:
        axis = axis_of(x, axis)
        sections = sections if isinstance(sections, int | np.integer) else [operator.index(i) for i in sections]
    except (TypeError, ValueError) as error:
        raise type(error)(f"split of {x.shape} into {sections}: {error}") from None
    length = x.shape[axis]
    if isinstance(sections, int | np.integer):
        if sections < 1 or length % sections:
            raise ValueError(f"split of {x.shape}: length {length} of axis {axis} does not divide into {sections}")
        sections = range(length // sections, length, length // sections) if length else [0] * (sections - 1)
    edges = [0, *sections, length]
    if edges != sorted(edges):
        raise ValueError(f"split of {x.shape}: indices must be sorted and in 0 … {length}, given {list(sections)}")
    before = (slice(None),) * axis
    return [getitem(x, index=(*before, slice(a, b))) for a, b in pairwise(edges)]


@op
@any_dtype
def getitem(x: Array, *, index: Any) -> Result:
    """y = x[index]          gx = 0 everywhere but gx[index] += g

    The index may contain slices, integers, integer arrays and boolean masks.  An element that an integer array selects
    twice receives both gradients; the others select no element twice, so plain assignment is enough.
    """
    xp, shape, dtype = array_module(x), x.shape, x.dtype
    parts = index if isinstance(index, tuple) else (index,)
    repeats = not all(_selects_once(part) for part in parts)

    def vjp(g: Array) -> Array:
        gx = xp.zeros(shape, dtype)
        if repeats:
            scatter_add(gx, index, g)
        else:
            gx[index] = g
        return gx

    return x[index], vjp


def _selects_once(part: Any) -> bool:
    """Whether this part of an index selects each element at most once."""
    return part is None or part is Ellipsis or isinstance(part, int | slice) or (is_array(part) and part.dtype == bool)


@op
@any_dtype
def pad(x: Array, *, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Result:
    """x with widths[i] = (before, after) copies of the value around it on axis i          gx = g without them"""
    if not isinstance(widths, list | tuple) or len(widths) != x.ndim or any(np.shape(w) != (2,) for w in widths):
        raise ValueError(f"expected a pair of widths for each of {x.ndim} axes, given {widths}")
    with np.errstate(invalid="ignore"):  # nan as an integer
        if x.dtype.kind != "f" and np.asarray(value).astype(x.dtype) != value:
            raise TypeError(f"{x.dtype} cannot hold the value {value}: convert x with .astype")
    inside = tuple(slice(before, before + size) for (before, _), size in zip(widths, x.shape, strict=True))
    return array_module(x).pad(x, widths, constant_values=value), lambda g: g[inside]
