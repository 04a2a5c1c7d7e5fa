"""Chapter 1, why sets: write your answers here, then run python -m pytest docs/exercises/test_ch01.py"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def pairs(X: Array) -> float:
    """Σᵢⱼ (xᵢ · xⱼ)² over all pairs of rows of X (n, d), including i = j, without an array of n² numbers."""
    raise NotImplementedError


def collision() -> tuple[Array, Array]:
    """Two arrays of three numbers with the same mean of x, the same mean of x², and different maxima."""
    raise NotImplementedError


def counterexample(f: Callable[[Array], Any], X: Array) -> Array | None:
    """Indices `order` for which f(X[order]) is not f(X), up to rounding; None if none.  X has up to 5 rows."""
    raise NotImplementedError


def pool_mean(Z: Array, mask: Array) -> Array:
    """The mean of the present elements, (B, d), of Z (B, n, d) with mask (B, n), True where an element is present.

    What absent elements hold, even nan, has no effect; the mean of an empty set is 0.
    """
    raise NotImplementedError


def equivariant_part(W: Array) -> Array:
    """The mean of Πᵀ W Π over all n! permutation matrices Π, without a loop over them, for W (n, n)."""
    raise NotImplementedError


def jump(rule: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Two sets (2, 2), within 1e-6 of each other in every number, for which rule(set) differs by more than 1 somewhere.

    rule returns the same two points in some order, which depends on where they are and not on how they are stored.
    """
    raise NotImplementedError
