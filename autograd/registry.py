"""The list of all ops, and the check that belongs to some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

OPS: dict[str, Callable[..., Any]] = {}  # every op and composite by name, so that tests can demand a case of each


def composite(function: Callable[P, R]) -> Callable[P, R]:
    """Enter in OPS a function that is made of ops, and so has their derivatives."""
    return registered(function)


def registered(function: Callable[P, R]) -> Callable[P, R]:
    name, module = function.__name__, function.__module__
    if name in OPS and module not in ("__main__", None):  # in a notebook, a cell is run again and again
        raise ValueError(
            f"there is an op named {name!r} already, in {OPS[name].__module__}; give the one in {module} another name"
        )
    OPS[name] = function
    return function


def checked_by(check: Callable[..., None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Below @op: name the function that raises a ValueError for arrays that the op cannot compute with."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        function.check = check  # type: ignore[attr-defined]
        return function

    return mark
