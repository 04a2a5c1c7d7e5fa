"""The matrix products of attention, in three orders.

A score is ⟨x W^Q, y W^K⟩ = x W^Q (W^K)ᵀ yᵀ: a product of four factors, which can be multiplied in any order.  So can
those of the output, P y W^V W^O.  The results are equal up to rounding, but the costs differ:

    textbook       (x W^Q) (y W^K)ᵀ    and  (P (y W^V)) W^O     as the equation is written
    few queries    ((x W^Q) (W^K)ᵀ) yᵀ and  ((P y) W^V) W^O     queries attend to the set itself, without projecting it
    few keys       x (W^Q (y W^K)ᵀ)    and  P ((y W^V) W^O)     keys are mapped to the space of the unprojected queries

Each order is one op: a function of NumPy arrays with its gradients, built from the functions in autograd/fast.  W are
the parameters W^Q, b^Q, W^K, b^K, W^V, b^V (and W^O, b^O), where a bias can be None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor
from autograd.backend import Array
from autograd.fast.attention import attention, summed_attention
from autograd.fast.backward import new_gradients
from autograd.fast.rows import Flags, linear, matmul
from autograd.tape import Pull, apply
from minisets.attention import Multihead

MIN_SAVED = 1_000_000  # multiplications; saving fewer does not pay for the extra calls that the other orders make
BOTH, ALL = (True, True), (True, True, True)


def cheapest(block: Multihead, X: Tensor, Y: Tensor, mask: Array | None, residual: bool) -> str:
    """The order with the fewest multiplications; the textbook order if the others save little.

    residual=True also needs the projected queries x W^Q, which rules out "few keys", where they are never computed.
    """
    B, n, m, h = (Y.shape[0] if Y.ndim == 3 else 1), X.shape[-2], Y.shape[-2], block.heads
    d_q, d_k, d, B_q = block.d_q, block.d_k, block.d, X.shape[0] if X.ndim == 3 else 1
    queries, keys, output = B_q * n * d_q * d, 2 * B * m * d_k * d, B * n * d * d
    costs = {
        "textbook": queries + keys + 2 * B * n * m * d + output,
        "few queries": queries + B_q * n * d * d_k + 2 * B * h * n * m * d_k + B * n * d_k * d + output,
    }
    if mask is None and block.style.output and X.ndim == Y.ndim == 3 and B_q == B and not residual:
        costs["few keys"] = keys + B * m * d * (d_q + d) + B * n * h * m * (d_q + d)
    best = min(costs, key=costs.__getitem__)
    return best if costs[best] + MIN_SAVED < costs["textbook"] else "textbook"


def textbook(
    wanted: Flags, x: Array, y: Array | None, *W: Any, heads: int, scale: float, mask: Array | None, residual: bool
) -> tuple[Array, Pull]:
    """concat(O₁, …, O_h); y=None: x attends to itself, with one product for its three projections

    residual=True adds the projected queries x W^Q, as the authors' blocks do.
    """
    (wq, bq, wk, bk, wv, bv), d = W, W[0].shape[1]
    if y is None:
        weights, biases = (wq, wk, wv), (bq, bk, bv)
        projected, pull_x = linear((wanted[0], True, True), x, np.concatenate(weights, axis=1), _concatenate(biases))
        q, k, v = projected[..., :d], projected[..., d : 2 * d], projected[..., 2 * d :]
    else:
        q, pull_x = linear((wanted[0], True, True), x, wq, bq)
        projected, pull_y = linear((wanted[1], True, True), y, np.concatenate((wk, wv), axis=1), _concatenate((bk, bv)))
        k, v = projected[..., :d], projected[..., d:]
    o, pull_o = attention(ALL, *(_split(z, heads) for z in (q, k, v)), mask=_expand_mask(mask, 2), scale=scale)
    joined, to_self, (q_ndim, k_ndim) = _join(o), y is None, (q.ndim, k.ndim)  # pull keeps what it names in memory

    def pull(g: Array) -> tuple[Array | None, ...]:
        gq, gk, gv = (_join(z) for z in pull_o(_split(g, heads)))
        gq = _sum_over_sets(gq + g if residual else gq, q_ndim)
        if to_self:
            gqkv = np.concatenate((gq, gk, gv), axis=-1)
            del gq, gk, gv
            gx, gw, gb = pull_x(gqkv)
            return gx, None, *(z for i in range(3) for z in (gw[:, i * d : i * d + d], gb[i * d : i * d + d]))
        gx, gwq, gbq = pull_x(gq)
        gy, gw, gb = pull_y(np.concatenate([_sum_over_sets(z, k_ndim) for z in (gk, gv)], axis=-1))
        return gx, gy, gwq, gbq, gw[:, :d], gb[:d], gw[:, d:], gb[d:]

    return joined + q if residual else joined, pull


def few_queries(
    wanted: Flags, x: Array, y: Array, *W: Any, heads: int, scale: float, mask: Array | None, residual: bool
) -> tuple[Array, Pull]:
    """The n queries of h heads become h n queries as wide as the set's elements, and all heads share the set.

    b^K has no effect: it adds ⟨q, b⟩ to all scores of a query, and softmax ignores a constant shift.  A query's weights
    sum to 1, so b^V is added once, unless the query has no keys.
    """
    wq, bq, wk, bk, wv, bv = W
    h, (d_k, d) = heads, wk.shape
    e = d // h
    q, pull_q = linear((wanted[0], True, True), x, wq, bq)  # (.., n, d)
    p, pull_p = matmul(BOTH, _split(q, h), wk.reshape(d_k, h, e).transpose(1, 2, 0))  # (.., h, n, d_k)
    n, flat = q.shape[-2], (*p.shape[:-3], h * q.shape[-2], d_k)
    o, pull_o = attention((True, wanted[1], wanted[1]), p.reshape(flat), y, y, mask=_expand_mask(mask, 1), scale=scale)
    o = o.reshape(*o.shape[:-2], h, n, d_k)
    v, pull_v = matmul(BOTH, o, wv.reshape(d_k, h, e).swapaxes(0, 1))  # (.., h, n, e)
    out = _join(v)
    out = out if bv is None else out + bv
    has_keys = None if mask is None else mask.any(axis=-1)[..., None, None]
    if has_keys is not None:
        out = np.where(has_keys, out, 0)

    ndim, p_shape, y_ndim = q.ndim, p.shape, y.ndim

    def pull(g: Array) -> tuple[Array | None, ...]:
        gq = g
        g = g if has_keys is None else np.where(has_keys, g, 0)
        go, gwv = pull_v(_split(g, h))
        gp, gy, gv = pull_o(go.reshape(*go.shape[:-3], h * n, d_k))
        if wanted[1]:
            gy += gv  # y is keys and values
            gy = _sum_over_sets(gy, y_ndim)
        gp, gwk = pull_p(_sum_over_sets(gp, ndim).reshape(p_shape))
        gx, gwq, gbq = pull_q(_join(gp) + _sum_over_sets(gq, ndim) if residual else _join(gp))
        gbk = None if bk is None else np.zeros_like(bk)
        gbv = None if bv is None else g.reshape(-1, d).sum(axis=0)
        return gx, gy, gwq, gbq, gwk.transpose(2, 0, 1).reshape(d_k, d), gbk, gwv.swapaxes(0, 1).reshape(d_k, d), gbv

    return out + q if residual else out, pull


def few_keys(wanted: Flags, x: Array, y: Array, *W: Any, heads: int, scale: float) -> tuple[Array, Pull]:
    """concat(O₁, …, O_h) W^O, for x (B, n, d_q) and y (B, m, d_k) without a mask

    b^Q adds ⟨b, k⟩ to all scores of a key k.  The weights of each head sum to 1, those of all heads to h, so each value
    includes b^O / h.
    """
    wq, bq, wk, bk, wv, bv, wo, bo = W
    h, (d_q, d) = heads, wq.shape
    e = d // h
    projected, pull_y = linear((wanted[1], True, True), y, np.concatenate((wk, wv), axis=1), _concatenate((bk, bv)))
    k, v = _split(projected[..., :d], h), _split(projected[..., d:], h)  # (B, h, m, e)
    keys, pull_keys = matmul(BOTH, k * scale, wq.reshape(d_q, h, e).transpose(1, 2, 0))  # (B, h, m, d_q)
    b = np.zeros((h, e), x.dtype) if bq is None else bq.reshape(h, e) * scale
    key_bias = np.einsum("bhme,he->bhm", k, b)
    values, pull_values = matmul(BOTH, v, wo.reshape(h, e, d))  # (B, h, m, d)
    values = values if bo is None else values + bo / h
    out, pull_o = summed_attention((wanted[0], True, True, True), x, keys, key_bias, values)

    def pull(g: Array) -> tuple[Array | None, ...]:
        gx, gkeys, gkey_bias, gvalues = pull_o(g)
        gk, gwq = pull_keys(gkeys)
        gk = gk * scale + gkey_bias[..., None] * b[:, None]
        gbq = None if bq is None else np.einsum("bhm,bhme->he", gkey_bias, k).reshape(d) * scale
        gv, gwo = pull_values(gvalues)
        gbo = None if bo is None else gvalues.reshape(-1, d).sum(axis=0) / h
        gy, gw, gb = pull_y(np.concatenate((_join(gk), _join(gv)), axis=-1))
        gwq = gwq.transpose(2, 0, 1).reshape(d_q, d)
        return gx, gy, gwq, gbq, gw[:, :d], gb[:d], gw[:, d:], gb[d:], gwo.reshape(d, d), gbo

    return out, pull


def _split(x: Array, h: int) -> Array:
    """(..., n, d) -> (..., h, n, e), a view"""
    *lead, n, d = x.shape
    return x.reshape(*lead, n, h, d // h).swapaxes(-2, -3)


def _join(x: Array) -> Array:
    """(..., h, n, e) -> (..., n, d)"""
    *lead, h, n, e = x.shape
    return x.swapaxes(-2, -3).reshape(*lead, n, h * e)


def _concatenate(biases: tuple[Any, ...]) -> Array | None:
    return None if biases[0] is None else np.concatenate(biases)


def _expand_mask(mask: Array | None, axes: int) -> Array | None:
    """The mask (B, m) of the keys, or (m,) of a single set, with axes for heads and queries inserted before m."""
    return None if mask is None else mask.reshape(*mask.shape[:-1], *[1] * axes, mask.shape[-1])


def _sum_over_sets(g: Array, ndim: int) -> Array:
    """The gradient of an array that all sets share: the sum over the sets."""
    return g.sum(axis=0) if g.ndim > ndim else g


ORDERS = {
    "textbook": new_gradients(textbook),
    "few queries": new_gradients(few_queries),
    "few keys": new_gradients(few_keys),
}


def multihead(order: str, *inputs: Any, **settings: Any) -> Tensor:
    """Multihead attention in one of the ORDERS, as an op on Tensors."""
    return apply("multihead", ORDERS[order], inputs, settings)
