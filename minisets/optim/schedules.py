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


def linear_to_zero(lr: float, total: int) -> Schedule:
    """lr · (1 − step / total), and 0 from then on."""
    check_positive(lr=lr, total=total)
    return lambda step: lr * max(1 - step / total, 0.0)


def warm_up(schedule: Schedule, steps: int) -> Schedule:
    """The schedule, multiplied by 1/steps, 2/steps, … 1 in its first steps, while Adam has seen few gradients."""
    check_nonnegative(steps=steps)
    return lambda step: schedule(step) * min((step + 1) / max(steps, 1), 1.0)


def cosine(lr: float, total: int, lowest: float = 0.0) -> Schedule:
    """From lr down to `lowest` along half a cosine in `total` steps; `lowest` from then on."""
    check_positive(lr=lr, total=total)
    check_nonnegative(lowest=lowest)
    return lambda step: lowest + (lr - lowest) * (1 + math.cos(math.pi * min(step / total, 1))) / 2
