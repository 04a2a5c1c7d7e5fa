"""How arrays are cut into pieces, each for one thread at a time.

A fast form on the CPU takes all of its steps with one piece, which fits into a cache, before it goes on to the next,
and gives the pieces to threads.  Pieces are cut by size alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from autograd.backend import Array

PIECE = 2**18  # numbers of a matrix in a piece: 1 MB in float32
BLOCK = 2**19  # scores in a block of attention: 2 MB
QUERIES = 32  # in a block of attention at least, however many keys there are
LANES = 8  # shares of attention to make at least, where it is large; of a convolution, at most
ROWS = 256  # windows of a convolution in a piece at least, however large they are


def small(x: Array) -> bool:
    """Whether an array is too small to be worth another thread."""
    return x.size < PIECE


def row_pieces(rows: int, width: int) -> list[slice]:
    """The rows of a matrix in pieces of about PIECE numbers.

    Why not smaller?  Threads take turns at Python's lock between two NumPy calls, and to wake up one that waits for it
    takes tens of microseconds: with short calls they mostly wait.  So a small matrix is one piece; one of PIECE numbers
    is two.
    """
    size = rows * width
    step = max(math.ceil(rows / max(math.ceil(size / PIECE), 2 if size >= PIECE else 1)), 1)
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def image_shares(N: int, places: int, window: int, channels: int) -> list[list[slice]]:
    """N images for a convolution, in at most LANES shares of several pieces each.

    A piece has about PIECE numbers in its windows, `places` of them an image, and at least ROWS windows, so that it is
    worth the reading of a large kernel.  Each share adds up a gradient of the kernel of its own: hence not too many.
    """
    width = min(max(window, channels), max(PIECE // ROWS, 1))
    pieces = row_pieces(N, places * width)
    count = min(LANES, len(pieces))
    return [pieces[len(pieces) * i // count : len(pieces) * (i + 1) // count] for i in range(count)]


class Share(NamedTuple):
    """What a thread takes at a time of attention over B sets with h heads: some of each, and some of the queries."""

    sets: slice
    heads: slice
    queries: slice
    rows: int  # queries in a block
    lane: int = 0  # counts the shares that have the same sets and heads

    @property
    def where(self) -> tuple[slice, slice]:
        return self.sets, self.heads


def attention_shares(B: int, h: int, n: int, m: int, e: int) -> list[Share]:
    """Small sets go together, large ones are divided, so that a block has about BLOCK scores.

    QUERIES are always taken together, so with more than BLOCK / QUERIES keys a block is larger.
    """
    everything = slice(0, n)
    if h * n * m <= BLOCK:  # several sets with all of their heads
        return [Share(sets, slice(0, h), everything, n) for sets in row_pieces(B, h * (n * m + (n + m) * e))]
    if n * m <= BLOCK:  # several heads of one set
        heads = [slice(i, min(i + BLOCK // (n * m), h)) for i in range(0, h, BLOCK // (n * m))]
        return [Share(slice(b, b + 1), some, everything, n) for b in range(B) for some in heads]
    rows = min(max(BLOCK // m, QUERIES), n)  # queries of one head of one set
    lanes = max(1, min(math.ceil(LANES / (B * h)), n // rows))
    bounds = [n * i // lanes for i in range(lanes + 1)]
    return [
        Share(slice(b, b + 1), slice(j, j + 1), slice(*bounds[i : i + 2]), rows, i)
        for b in range(B)
        for j in range(h)
        for i in range(lanes)
    ]


def keep_weights(B: int, h: int, n: int, m: int) -> bool:
    """Whether attention keeps its weights for backward: of small sets, as long as they are not too many."""
    return n * m <= BLOCK and B * h * n * m <= 8 * BLOCK


def few_key_shares(B: int, n: int, width: int) -> list[tuple[slice, slice]]:
    """Which sets, and which of their queries: several sets together if they are small, else pieces of each."""
    if n * width < PIECE:
        return [(sets, slice(0, n)) for sets in row_pieces(B, n * width)]
    return [(slice(b, b + 1), rows) for b in range(B) for rows in row_pieces(n, width)]
