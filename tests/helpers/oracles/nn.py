"""Oracles of autograd/ops/nn.py."""

import math

import numpy as np

from tests.helpers.oracles.cells import broadcast_shape, elementwise, map_cells, pick
from tests.helpers.oracles.scalars import largest, mean_of, quotient, softmax_of, total, variance_of


def linear(x, weight, bias=None):
    """y[..., o] = sum_i x[..., i] weight[i, o] + bias[o]"""
    d_in, d_out = weight.shape
    result = np.empty((*x.shape[:-1], d_out), dtype=np.float64)
    for *lead, o in np.ndindex(*result.shape):
        terms = [float(x[(*lead, i)]) * float(weight[i, o]) for i in range(d_in)]
        result[(*lead, o)] = total(terms if bias is None else [*terms, float(bias[o])])
    return result


relu = elementwise("y = the larger of x and 0", lambda x: largest([x, 0.0]))


def standardized(values, eps):
    """(v_i - mean) / sqrt(var + eps)"""
    mean, deviation = mean_of(values), math.sqrt(variance_of(values) + eps)
    return [quotient(value - mean, deviation) for value in values]


def scaled_and_shifted(x, gamma, beta, axis):
    """x gamma_c + beta_c, c the index along the axis"""
    result = np.empty(x.shape, dtype=np.float64)
    for cell in np.ndindex(*x.shape):
        scale = 1.0 if gamma is None else float(gamma[cell[axis]])
        result[cell] = float(x[cell]) * scale + (0.0 if beta is None else float(beta[cell[axis]]))
    return result


def layer_norm(x, gamma=None, beta=None, *, eps=1e-5):
    """y_i = (x_i - mean) / sqrt(var + eps) gamma_i + beta_i over the last axis of x"""
    unit = map_cells(x, lambda values: standardized(values, eps), [x.ndim - 1])
    return scaled_and_shifted(unit, gamma, beta, x.ndim - 1)


def attention(q, k, v, *, mask=None, scale=None):
    """y_i = sum_j softmax_j(scale <q_i, k_j>) v_j over the present keys j, zeros if there are none"""
    scores_lead = broadcast_shape(q.shape[:-2], k.shape[:-2])
    lead_shape = broadcast_shape(scores_lead, v.shape[:-2])
    (queries, width), keys, features = q.shape[-2:], k.shape[-2], v.shape[-1]
    scale = 1 / math.sqrt(width) if scale is None else scale
    per_batch = mask is not None and mask.ndim == 2 and max(q.ndim, k.ndim) > 2

    def present(lead, i, j):
        if mask is None:
            return True
        scores_cell = lead[len(lead_shape) - len(scores_lead) :]
        return pick(mask, (scores_cell[0], j) if per_batch else (*scores_cell, i, j))

    result = np.zeros((*lead_shape, queries, features), dtype=np.float64)
    for *lead, i in np.ndindex(*lead_shape, queries):
        chosen = [j for j in range(keys) if present(lead, i, j)]
        scores = [
            scale * total([pick(q, (*lead, i, e)) * pick(k, (*lead, j, e)) for e in range(width)]) for j in chosen
        ]
        weights = softmax_of(scores)
        for f in range(features):
            terms = [w * pick(v, (*lead, j, f)) for w, j in zip(weights, chosen, strict=True)]
            result[(*lead, i, f)] = total(terms)
    return result


def split_heads(x, *, heads):
    """y[..., j, i, f] = x[..., i, j e + f] for heads of e features"""
    *lead, n, d = x.shape
    e = d // heads
    result = np.empty((*lead, heads, n, e), dtype=np.float64)
    for *cell, j, i, f in np.ndindex(*result.shape):
        result[(*cell, j, i, f)] = x[(*cell, i, j * e + f)]
    return result


def join_heads(x):
    """y[..., i, j e + f] = x[..., j, i, f]"""
    *lead, heads, n, e = x.shape
    result = np.empty((*lead, n, heads * e), dtype=np.float64)
    for *cell, j, i, f in np.ndindex(*x.shape):
        result[(*cell, i, j * e + f)] = x[(*cell, j, i, f)]
    return result
