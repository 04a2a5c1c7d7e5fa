"""Solutions of chapter 5, attention.

1. By hand.  With a query of 1 the scores of x₁ are 1, 1, −1; e¹ = 2.718, e⁻¹ = 0.368, sum 5.804.  The weights are
   0.468, 0.468, 0.063, the output 0.468 · 2 + 0.468 · 4 + 0.063 · 9 = 3.38.  A smaller query chooses less sharply,
   and the output moves toward the mean of the set, 5.
7. By hand.  ∂pᵢ/∂sⱼ = pᵢ([i = j] − pⱼ).  On the diagonal the absolute values add up to Σ pᵢ(1 − pᵢ) = 1 − Σ pᵢ²;
   beside it to Σᵢ Σ_{j≠i} pᵢ pⱼ = Σ pᵢ(1 − pᵢ), the same.  So the sum is 2(1 − Σ pᵢ²): nearly 2 for many equal
   weights, and 0 if one weight is 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from docs.exercises.ch05 import first, second, softmax, third

Array = np.ndarray


def attend(Q: Array, K: Array, V: Array, mask: Array | None = None) -> Array:
    """Masked keys and values are zeroed because 0 · nan is nan; masked scores are −∞, so their weight is e^−∞ = 0.

    Subtracting the maximum keeps exponentials below 1.  If all scores are −∞ there is no mean, and the result is set.
    """
    if mask is not None:
        if not mask.any():
            return np.zeros((len(Q), V.shape[1]))
        K, V = np.where(mask[:, None], K, 0), np.where(mask[:, None], V, 0)
    S = Q @ K.T / np.sqrt(Q.shape[1])
    if mask is not None:
        S = np.where(mask, S, -np.inf)
    return softmax(S, axis=-1) @ V


def other_kind() -> tuple[Array, Array, Array]:
    """A query of −10 · kind scores 10 with the other kind and −10 with one's own: e²⁰ lies between the weights."""
    return np.array([[-10.0], [0.0]]), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])


def split(X: Array, h: int) -> Array:
    """First cut each row into h groups, (n, h, d/h), then exchange the axes."""
    n, d = X.shape
    return X.reshape(n, h, d // h).swapaxes(0, 1)


def weight_on_padding(scores: Array, padded: int) -> Array:
    """Each padded key has the score 0 and e⁰ = 1."""
    return padded / (np.exp(scores).sum(axis=1) + padded)


def nearness(queries: Array, keys: Array, sharpness: float) -> tuple[Array, Array]:
    """−t |q − k|² = 2t qᵀk − t |k|² − t |q|²; the last term is the same for all keys and cancels."""
    squares = (keys**2).sum(axis=1, keepdims=True)
    ones = np.ones((len(queries), 1))
    return np.hstack([2 * sharpness * queries, ones]), np.hstack([keys, -sharpness * squares])


def slope(P: Array) -> Array:
    """See exercise 7 above."""
    return 2 * (1 - (P**2).sum(axis=1))


def mistakes() -> dict[Callable[[Array], Array], str]:
    """first cuts the array into heads before it cuts the rows.  second forgets to exchange the axes: its scores are
    (B, n, h, h).  third never splits, and its softmax runs over the queries: columns add up to 1, not rows.
    Only first is not equivariant; in second an element does not even see the others."""
    return {
        first: "the split mixes elements",
        second: "the features of an element attend to each other, not the elements",
        third: "one head in disguise, and the weights of a query do not add up to 1",
    }
