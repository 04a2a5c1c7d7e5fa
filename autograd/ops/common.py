"""What several ops share: the adjoint of broadcasting, and a memory for work that two derivatives have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autograd.backend import Array
from autograd.tape import Result, Vjp


def unbroadcast(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum g down to a shape that was broadcast to g's: the number that was copied receives every copy's gradient."""
    if g.shape == shape:
        return g
    added = g.ndim - len(shape)
    stretched = (added + i for i, size in enumerate(shape) if size == 1)
    return g.sum(axis=(*range(added), *stretched), keepdims=True).reshape(shape)


def broadcasting(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a pure elementwise function the adjoint of broadcasting, so that its vjps need not think of shapes."""

    @functools.wraps(function)
    def broadcast(*inputs: Any, **settings: Any) -> Result:
        y, vjps = function(*inputs, **settings)
        shapes = [getattr(x, "shape", ()) for x in inputs]
        return y, tuple(
            vjp if vjp is None or shape == y.shape else summed(vjp, shape)
            for vjp, shape in zip(vjps, shapes, strict=True)
        )

    def summed(vjp: Vjp, shape: tuple[int, ...]) -> Vjp:
        return lambda g: unbroadcast(vjp(g), shape)

    return broadcast


def once(function: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """Remember the last result, for what the vjps of several inputs compute alike from the same g."""
    last: list[Any] = [None, None]

    @functools.wraps(function)
    def remembered(g: Array) -> Any:
        if last[0] is not g:
            last[:] = g, function(g)
        return last[1]

    return remembered


def leading_axes(g: Array) -> tuple[int, ...]:
    """All axes but the last: those over which the gradient of a vector shared by every row is summed."""
    return tuple(range(g.ndim - 1))
