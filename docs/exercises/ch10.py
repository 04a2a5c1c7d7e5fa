"""Chapter 10, the proofs: write your answers here, then run python -m pytest docs/exercises/test_ch10.py

The only way in which elements may meet is attention, with scores of your choice: autograd.attention(q, k, v), or sums
where an exercise says so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def power_mean(Z: Array, p: float) -> Array:
    """(1/n Σ zᵢᵖ)^(1/p), elementwise, of positive Z (n, d); autograd.attention is the only step over elements: (d,)."""
    raise NotImplementedError


def soft_maximum(Z: Array, sharpness: float) -> Array:
    """The mean of the numbers Z (n, 1) with weights softmax(sharpness · z), by autograd.attention: (1,).

    sharpness = 0 gives the mean, and a large one the maximum.
    """
    raise NotImplementedError


def size(X: Array) -> float:
    """The number of elements of X (n, 2), with autograd.attention (a softmax!) as the only step over elements.

    Exactly one element is marked: its first feature is 1, that of the others 0.
    """
    raise NotImplementedError


def phi(x: Array) -> Array:
    """What to compute of each element, (n, 1) -> (n, k), so that rho(Σ phi(x)) is the variance of the set."""
    raise NotImplementedError


def rho(total: Array) -> float:
    """The variance of a set from Σ phi(x), a vector (k,)."""
    raise NotImplementedError


def sees_how_many(f: Callable[[Array], Array], X: Array) -> bool:
    """Whether f notices if every element of X (n, d) is there three times; f returns an array."""
    raise NotImplementedError
