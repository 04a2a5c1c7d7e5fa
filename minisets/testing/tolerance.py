"""How nearly equal is equal?

Two computations of one thing in different orders differ by rounding.  A sum of n terms, added up in another order,
differs by at most about n eps times the size of its terms; a network is a few dozen such sums, one after the other,
each of which passes on the error of its input.  How much it passes on is measured, not assumed:

    sensitivity  s = |f(X (1 + √eps σ)) − f(X)| / √eps          for random signs σ: what a relative error of 1 would do
    allowed        = 64 (n + 16) eps (|y| + s)                  |y| the largest output of the same set

In float64, eps is 2e-16 and about 3e-13 |y| is allowed for a set of 8 elements, in float32 eps is 1e-7 and 2e-4 |y|.
Mistakes show at 1e-2 and more, as a rule.  So what can be computed in float64 is, and for float32 the tolerance is the
price.  s is computed only where |y| alone would not explain a difference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FACTOR = 64.0


def allowed(y: np.ndarray, n: int, dtype: np.dtype, sensitivity: np.ndarray | float = 0.0) -> np.ndarray:
    """The difference that rounding explains, for each output (B, ...); one number for each set."""
    eps = np.finfo(dtype).eps
    finite = np.where(np.isfinite(y), np.abs(y), 0.0).reshape(len(y), -1) if y.size else np.zeros((len(y), 1))
    largest = finite.max(axis=1, initial=0.0) + sensitivity
    return (FACTOR * (n + 16) * float(eps) * largest).reshape(len(y), *[1] * (y.ndim - 1))


def sensitivity(f: Callable[[np.ndarray], np.ndarray], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much each set's output changes if its elements change by their own size, measured with a small change."""
    step = float(np.sqrt(np.finfo(X.dtype).eps))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=X.shape)
    with np.errstate(all="ignore"):
        moved = f((X * (1 + step * signs)).astype(X.dtype))
    if moved.shape != y.shape:
        return np.zeros(len(y))
    change = np.nan_to_num(np.abs(moved - y)) / step
    return change.reshape(len(y), -1).max(axis=1, initial=0.0)
