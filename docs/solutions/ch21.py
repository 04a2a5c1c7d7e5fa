"""Solutions of chapter 21, runtime.

2. With d = 64: SAB has 5 n d² + 2 n² d, ISAB₄ 5 (n + 4) d² + 16 n d.  The difference, 2 n² d − 16 n d − 20 d², is
   positive from n = 30 on.  Measured, they cross later, between 100 and 200: an ISAB has twice as many operations, each
   with its overhead.
4. The mean is moved by a single interruption.  The minimum is right if all noise is added time and the question is how
   long the code takes on an idle machine; the median if it is how long it usually takes.
5. With weights and gradients kept, two copies: n = √(24·10⁹ / (2 · 8 · 4)) = 19,364, for one set alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray


def fit_exponent(n: Array, t: Array) -> tuple[float, float]:
    """With x and y centered, a = Σ xy / Σ x², and its variance is the residuals' variance, with N − 2 degrees of
    freedom, divided by Σ x².
    """
    x, y = np.log(n) - np.log(n).mean(), np.log(t) - np.log(t).mean()
    a = float(x @ y / (x @ x))
    residuals = y - a * x
    return a, math.sqrt(float(residuals @ residuals) / (len(x) - 2) / float(x @ x))


def multiplications(block: str, n: int, d: int, m: int) -> int:
    """MAB(X, Y) with n queries and m keys: 3 n d² for queries, W^O and FC, 2 m d² for keys and values, and 2 n m d
    for scores and outputs; the number of heads cancels.  ISAB has one with m queries and n keys and one the
    other way round.
    """

    def mab(queries: int, keys: int) -> int:
        return 3 * queries * d * d + 2 * keys * d * d + 2 * queries * keys * d

    return mab(n, n) if block == "SAB" else mab(m, n) + mab(n, m)


def local_exponents(n: Array, t: Array) -> Array:
    """A quotient of differences of logarithms."""
    return np.diff(np.log(t)) / np.diff(np.log(n))


def halfway(a: float, b: float, c: float) -> float:
    """The slope is (b n + 2 c n²) / (a + b n + c n²).  Set to 1.5: c n² − b n − 3 a = 0, and the positive root
    counts.
    """
    return (b + math.sqrt(b * b + 12 * a * c)) / (2 * c)


def median_time(function: Callable[[], object], calls: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The first call loads, compiles and fills caches."""
    function()
    times = []
    for _ in range(calls):
        before = clock()
        function()
        times.append(clock() - before)
    return float(np.median(times))


def largest_set(memory: float, h: int, copies: int = 1, itemsize: int = 4) -> int:
    """copies · h · n² · itemsize ≤ memory.  The root is rounded down; math.isqrt has no rounding error."""
    return math.isqrt(int(memory // (copies * h * itemsize)))


def crossing(n: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float | None:
    """The difference of the logarithms changes sign; between two sizes it is a straight line, whose zero is the
    crossing.
    """
    x, d = np.log(n), np.log(first) - np.log(second)
    for i in range(len(x) - 1):
        if d[i] == 0 or d[i] * d[i + 1] < 0:
            return float(np.exp(x[i] - d[i] * (x[i + 1] - x[i]) / (d[i + 1] - d[i]) if d[i] else x[i]))
    return float(n[-1]) if d[-1] == 0 else None
