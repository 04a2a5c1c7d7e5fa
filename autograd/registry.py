"""The list of all ops, and the decorator that attaches an argument check to an op."""

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
    """Used below @op: attach a function that raises a ValueError for arrays the op cannot take."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        function.check = check  # type: ignore[attr-defined]
        return function

    return mark
