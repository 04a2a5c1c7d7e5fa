"""Chapter 7, symmetry: write your answers here, then run python -m pytest docs/exercises/test_ch07.py"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray


def permutation_matrix(order: Sequence[int]) -> Array:
    """Π (n, n) with Π X = X[order]."""
    raise NotImplementedError


def is_equivariant(f: Callable[[Array], Array], X: Array) -> bool:
    """Whether f(Π X) = Π f(X) for *all* n! orders of one set X (n, d), n ≤ 6; f returns (n, anything)."""
    raise NotImplementedError


def made_invariant(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """From any function of X (n, d), n ≤ 6, an invariant one, which is f itself if f is invariant already.

    Elements may be equal in some of their features.
    """
    raise NotImplementedError


def centered(X: Array, mask: Array) -> Array:
    """X (B, n, d) minus the mean of each set's present elements; masked elements, which may be nan, give zeros.

    A set without elements must not give nan or a warning.
    """
    raise NotImplementedError


# Four functions of sets X (B, n, d), meant to be invariant, and the checks of minisets.testing.


def running(X: Array) -> Array:
    """The largest sum of the first few elements."""
    return np.cumsum(X, axis=1).max(axis=1)


def standardized(X: Array) -> Array:
    """The largest element, in standard deviations of the batch."""
    return X.max(axis=1) / (X.std(axis=(0, 1)) + 1e-3)


def middle(X: Array) -> Array:
    """The element whose first feature is the smallest."""
    return np.take_along_axis(X, X[:, :, :1].argmin(axis=1, keepdims=True), axis=1)[:, 0]


def average(X: Array, mask: Array) -> Array:
    """The mean of the present elements."""
    return np.where(mask[..., None], X, 0).mean(axis=1)


def failing_check(f: Callable[..., Array]) -> Callable[..., None]:
    """For each of the four functions, a check of minisets.testing that it fails.

    For `standardized`, `middle` and `average` it must be one other than check_invariant, which they pass.
    """
    raise NotImplementedError
