"""Solutions of chapter 9, inducing points.

7. By hand.  Each row of P₁ P₀ is a weighted mean of the m rows of P₀, so the rows span at most m dimensions.  Two
   such steps in a row still have rank m at most: the rank of a product is no larger than that of its smallest
   factor. Residuals, rFFs and heads are what makes an ISAB more than such a product.
"""

from __future__ import annotations

import numpy as np

from minisets import ISAB

Array = np.ndarray


def scores_of_isab(n: int, m: int, h: int) -> int:
    """(h, m, n) in the first MAB, (h, n, m) in the second."""
    return 2 * h * n * m


def nystrom(K: Array, chosen: Array) -> Array:
    """The pseudo-inverse, because chosen points that lie close together make K_ZZ nearly singular."""
    return K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)]) @ K[chosen]


def spread_out(X: Array, m: int) -> Array:
    """Farthest-point sampling; `nearest` is kept up to date instead of being computed again."""
    chosen = [0]
    nearest = ((X - X[0]) ** 2).sum(axis=1)
    while len(chosen) < m:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, ((X - X[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)


def sparse_mean(t: Array, z: Array, x: Array, y: Array, sigma: float) -> Array:
    """The m numbers in the middle first, then the queries: n m² instead of n³."""

    def k(a: Array, b: Array) -> Array:
        return np.exp(-((a[:, None] - b[None]) ** 2) / 2)

    summary = np.linalg.solve(sigma**2 * k(z, z) + k(z, x) @ k(x, z), k(z, x) @ y)
    return k(t, z) @ summary


def effective_points(weights: Array) -> Array:
    """Equal weights on j elements have the entropy log j."""
    logarithms = np.log(np.where(weights > 0, weights, 1))
    return np.exp(-(weights * logarithms).sum(axis=1))


def isab_1(block: ISAB, X: Array) -> Array:
    """One key has weight 1: the attention is v(h), the same for all elements, through W^O.  What is left is a row-wise
    network of x and h."""
    mab, h = block.mab1, block.mab0(block.I, X)  # (1, d)
    H = mab.norm_h(mab.skip(X) + mab.attention.o(mab.attention.v(h)))
    return mab.norm_out(H + mab.rff(H)).data
