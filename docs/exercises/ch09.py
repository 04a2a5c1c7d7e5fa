"""Chapter 9, inducing points: write your answers here, then run python -m pytest docs/exercises/test_ch09.py"""

from __future__ import annotations

import numpy as np

from minisets import ISAB

Array = np.ndarray


def scores_of_isab(n: int, m: int, h: int) -> int:
    """How many attention scores an ISAB with m inducing points and h heads computes for a set of n elements."""
    raise NotImplementedError


def nystrom(K: Array, chosen: Array) -> Array:
    """The Nyström approximation of K (n, n) from the rows and columns `chosen`, (m,) indices; use np.linalg.pinv."""
    raise NotImplementedError


def spread_out(X: Array, m: int) -> Array:
    """Indices of m elements of X (n, d) that lie far apart: (m,).

    The first is element 0; each further one is the element that is farthest from its nearest chosen element.
    """
    raise NotImplementedError


def sparse_mean(t: Array, z: Array, x: Array, y: Array, sigma: float) -> Array:
    """The mean of the sparse Gaussian process of the chapter at points t, with the kernel exp(−(a − b)²/2).

    All are arrays of numbers: t (p,), inducing points z (m,), observations y (n,) at x (n,).
    """
    raise NotImplementedError


def effective_points(weights: Array) -> Array:
    """How many elements each query attends to: e to the entropy −Σ p log p of its weights (m, n); 0 log 0 is 0."""
    raise NotImplementedError


def isab_1(block: ISAB, X: Array) -> Array:
    """The output (n, d) of an ISAB with one inducing point, without a softmax in the second MAB.

    block.mab0(block.I, X) gives the summary.  Use the layers of block.mab1: attention.v, attention.o, skip, norm_h,
    rff, norm_out.  The result is an array.
    """
    raise NotImplementedError
