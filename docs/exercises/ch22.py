"""Chapter 22, speed: write your answers here, then run python -m pytest docs/exercises/test_ch22.py"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


Map = Callable[[Callable[[Array], float], list[Array]], list[float]]


def cheapest(n: int, m: int, d: int, e: int) -> str:
    """The order with the fewest multiplications for the scores X W_q W_kᵀ Yᵀ, X (n, d), Y (m, d), W (d, e), of one
    head.

    "textbook": (X W_q)(Y W_k)ᵀ;  "few queries": ((X W_q) W_kᵀ) Yᵀ;  "few keys": X (W_q (Y W_k)ᵀ).  Of two equal
    ones the first.
    """
    raise NotImplementedError


def blocked_attention(Q: Array, K: Array, V: Array, rows: int) -> Array:
    """softmax(Q Kᵀ) V with at most rows × m scores in memory at a time; Q (n, e), K (m, e), V (m, f)."""
    raise NotImplementedError


def partial(scores: Array, V: Array) -> tuple[Array, Array, Array]:
    """Attention to some of the keys: the largest score (n,), the sum of exp(score − largest) (n,), and the sum of
    the values (n, f), weighted by these exponentials.  scores is (n, some), V (some, f).
    """
    raise NotImplementedError


def merge(a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """partial of some keys and partial of others to the partial of all of them: finite, whatever the scores.

    At the end, the weighted sum divided by the sum is softmax attention: with this, keys can come in blocks as
    well.
    """
    raise NotImplementedError


def patches(X: Array, k: int) -> Array:
    """Every k × k window of images (N, H, W, C) as a row: (N, H − k + 1, W − k + 1, k·k·C), so that a convolution
    with kernels W (k, k, C, F) is patches(X, k) @ W.reshape(k·k·C, F).
    """
    raise NotImplementedError


def sum_in_pieces(x: Array, size: int, parallel_map: Map) -> float:
    """The sum of a float32 array (n,) in pieces of a given size, which parallel_map(function, pieces) adds up, in
    any order and on any number of threads; it returns the results in the order of the pieces.

    The result must have the same bits for any number of threads, and the last piece may be shorter.
    """
    raise NotImplementedError
