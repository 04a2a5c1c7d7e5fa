"""Solutions of chapter 11, baselines.

1. By hand.  Only the sum counts.  With φ(x) = 1 it is n; the mean of a constant is the constant, and so is its
   maximum.
2. By hand.  A first layer can compute amount · [kind = 1], [kind = 1] and the same for −1, four features; the next one
   receives their means, and the quotient of two of them is the mean amount of a kind.  So rFFp can do it, with features
   for each kind, and layers that approximate a division.  A SAB needs no features for each kind.
"""

from __future__ import annotations

import itertools

import numpy as np

from autograd import Tensor, max_pool

Array = np.ndarray


def masked_max(X: Array, mask: Array) -> Array:
    """−∞ never wins; zeros would win among negative elements."""
    top = np.where(mask[..., None], X, -np.inf).max(axis=1)
    return np.where(mask.any(axis=1)[:, None], top, 0)


def dotprod(Z: Array, s: Array) -> Array:
    """The equation, with the maximum subtracted."""
    scores = Z @ s / np.sqrt(len(s))
    e = np.exp(scores - scores.max())
    return e @ Z / e.sum()


def centering(d: int) -> tuple[Array, Array]:
    """Each element minus the pooled one."""
    return np.eye(d), -np.eye(d)


def as_matrices(lam: float, gamma: float, W: Array) -> tuple[Array, Array]:
    """The mean is linear: mean(X W) = mean(X) W.  (With the maximum there is no such matrix.)"""
    return lam * W, gamma * W


def parameters_of_deep_sets(d_in: int, d: int, d_out: int) -> int:
    """An FC layer from a to b features has a b weights and b biases."""
    widths = [d_in, d, d, d, d, d, d, d, 4 * d_out]
    return sum(a * b + b for a, b in itertools.pairwise(widths))


def spread(Z: Tensor, mask: Array | None) -> Tensor:
    """min z = −max(−z).  Both maxima are 0 for an empty set."""
    y = max_pool(Z, axis=-2, mask=mask) + max_pool(-Z, axis=-2, mask=mask)
    return y.reshape(*y.shape[:-1], 1, y.shape[-1])
