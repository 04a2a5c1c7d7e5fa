"""Chapter 21, runtime: write your answers here, then run python -m pytest docs/exercises/test_ch21.py"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray


def fit_exponent(n: Array, t: Array) -> tuple[float, float]:
    """The slope of log t = c + a log n by least squares, and its standard error; without np.polyfit or the like."""
    raise NotImplementedError


def multiplications(block: str, n: int, d: int, m: int) -> int:
    """Multiplications in the matrix products of "SAB" or "ISAB" on one set (n, d), of width d, as the equations
    write them.

    A MAB projects queries, keys and values, multiplies by W^O and has one FC layer.  m is the number of inducing
    points.
    """
    raise NotImplementedError


def local_exponents(n: Array, t: Array) -> Array:
    """The slopes of log t against log n between neighboring sizes: (N − 1,)."""
    raise NotImplementedError


def halfway(a: float, b: float, c: float) -> float:
    """The n at which t = a + b n + c n², with positive a, b, c, has the slope d log t / d log n = 1.5."""
    raise NotImplementedError


def median_time(function: Callable[[], object], calls: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The median over so many calls of the seconds that a call takes; one more call, before them, is not counted."""
    raise NotImplementedError


def largest_set(memory: float, h: int, copies: int = 1, itemsize: int = 4) -> int:
    """The largest n whose scores, n × n numbers for each of h heads, `copies` times, fit into so many bytes."""
    raise NotImplementedError


def crossing(n: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float | None:
    """The size at which two curves cross for the first time, by straight lines in log-log; None if they do not."""
    raise NotImplementedError
