"""Solutions of chapter 17, counting.

6. 0.129 for sets of 6 to 10.  The table's "Best constant" is the most frequent count of some thousand sets, which is a
   little more frequent than its probability.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

Array = np.ndarray


def sample_set(rng: np.random.Generator, n: int, c: int, characters: int) -> Array:
    """Drawings are taken in a random order for each character, so that the r-th image of one takes its r-th
    drawing.

    The tempting shortcut, c of n random images that happen to have c characters, has another distribution.
    """
    which = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    chosen = rng.choice(characters, size=c, replace=False)
    orders = [rng.permutation(20) for _ in range(c)]
    taken = [0] * c
    images = []
    for k in which.tolist():
        images.append((chosen[k], orders[k][taken[k]]))
        taken[k] += 1
    return np.array(images)


def modes(rate: float) -> list[int]:
    """P(c)/P(c − 1) = λ/c, so the probability rises up to c = ⌊λ⌋; at a whole λ the last step is level, and both
    are modes.
    """
    top = math.floor(rate)
    return [top - 1, top] if rate == top else [top]


def accuracies(width: float) -> tuple[float, float]:
    """⌊λ⌋ = c if the error lies in [0, 1), the nearest integer is c if it lies in (−½, ½), where the density is
    higher.

    So the nearest integer is always better: 1 against ½ as the width goes to 0, equal only in the limit of a width
    beyond all bounds.
    """
    return float(ndtr(1 / width) - 0.5), float(2 * ndtr(0.5 / width) - 1)


def distinct(X: Array, sharpness: float) -> float:
    """With scores −t |xᵢ − xⱼ|² an element shares its attention equally with its r − 1 copies: its weight on itself
    is 1/r.

    So the count is the trace of the attention matrix.  Dot products alone would not do: a long vector can have a
    larger product with others than with itself.
    """
    squares = (X**2).sum(axis=1)
    scores = -sharpness * (squares[:, None] + squares - 2 * X @ X.T)
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return float(np.trace(P))


def pooled_count(Z: Array) -> float:
    """The mean has length² Σ (rⱼ/n)² for multiplicities rⱼ; if they are equal it is 1/c.

    It is exact for equal multiplicities and otherwise too small: for 9 copies of one and one of another it says
    1.2.
    """
    return float(1 / np.square(Z.mean(axis=0)).sum())


def best_constant_accuracy(n_min: int, n_max: int) -> float:
    """P(c) is the mean of 1/n over the sizes n ≥ c; all sizes contribute to c ≤ n_min, which are the most frequent."""
    return float(np.mean(1 / np.arange(n_min, n_max + 1)))
