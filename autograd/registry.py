"""The list of all ops, and the decorators that declare, below @op, what an op does with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

OPS: dict[str, Callable[..., Any]] = {}  # every op and composite by name, so that tests can require a case for each


def composite(function: Callable[P, R]) -> Callable[P, R]:
    """Register in OPS a function composed of ops, which therefore needs no vjp of its own."""
    return register(function)


def register(function: Callable[P, R]) -> Callable[P, R]:
    name, module = function.__name__, function.__module__
    if name in OPS and module not in ("__main__", None):  # a notebook cell may be rerun
        raise ValueError(
            f"there is already an op named {name!r}, in {OPS[name].__module__}; give the one in {module} another name"
        )
    OPS[name] = function
    return function


def checked_by(check: Callable[..., None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Used below @op: attach a function that raises an error for arrays the op cannot take.

    It is called with arrays, or None for omitted inputs: a number becomes a 0-d array.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        function.check = check  # type: ignore[attr-defined]
        return function

    return mark


def integer_arithmetic(function: Callable[P, R]) -> Callable[P, R]:
    """Used below @op: of integers the op returns integers, computed in int64 so that small dtypes do not overflow."""
    function.integers = "int64"  # type: ignore[attr-defined]
    return function


def any_dtype(function: Callable[P, R]) -> Callable[P, R]:
    """Used below @op: the op selects, moves or counts elements, so integers and booleans need no conversion."""
    function.integers = None  # type: ignore[attr-defined]
    return function
