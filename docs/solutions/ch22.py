"""Solutions of chapter 22, speed.

6. By hand.  Four passes over 64 MB at 10 GB/s: 4 · 64 / 10,000 s = 26 ms from main memory.  In pieces that stay in the
   cache the array is read once and written once, 13 ms, and the two passes between cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray


Map = Callable[[Callable[[Array], float], list[Array]], list[float]]


def cheapest(n: int, m: int, d: int, e: int) -> str:
    """A product of (a, b) and (b, c) takes a b c multiplications.

    With few keys every query is multiplied once, by a matrix (d, m), instead of twice.
    """
    costs = {
        "textbook": n * d * e + m * d * e + n * e * m,
        "few queries": n * d * e + n * e * d + n * d * m,
        "few keys": m * d * e + d * e * m + n * d * m,
    }
    return min(costs, key=costs.__getitem__)


def blocked_attention(Q: Array, K: Array, V: Array, rows: int) -> Array:
    """Queries do not know of each other, so a block of them can be finished before the next begins."""
    parts = []
    for first in range(0, len(Q), rows):
        S = Q[first : first + rows] @ K.T
        S = np.exp(S - S.max(axis=1, keepdims=True))
        parts.append(S @ V / S.sum(axis=1, keepdims=True))
    return np.concatenate(parts)


def partial(scores: Array, V: Array) -> tuple[Array, Array, Array]:
    """What merge needs: the maximum, and two sums that are relative to it."""
    top = scores.max(axis=1)
    weights = np.exp(scores - top[:, None])
    return top, weights.sum(axis=1), weights @ V


def merge(a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Both are brought to the larger of the two maxima: a sum relative to m is e^(m − M) times it relative to M."""
    top = np.maximum(a[0], b[0])
    old, new = np.exp(a[0] - top), np.exp(b[0] - top)
    return top, a[1] * old + b[1] * new, a[2] * old[:, None] + b[2] * new[:, None]


def patches(X: Array, k: int) -> Array:
    """Strides make the windows a view; only the reshape copies, which is where a k²-fold memory comes from."""
    windows = sliding_window_view(X, (k, k), axis=(1, 2))  # (N, H', W', C, k, k)
    N, H, W, C = windows.shape[:4]
    return windows.transpose(0, 1, 2, 4, 5, 3).reshape(N, H, W, k * k * C)


def sum_in_pieces(x: Array, size: int, parallel_map: Map) -> float:
    """Pieces are cut by size alone, not by the number of threads, and the partial sums are added in a fixed order.

    (a + b) + c and a + (b + c) differ in the last bit, so both decisions matter.
    """
    pieces = [x[first : first + size] for first in range(0, len(x), size)]
    total = np.float32(0)
    for part in parallel_map(lambda piece: piece.sum(), pieces):
        total += np.float32(part)
    return float(total)
