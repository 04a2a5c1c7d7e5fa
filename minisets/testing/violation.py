"""A property that does not hold, on one example; and how two outputs are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minisets.testing import tolerance


class CannotCheck(TypeError):
    """There is nothing that could be checked: one sentence says why."""


@dataclass(eq=False)
class Violation(Exception):
    """What does not hold, for which sets, and the values that show it."""

    what: str
    X: np.ndarray
    mask: np.ndarray | None
    values: dict[str, np.ndarray]
    order: np.ndarray | None = None  # the permutation
    place: tuple[int, ...] | None = None  # where the values first differ
    allowed: float = 0.0
    hint: str = ""  # which kind of violation it is, for the search of a cause


Values = dict[str, np.ndarray]  # two of them, by what they are


def compare(
    what: str,
    values: Values,
    X: np.ndarray,
    mask: np.ndarray | None,
    *,
    where: np.ndarray | None = None,
    again: Callable[[np.ndarray], np.ndarray] | None = None,
    order: np.ndarray | None = None,
    exact: bool = False,
    hint: str = "",
) -> None:
    """Raise a Violation if two outputs (B, ...) differ beyond rounding, at least where `where` is True.

    again computes the first of them for other sets; it is used to measure how sensitive f is to rounding.
    """
    a, b = values.values()
    if a.shape != b.shape:
        raise Violation(f"{what}: shapes {a.shape} and {b.shape}", X, mask, values, order, hint="shape")
    for label, y in values.items():
        found = ~np.isfinite(y) & _expanded(where, y)
        if found.any() and not (exact and np.array_equal(a, b, equal_nan=True)):
            place = tuple(int(i) for i in np.argwhere(found)[0])
            text = f"{what}: {label} is {y[place]}"
            ordinary = y is a  # the first is of ordinary sets, the second may have had nan for padding
            raise Violation(text, X, mask, values, order, place, hint="not finite" if ordinary or not hint else hint)
    difference = np.where(_expanded(where, a), np.abs(a - b), 0.0)
    bound = np.zeros_like(difference) if exact else tolerance.allowed(a, X.shape[1], a.dtype) + 0 * difference
    if (difference > bound).any() and again is not None and not exact:
        s = tolerance.sensitivity(again, X, a)
        bound = tolerance.allowed(a, X.shape[1], a.dtype, s) + 0 * difference
    if (difference > bound).any():
        place = tuple(int(i) for i in np.argwhere(difference > bound)[0])
        raise Violation(what, X, mask, values, order, place, float(bound[place]), hint=hint)


def _expanded(where: np.ndarray | None, y: np.ndarray) -> np.ndarray:
    """A condition (B, n) or (B,) with the shape of y."""
    if where is None:
        return np.ones(y.shape, dtype=bool)
    return np.broadcast_to(where.reshape(*where.shape, *[1] * (y.ndim - where.ndim)), y.shape)
