"""Kinks: points at which a function has a slope on either side and no derivative.

relu at 0, |x| at 0, a maximum of equal elements, clip at its bound: the slope to the right of x, along an element,

    r = (f(x + h) − f(x)) / h          and that to the left,          l = (f(x) − f(x − h)) / h

differ, and smaller steps h do not bring them together; where f is smooth, their difference shrinks with h.  Backward
returns one of the two or something between, and central differences their mean: both may be right, and disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.tape import _newest_first

if TYPE_CHECKING:
    from autograd.gradcheck import Point

STEP = 1e-5
MOST = 8  # kinks to look at
WITH_KINKS = ("relu", "abs", "absolute_error", "max", "min", "maximum", "minimum", "max_pool", "clip")


@dataclass(frozen=True)
class Kink:
    """An element of x at which the slope is `left` below and `right` above, and its gradient by backward."""

    index: tuple[int, ...]
    value: float
    left: float
    right: float
    gradient: float

    @property
    def between(self) -> bool:
        low, high = sorted((self.left, self.right))
        margin = 1e-4 * max(abs(low), abs(high))
        return low - margin <= self.gradient <= high + margin


def describe(point: Point, v: Any) -> tuple[str, bool]:
    """What kink there is at a point, in words, and whether the gradient is one that a kink allows; "" if there is none.

    If the derivative is also wrong along the elements that have no kink, that is the error to report, not the kink.
    """
    kinks = list(find(point))
    if not kinks:
        return "", False
    rest = np.array(point.x.data * 0 + 1)
    for kink in kinks:
        rest[kink.index] = 0
    if len(kinks) < MOST and not point.along(v * point_array(rest, v)).agrees:
        return "", False
    harmless = all(kink.between for kink in kinks)
    verdict = (
        "backward gives a slope between the two sides, as it may; check the derivative at another point"
        if harmless
        else "and backward gives neither of the slopes nor anything between them, which is wrong"
    )
    first = kinks[0]
    numbers = f"there the slope is {first.left:.4g} below, {first.right:.4g} above and {first.gradient:.4g} by backward"
    return f"{_pattern(point, kinks)}: {numbers}; {verdict}", harmless


def point_array(mask: np.ndarray, like: Any) -> Any:
    from autograd import backend

    return backend.to_device_of(mask, like)


def find(point: Point) -> Iterator[Kink]:
    """The elements of x along which there is a kink, found by halving; at most MOST of them."""
    pending, found = [np.arange(point.x.size)], 0
    while pending and found < MOST:
        part = pending.pop()
        left, right = _sides(point, part)
        if not part.size or (left, right) == (0.0, 0.0):
            continue
        if part.size == 1:
            index = tuple(int(i) for i in np.unravel_index(part[0], point.x.shape))
            found += 1
            yield Kink(index, float(point.x.data[index]), left, right, float(point.g[index]))
        else:
            pending += [part[part.size // 2 :], part[: part.size // 2]]


def _sides(point: Point, part: np.ndarray) -> tuple[float, float]:
    """The slopes below and above along some elements, each weighted at random; (0, 0) unless there is a kink."""
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size=point.x.size)
    direction = np.zeros(point.x.size)
    direction[part] = weights[part] if part.size > 1 else 1.0
    v = point_array(direction.reshape(point.x.shape), point.x.data)
    step = STEP * point.size(v)
    above, below = (point.moved(step * v) - point.y) / step, (point.y - point.moved(-step * v)) / step
    nearer = (point.moved(step / 4 * v) - 2 * point.y + point.moved(-step / 4 * v)) / (step / 4)
    bend, slope = abs(above - below), abs(above) + abs(below)
    # For each output apart, as kinks may cancel in a sum.  Where f is smooth, a quarter of the bend would remain.
    if not ((bend > 1e-4 * slope) & (abs(nearer) > 0.6 * bend)).any():
        return 0.0, 0.0
    return float((point.u * below).sum()), float((point.u * above).sum())


def _pattern(point: Point, kinks: list[Kink]) -> str:
    """Which of the well-known kinks this looks like."""
    first = kinks[0]
    where = f"element {list(first.index)} = {first.value:g}"
    ops = [name for name in WITH_KINKS if name in _ops(point)]
    inside = f" (its graph has {', '.join(ops)})" if ops else ""
    tied = [kink for kink in kinks if kink.value == first.value]
    if len(tied) > 1 and _smooth_together(point, tied):
        places = ", ".join(str(list(kink.index)) for kink in tied)
        return f"as a maximum with ties has: elements {places} = {first.value:g}{inside}"
    small, large = sorted((abs(first.left), abs(first.right)))
    if small <= 1e-4 * large:
        return f"as relu at 0 has, flat on one side: {where}{inside}"
    if abs(first.left + first.right) <= 1e-4 * large:
        return f"as |x| at 0 has: {where}{inside}"
    return f"a jump of the slope: {where}{inside}"


def _smooth_together(point: Point, kinks: list[Kink]) -> bool:
    """Whether the kink disappears if all these elements move alike, as the maximum of equal elements does."""
    v = np.zeros(point.x.shape)
    for kink in kinks:
        v[kink.index] = 1.0
    v = point_array(v, point.x.data)
    step = STEP * point.size(v)
    above, below = point.moved(step * v) - point.y, point.y - point.moved(-step * v)
    return float(abs(point.u * (above - below)).sum()) <= 1e-3 * float(abs(point.u * above).sum())


def _ops(point: Point) -> set[str]:
    """The names of the ops in the graph."""
    return {node.op for node in _newest_first(point.output().node)}
