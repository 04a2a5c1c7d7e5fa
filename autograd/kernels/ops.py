"""Ops on a GPU, made of kernels: the arguments are as in ops/, which checks them, and so are the results."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.attention import attention_backward, attention_forward
from autograd.kernels.bias import bias_backward, bias_relu, relu_backward
from autograd.kernels.mixture import mixture_backward, mixture_forward
from autograd.kernels.norm import norm_backward, norm_forward
from autograd.kernels.pooling import max_pool_backward, max_pool_forward
from autograd.kernels.softmax import softmax_backward, softmax_forward
from autograd.ops.common import unbroadcast
from autograd.tape import Result, Together


def softmax(x: Array, mask: Array | None) -> Result:
    """y = softmax(x) over the last axis"""
    y = softmax_forward(x, mask)
    return y, lambda g: softmax_backward(y, g)


def linear(x: Array, weight: Array, bias: Array | None, relu: bool) -> Result:
    """y = x W + b, or max(x W + b, 0)"""
    shape, (d_in, d_out) = x.shape, weight.shape
    x = x.reshape(-1, d_in)
    y = x @ weight
    if relu or bias is not None:
        y = bias_relu(y, bias, relu)
    kept = y if relu else None

    def pull(wanted: tuple[bool, ...], g: Array) -> tuple[Array | None, ...]:
        g = g.reshape(-1, d_out)
        gp = g if kept is None else relu_backward(g, kept)
        return (
            (gp @ weight.T).reshape(shape) if wanted[0] else None,
            x.T @ gp if wanted[1] else None,
            bias_backward(g, kept) if wanted[2] else None,
        )

    return y.reshape(*shape[:-1], d_out), Together(lambda wanted: partial(pull, wanted))


def layer_norm(x: Array, gamma: Array | None, beta: Array | None, plus: Array | None, eps: float) -> Result:
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + plus"""
    shape, d = x.shape, x.shape[-1]
    rows = [None if z is None else z.reshape(-1, d) for z in (x, plus)]
    y, normal, inverse, _ = norm_forward(*rows, None, gamma, beta, False, eps)

    def pull(g: Array) -> tuple[Array, ...]:
        gs, _, sums = norm_backward(g.reshape(-1, d), normal, inverse, gamma, None)
        gs = gs.reshape(shape)
        return gs, sums[0], sums[1], gs

    return y.reshape(shape), Together(lambda wanted: pull, shared=plus is not None)


def residual_norm(
    x: Array,
    z: Array,
    weight: Array,
    bias: Array | None,
    gamma: Array | None,
    beta: Array | None,
    relu: bool,
    eps: float,
) -> Result:
    """y = γ ⊙ ŝ + β, with ŝ the normalised rows of s = x + z W + b, or of s = x + max(z W + b, 0)"""
    shape, (d_in, d) = x.shape, weight.shape
    z = z.reshape(-1, d_in)
    y, normal, inverse, opened = norm_forward(x.reshape(-1, d), z @ weight, bias, gamma, beta, relu, eps)

    def pull(wanted: tuple[bool, ...], g: Array) -> tuple[Array | None, ...]:
        gs, gp, sums = norm_backward(g.reshape(-1, d), normal, inverse, gamma, opened)
        return (
            gs.reshape(shape),
            (gp @ weight.T).reshape(*shape[:-1], d_in) if wanted[1] else None,
            z.T @ gp if wanted[2] else None,
            sums[2],
            sums[0],
            sums[1],
        )

    return y.reshape(shape), Together(lambda wanted: partial(pull, wanted))


def attention(q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> Result:
    """O = softmax(scale · Q Kᵀ) V for q (..., n, e), k (..., m, e), v (..., m, f), a mask that broadcasts, or None"""
    xp, shapes = array_module(q), (q.shape, k.shape, v.shape)
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    seen, pairs = _masks(mask, lead, k.shape[-2], q.shape[-2])
    q, k, v = (_sets_and_heads(x, lead, x.shape[-2:]) for x in (q, k, v))
    given = (q, k, v, seen, pairs, scale)
    o, L = attention_forward(*given)

    def pull(g: Array) -> tuple[Array, ...]:
        gradients = attention_backward(*given, o, L, _sets_and_heads(g, lead, o.shape[2:]))
        return tuple(
            unbroadcast(x.reshape(*lead, *x.shape[2:]), shape) for x, shape in zip(gradients, shapes, strict=True)
        )

    return xp.reshape(o, (*lead, *o.shape[2:])), Together(lambda wanted: pull)


def _masks(mask: Array | None, lead: tuple[int, ...], m: int, n: int) -> tuple[Array | None, Array | None]:
    """Which keys are seen by anybody, (B, h, m), and, if that is not all there is to say, by whom: (B, h, n, m)."""
    if mask is None:
        return None, None
    if mask.shape[-2] == 1:
        return _sets_and_heads(mask[..., 0, :], lead, (m,)), None
    return _sets_and_heads(mask.any(axis=-2), lead, (m,)), _sets_and_heads(mask, lead, (n, m))


def _sets_and_heads(x: Array, lead: tuple[int, ...], rest: tuple[int, ...]) -> Array:
    """x broadcast to the leading dimensions and the rest, with the leading ones as two: sets and heads."""
    x = array_module(x).broadcast_to(x, (*lead, *rest))
    return x.reshape(math.prod(lead[:-1]), lead[-1] if lead else 1, *rest)


def max_pool(x: Array, mask: Array | None, axis: int) -> Result:
    """y = max x over an axis, of the elements present"""
    shape, n = x.shape, x.shape[axis]
    inside = math.prod(shape[axis + 1 :])
    sets = math.prod(shape[:axis])  # not -1, which an empty array leaves open
    x, mask = x.reshape(sets, n, inside), None if mask is None else mask.reshape(sets, n)
    y, arg, ties = max_pool_forward(x, mask)

    def gx(g: Array) -> Array:
        return max_pool_backward(g.reshape(y.shape), x, y, arg, ties, mask).reshape(shape)

    return y.reshape(*shape[:axis], *shape[axis + 1 :]), gx


def gaussian_mixture_log_likelihood(x: Array, log_pi: Array, mu: Array, sigma: Array) -> Result:
    """ℓᵢ = log Σₖ πₖ N(xᵢ; μₖ, diag σₖ²)"""
    likelihood, r = mixture_forward(x, log_pi, mu, sigma)
    return likelihood, Together(lambda wanted: lambda g: mixture_backward(g, r, x, mu, sigma, wanted))
