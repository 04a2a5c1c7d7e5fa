"""Chapter 17, counting: write your answers here, then run python -m pytest docs/exercises/test_ch17.py"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def sample_set(rng: np.random.Generator, n: int, c: int, characters: int) -> Array:
    """A set of n images of exactly c different characters: an array (n, 2) of a character and one of its 20
    drawings.

    Each of the c characters, chosen uniformly without repetition, has one image; each of the n − c others shows
    one of them, chosen uniformly.  No drawing occurs twice, and all drawings of a character are equally likely.
    """
    raise NotImplementedError


def modes(rate: float) -> list[int]:
    """All modes of a Poisson distribution with a positive rate, in ascending order."""
    raise NotImplementedError


def accuracies(width: float) -> tuple[float, float]:
    """How often a network is right whose λ is c + N(0, width²), by the mode ⌊λ⌋ and by the nearest integer."""
    raise NotImplementedError


def distinct(X: Array, sharpness: float) -> float:
    """The number of distinct rows of X (n, d), by attention: no loops, comparisons or sorting; exact as sharpness →
    ∞.

    It must be a smooth function of X.  (An element that occurs r times contributes 1/r.)
    """
    raise NotImplementedError


def pooled_count(Z: Array) -> float:
    """An estimate of the number of distinct rows of Z (n, d) from their mean alone; different rows are orthonormal."""
    raise NotImplementedError


def best_constant_accuracy(n_min: int, n_max: int) -> float:
    """The probability of the most frequent count if n ~ Unif{n_min … n_max} and c ~ Unif{1 … n}."""
    raise NotImplementedError
