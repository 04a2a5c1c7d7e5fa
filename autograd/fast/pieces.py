"""How arrays are split into pieces, each processed by one thread.

A CPU form runs all of its steps on one piece, which fits into the cache, before the next, and distributes the pieces
over threads.  Pieces are cut by size alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from autograd.backend import Array

PIECE = 2**18  # matrix elements in a piece: 1 MB in float32
BLOCK = 2**19  # scores in a block of attention: 2 MB
MIN_QUERIES = 32  # in a block of attention, regardless of the number of keys
SHARES = 8  # the minimum for large attention, and the maximum for a convolution
MIN_WINDOWS = 256  # convolution windows in a piece, regardless of their size


def small(x: Array) -> bool:
    """Whether an array is too small for a second thread to pay off."""
    return x.size < PIECE


def row_pieces(rows: int, width: int) -> list[slice]:
    """The rows of a matrix in pieces of about PIECE elements.

    Why not smaller?  Threads contend for the GIL between NumPy calls, and waking up a thread that waits for it takes
    tens of microseconds: with short calls, threads mostly wait.  So a small matrix is one piece, and one of PIECE
    elements is two.
    """
    size = rows * width
    step = max(math.ceil(rows / max(math.ceil(size / PIECE), 2 if size >= PIECE else 1)), 1)
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def image_shares(N: int, windows: int, window_size: int, channels: int) -> list[list[slice]]:
    """N images for a convolution, in at most SHARES shares of several pieces each.

    With `windows` windows per image, a piece has about PIECE elements in its windows, and at least MIN_WINDOWS windows
    to amortize reading a large kernel.  Each share accumulates its own kernel gradient, so there should be few.
    """
    width = min(max(window_size, channels), max(PIECE // MIN_WINDOWS, 1))
    pieces = row_pieces(N, windows * width)
    count = min(SHARES, len(pieces))
    return [pieces[len(pieces) * i // count : len(pieces) * (i + 1) // count] for i in range(count)]


class Share(NamedTuple):
    """A thread's share of attention over B sets with h heads: a range of sets, of heads and of queries."""

    sets: slice
    heads: slice
    queries: slice
    rows: int  # queries in a block
    accumulator: int = 0  # index among the shares with the same sets and heads

    @property
    def where(self) -> tuple[slice, slice]:
        return self.sets, self.heads


def attention_shares(B: int, h: int, n: int, m: int, e: int) -> list[Share]:
    """The shares of attention: small sets are grouped and large ones split, so that a block has about BLOCK scores.

    A block has at least MIN_QUERIES queries, so with more than BLOCK / MIN_QUERIES keys it is larger.
    """
    all_queries = slice(0, n)
    if h * n * m <= BLOCK:  # several sets with all of their heads
        return [Share(sets, slice(0, h), all_queries, n) for sets in row_pieces(B, h * (n * m + (n + m) * e))]
    if n * m <= BLOCK:  # several heads of one set
        groups = [slice(i, min(i + BLOCK // (n * m), h)) for i in range(0, h, BLOCK // (n * m))]
        return [Share(slice(b, b + 1), heads, all_queries, n) for b in range(B) for heads in groups]
    rows = min(max(BLOCK // m, MIN_QUERIES), n)  # queries of one head of one set
    accumulators = max(1, min(math.ceil(SHARES / (B * h)), n // rows))
    bounds = [n * i // accumulators for i in range(accumulators + 1)]
    return [
        Share(slice(b, b + 1), slice(j, j + 1), slice(*bounds[i : i + 2]), rows, i)
        for b in range(B)
        for j in range(h)
        for i in range(accumulators)
    ]


def keep_weights(B: int, h: int, n: int, m: int) -> bool:
    """Whether attention saves its weights for backward: if the sets are small and not too many."""
    return n * m <= BLOCK and B * h * n * m <= 8 * BLOCK


def few_key_shares(B: int, n: int, width: int) -> list[tuple[slice, slice]]:
    """Ranges of sets and of their queries: small sets are grouped, large ones split into pieces."""
    if n * width < PIECE:
        return [(sets, slice(0, n)) for sets in row_pieces(B, n * width)]
    return [(slice(b, b + 1), rows) for b in range(B) for rows in row_pieces(n, width)]
