"""Learning-rate schedules: pure functions of the step, counted from 0, so a resumed run needs no extra state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from minisets.checks import check_fraction, check_nonnegative, check_positive

Schedule = Callable[[int], float]


def constant(lr: float) -> Schedule:
    """lr at every step."""
    check_positive(lr=lr)
    return lambda step: lr


def drop_at(lr: float, fractions: Sequence[float], total: int, factor: float = 0.1) -> Schedule:
    """lr, multiplied by the factor at each of the given fractions of the total steps."""
    check_positive(lr=lr, total=total, factor=factor)
    check_fraction(**{f"fraction {f}": f for f in fractions})
    drops = [round(f * total) for f in fractions]
    return lambda step: lr * factor ** sum(step >= drop for drop in drops)


def drop_every(lr: float, steps: int, factor: float = 0.3) -> Schedule:
    """lr · factor^⌊step / steps⌋"""
    check_positive(lr=lr, steps=steps, factor=factor)
    return lambda step: lr * factor ** (step // steps)


def exponential(lr: float, decay: float) -> Schedule:
    """lr · decay^step"""
    check_positive(lr=lr, decay=decay)
    return lambda step: lr * decay**step


def cosine(lr: float, total: int, lowest: float = 0.0) -> Schedule:
    """From lr down to `lowest` along half a cosine in `total` steps; `lowest` from then on."""
    check_positive(lr=lr, total=total)
    check_nonnegative(lowest=lowest)
    return lambda step: lowest + (lr - lowest) * (1 + math.cos(math.pi * min(step / total, 1))) / 2
