"""Chapter 5, attention: write your answers here, then run python -m pytest docs/exercises/test_ch05.py

Arrays are NumPy's; use no attention of the project in them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def attend(Q: Array, K: Array, V: Array, mask: Array | None = None) -> Array:
    """softmax(Q Kᵀ / √e) V for one set: Q (n, e), K (m, e), V (m, f), mask (m,), True where a key is present.

    Large scores must not overflow, masked keys must have no effect, even if they are nan, and without any present key
    the result is zeros.
    """
    raise NotImplementedError


def other_kind() -> tuple[Array, Array, Array]:
    """W_q (2, 1), W_k (2, 1), W_v (2, 1) with which softmax(Q Kᵀ) V is the mean amount of the *other* kind.

    Elements are (kind, amount) as in the chapter, with kind 1 or −1, and both kinds occur.  An error of 0.01 is
    allowed, for amounts up to 10.
    """
    raise NotImplementedError


def split(X: Array, h: int) -> Array:
    """(n, d) -> (h, n, d/h), head j with the j-th group of d/h features, for all rows."""
    raise NotImplementedError


def weight_on_padding(scores: Array, padded: int) -> Array:
    """The weight that `padded` keys of zeros take altogether, if keys are zeroed and scores are not masked.

    scores (n, m) are those of the present keys; the result is (n,).
    """
    raise NotImplementedError


def nearness(queries: Array, keys: Array, sharpness: float) -> tuple[Array, Array]:
    """Longer queries (n, d + 1) and keys (m, d + 1) whose dot products attend to what is near.

    softmax(queries' · keys'ᵀ) must be the softmax of −sharpness · |q − k|² over the keys.
    """
    raise NotImplementedError


def slope(P: Array) -> Array:
    """Σ |∂pᵢ/∂sⱼ| over all i and j, of each row of weights P (n, m), without computing a derivative: (n,)."""
    raise NotImplementedError


# Three attempts at self-attention of sets X (B, n, 4) with two heads, each with a mistake found in public code.


def softmax(S: Array, axis: int) -> Array:
    e = np.exp(S - S.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def first(X: Array) -> Array:
    B, n, d = X.shape
    heads = X.reshape(B, 2, n, d // 2)
    P = softmax(heads @ heads.swapaxes(-1, -2) / 2, axis=-1)
    return (P @ heads).reshape(B, n, d)


def second(X: Array) -> Array:
    B, n, d = X.shape
    heads = X.reshape(B, n, 2, d // 2)
    P = softmax(heads @ heads.swapaxes(-1, -2) / 2, axis=-1)
    return (P @ heads).reshape(B, n, d)


def third(X: Array) -> Array:
    P = softmax(X @ X.swapaxes(-1, -2) / 2, axis=-2)
    return P @ X


def mistakes() -> dict[Callable[[Array], Array], str]:
    """For first, second and third: what is wrong?  The answer is one of these sentences:

    "the features of an element attend to each other, not the elements"
    "one head in disguise, and the weights of a query do not add up to 1"
    "the split mixes elements"
    """
    raise NotImplementedError
