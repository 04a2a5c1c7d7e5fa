"""The matrix products of a training step and nothing else: a lower bound on its time with this BLAS.

The products are those of the equations as written; a step that reorders them can be faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tasks.bench.networks import CHANNELS, SIDE, Shape

MAX_ELEMENTS = 2**24  # of a matrix; larger products are computed in blocks of rows, to limit memory


class MatrixProducts:
    """Multiplies random matrices of the right sizes."""

    def __init__(self, shape: Shape) -> None:
        rng = np.random.default_rng(0)
        self.pairs = []  # two matrices, or stacks of matrices, and how often to multiply them
        for batch, a, b, c in product_sizes(shape):
            repeats, rows = 1, a
            if batch * a * max(b, c) > MAX_ELEMENTS:
                rows = max(1, min(a, MAX_ELEMENTS // max(b, c)))
                batch, repeats = 1, batch * math.ceil(a / rows)
            shapes = ((batch, rows, b), (batch, b, c)) if batch > 1 else ((rows, b), (b, c))
            self.pairs.append((*(rng.standard_normal(size, dtype="float32") for size in shapes), repeats))

    def step(self) -> float:
        for x, y, repeats in self.pairs:
            for _ in range(repeats):
                x @ y
        return 0.0


def product_sizes(shape: Shape) -> Iterator[tuple[int, int, int, int]]:
    """(batch, a, b, c) for each product (a × b)(b × c) of a step, forward and backward."""
    s, B = shape, shape.sets

    def linear(rows: int, d_in: int, d_out: int, data: bool = False) -> Iterator[tuple[int, int, int, int]]:
        yield 1, rows, d_in, d_out
        yield 1, d_in, rows, d_out  # gW
        if not data:  # the input needs no gradient
            yield 1, rows, d_out, d_in  # gx

    def mab(B_x: int, n: int, d_x: int, m: int, d_y: int, x_data: bool, y_data: bool) -> Iterator:
        rows_x, rows_y, e = B_x * n, B * m, s.d // s.heads
        yield from linear(rows_x, d_x, s.d, x_data)
        for _ in range(2):
            yield from linear(rows_y, d_y, s.d, y_data)
        for sizes in ((n, e, m), (n, m, e), (m, n, e), (n, e, m), (n, m, e), (m, n, e)):
            yield B * s.heads, *sizes
        yield from linear(B * n, s.d, s.d)
        if d_x != s.d:
            yield from linear(rows_x, d_x, s.d, x_data)
        yield from linear(B * n, s.d, s.d)

    side = SIDE
    for i in range(s.convs):
        side = (side + 1) // 2
        yield from linear(B * s.n * side**2, 9 * (CHANNELS if i else 1), CHANNELS, data=i == 0)
    for i in range(s.layers):
        d, data = (s.d_in, not s.convs) if i == 0 else (s.d, False)
        if s.encoder == "rFF":
            yield from linear(B * s.n, d, s.d, data)
        elif s.encoder == "SAB":
            yield from mab(B, s.n, d, s.n, d, data, data)
        else:
            yield from mab(1, s.m, s.d, s.n, d, False, data)
            yield from mab(B, s.n, d, s.m, s.d, data, False)
    if s.seeds:
        yield from mab(1, s.seeds, s.d, s.n, s.d, False, False)
        for _ in range(s.sabs):
            yield from mab(B, s.seeds, s.d, s.seeds, s.d, False, False)
        yield from linear(B * s.seeds, s.d, s.d_out)
