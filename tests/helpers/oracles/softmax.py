"""Oracles of autograd/ops/softmax.py."""

import numpy as np

from tests.helpers.oracles.cells import axes_of, map_cells, pick
from tests.helpers.oracles.scalars import log_softmax_of, softmax_of


def softmax(x, *, axis=-1, mask=None):
    """y_i = e^x_i / sum_j e^x_j over the allowed j, exactly 0 where not allowed"""
    mask = np.asarray(True if mask is None else mask)
    return map_cells(x, softmax_of, axes_of(axis, x.ndim), present=lambda cell: pick(mask, cell))


def log_softmax(x, *, axis=-1):
    """y_i = x_i - log sum_j e^x_j"""
    return map_cells(x, log_softmax_of, axes_of(axis, x.ndim))
