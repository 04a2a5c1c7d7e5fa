"""Solutions of chapter 18, clustering images.

1. n · k · D = 500 · 4 · 512 = 1,024,000 numbers, 8 MB for one set.
3. From about 1,000 on: 1,000² = 10⁶ has a spacing of 0.06 in float32, and (0.01)² = 10⁻⁴ is far below it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

Array = np.ndarray


def log_densities(X: Array, mu: Array, sigma: Array) -> Array:
    """The square is expanded, −½ x²/σ² + x μ/σ² − ½ μ²/σ², so that two matrix products do the sums over D."""
    precision = sigma**-2.0
    quadratic = X @ (mu * precision).T - 0.5 * X**2 @ precision.T
    constant = (0.5 * mu**2 * precision + np.log(sigma) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
    return quadratic - constant


def responsibilities(log_pi: Array, log_p: Array) -> Array:
    """A softmax: only differences of logarithms matter, so the largest of each row is subtracted first."""
    joint = log_pi + log_p
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def expanded_error(distance: float, size: float) -> float:
    """x² has a relative rounding error of 6e-8, so an absolute one of 6e-8 size²: it has to be small beside
    distance².
    """
    x, mu = np.float32(size + distance), np.float32(size)
    expanded = x * x - np.float32(2) * x * mu + mu * mu
    right = (np.float64(x) - np.float64(mu)) ** 2
    return float(abs(expanded - right) / right)


def standardize(train: Array, other: Array) -> tuple[Array, Array]:
    """The second array must not use statistics of its own: it would be another transformation, and may be a single
    row.

    A constant column is divided by 1.  In `other` it may differ from the constant; nothing is known of its
    scale, and 0 says so.
    """
    mean, std = train.mean(axis=0), train.std(axis=0)
    varies = std > 0
    scale = np.where(varies, std, 1)
    return (train - mean) / scale * varies, (other - mean) / scale * varies


def adjusted_rand_index(a: Array, b: Array) -> float:
    """Counts of pairs: together in both, in a, in b; and what is expected of the first if the labels are shuffled."""
    counts = np.array([[np.sum((a == i) & (b == j)) for j in np.unique(b)] for i in np.unique(a)])

    def pairs(x: Array) -> float:
        return float(np.sum(x * (x - 1) / 2))

    both, first, second = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    expected, most = first * second / pairs(np.array(len(a))), (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def worse_after_em() -> tuple[Array, Array, Array, Array]:
    """The narrow component at 0 owns −1 and 1 and, as the nearest, −2 and −3, which it explains very badly.

    EM widens it to reach them, and then it takes 2 from the other component as well.  Found by a random search.
    """
    points, labels = np.array([-3.0, -2, -1, 1, 2, 4]), np.array([0, 0, 0, 0, 1, 1])
    return points, labels, np.array([0.0, 3.0]), np.array([0.5, 1.0])
