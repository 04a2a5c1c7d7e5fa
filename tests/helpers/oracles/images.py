"""Oracles of autograd/ops/images.py."""

import math

import numpy as np

from tests.helpers.oracles.cells import from_front, map_cells
from tests.helpers.oracles.nn import scaled_and_shifted, standardized
from tests.helpers.oracles.scalars import quotient, total


def pair(setting):
    """(rows, columns) from an int for both or a pair."""
    return (setting, setting) if isinstance(setting, (int, np.integer)) else tuple(setting)


def conv2d(x, weight, bias=None, *, stride=1, padding=0):
    """y[n, o, r, c] = bias[o] + sum_kij weight[o, k, i, j] x[n, k, r stride + i - pad, c stride + j - pad]"""
    (count, _, height, width), (d_out, d_in, *kernel) = x.shape, weight.shape
    stride, padding = pair(stride), pair(padding)
    rows, columns = [
        (extent + 2 * p - k) // s + 1 for extent, p, k, s in zip((height, width), padding, kernel, stride, strict=True)
    ]
    result = np.empty((count, d_out, rows, columns), dtype=np.float64)
    for n, o, r, c in np.ndindex(*result.shape):
        terms = [] if bias is None else [float(bias[o])]
        for k, i, j in np.ndindex(d_in, *kernel):
            row, column = r * stride[0] + i - padding[0], c * stride[1] + j - padding[1]
            if 0 <= row < height and 0 <= column < width:
                terms.append(float(weight[o, k, i, j]) * float(x[n, k, row, column]))
        result[n, o, r, c] = total(terms)
    return result


def batch_norm(x, gamma=None, beta=None, *, axis=1, eps=1e-5, statistics=None, frozen=False):
    """y = (x - mean_c) / sqrt(var_c + eps) gamma_c + beta_c for the cells of each channel c"""
    axis = from_front(axis, x.ndim)
    if statistics is None:
        others = [a for a in range(x.ndim) if a != axis]
        unit = map_cells(x, lambda values: standardized(values, eps), others)
    else:
        unit = np.empty(x.shape, dtype=np.float64)
        for cell in np.ndindex(*x.shape):
            mean, variance = [float(statistic[cell[axis]]) for statistic in statistics]
            unit[cell] = quotient(float(x[cell]) - mean, math.sqrt(variance + eps))
    return scaled_and_shifted(unit, gamma, beta, axis)
