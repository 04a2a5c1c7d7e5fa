"""Argument checks for blocks, optimizers and schedules."""

from __future__ import annotations

import math
import operator
from typing import Any


def positive_int(name: str, value: Any) -> int:
    """The value as a Python int of at least 1; anything else raises ValueError."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} must be a positive integer, given {value!r}")
    return number


def check_widths(name: str, widths: tuple[int, ...], last: str | None) -> None:
    if any(isinstance(width, list | tuple) for width in widths):
        raise TypeError(f"{name} takes separate widths: {name}(d_in, 16, 16, rng=rng), given {widths[0]!r}")
    if not widths or last not in ("relu", None):
        raise ValueError(f"{name} needs at least one width, and last='relu' or last=None")


def check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (isinstance(value, int | float) and value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be a positive number, given {value}")


def check_nonnegative(**values: float) -> None:
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be a number of at least 0, given {value}")


def check_fraction(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} must lie in [0, 1), given {value}")
