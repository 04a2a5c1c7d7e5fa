"""Oracles of autograd/ops/pooling.py."""

import numpy as np

from tests.helpers.oracles.cells import filled, from_front, pick, reduce_cells
from tests.helpers.oracles.scalars import largest, mean_of


def pool(x, function, axis, mask):
    """function(present values) along the axis, 0 if there are none"""
    axis = from_front(axis, x.ndim)
    return reduce_cells(
        x,
        lambda values: function(values) if values else 0.0,
        [axis],
        present=lambda cell: mask is None or mask[cell[: axis + 1]],
    )


def max_pool(x, *, axis=-2, mask=None):
    """y = the largest present x_i, 0 for nothing"""
    return pool(x, largest, axis, mask)


def mean_pool(x, *, axis=-2, mask=None):
    """y = mean of the present x_i, 0 for nothing"""
    return pool(x, mean_of, axis, mask)


def dropout(x, *, p, rng):
    """y = x / (1 - p) where a uniform draw is at least p, else 0"""
    if p == 0:
        return filled(x.shape, (x[cell] for cell in np.ndindex(*x.shape)))
    keep = rng.random(x.shape, dtype=x.dtype) >= p
    return filled(x.shape, (float(x[c]) / (1 - p) if pick(keep, c) else 0.0 for c in np.ndindex(*x.shape)))
