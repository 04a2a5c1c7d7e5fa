"""Oracles of autograd/ops/linalg.py."""

import numpy as np

from tests.helpers.oracles.cells import broadcast_shape, filled, pick
from tests.helpers.oracles.scalars import total


def matmul(x, y):
    """z[..., r, c] = sum_i x[..., r, i] y[..., i, c]; a vector has no r or c"""
    rows = x.shape[-2:-1]
    columns = y.shape[-1:] if y.ndim > 1 else ()
    batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
    result = np.empty(batch + rows + columns, dtype=np.float64)
    for cell in np.ndindex(*result.shape):
        lead, row = cell[: len(batch)], cell[len(batch) : len(batch + rows)]
        column = cell[len(batch + rows) :]
        inner = range(x.shape[-1])
        result[cell] = total([pick(x, (*lead, *row, i)) * pick(y, (*lead, i, *column)) for i in inner])
    return result


def einsum(subscripts, x, y):
    """z[output letters] = sum over the other letters of x[its letters] y[its letters]"""
    operands, arrow, output = subscripts.replace(" ", "").partition("->")
    x_letters, y_letters = operands.split(",")
    letters = sorted(set(x_letters + y_letters))
    if not arrow:
        output = "".join(letter for letter in letters if (x_letters + y_letters).count(letter) == 1)
    extents = {}
    for letter, extent in [*zip(x_letters, x.shape, strict=True), *zip(y_letters, y.shape, strict=True)]:
        extents[letter] = extent if extent != 1 else extents.get(letter, 1)
    summed = [letter for letter in letters if letter not in output]
    results = []
    for cell in np.ndindex(*[extents[letter] for letter in output]):
        terms = []
        for inner in np.ndindex(*[extents[letter] for letter in summed]):
            at = dict(zip([*output, *summed], [*cell, *inner], strict=True))
            terms.append(pick(x, [at[i] for i in x_letters]) * pick(y, [at[i] for i in y_letters]))
        results.append(total(terms))
    return filled([extents[letter] for letter in output], results)
