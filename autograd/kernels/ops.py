"""GPU forms of the ops, built from kernels.

Every function takes `needs_grad`, one boolean per input, then the arrays; it returns y and pull.
A form serves CuPy arrays of one dtype that the kernels support, if its condition holds.  (The op has already checked
their shapes.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd.backend import Array, array_module, on_gpu
from autograd.fast.backward import new_gradients
from autograd.forms import form_of
from autograd.kernels import products
from autograd.kernels.attention import WIDEST as WIDEST_HEAD
from autograd.kernels.attention import attention_backward, attention_forward
from autograd.kernels.bias import bias_backward, bias_relu, relu_backward
from autograd.kernels.mixture import mixture_backward, mixture_forward
from autograd.kernels.norm import WIDEST, norm_backward, norm_forward
from autograd.kernels.pooling import max_pool_backward, max_pool_forward
from autograd.kernels.registry import DTYPES
from autograd.kernels.softmax import softmax_backward, softmax_forward
from autograd.ops import linalg, loss, nn, pooling
from autograd.ops import softmax as plain_softmax
from autograd.ops.reduce import axes_of
from autograd.tape import Pull

Flags = Sequence[bool]


def gpu_form(op: Any, condition: Callable[..., bool]) -> Callable[[Any], Any]:
    """Attach the decorated function to an op, for arguments that satisfy the condition."""

    def serves(needs_grad: Flags, first: Any, *others: Any, **settings: Any) -> bool:
        if not on_gpu(first) or first.dtype.name not in DTYPES:
            return False
        same_dtype = all(x is None or (on_gpu(x) and x.dtype == first.dtype) for x in others)
        return same_dtype and condition(first, *others, **settings)

    return form_of(op, "compute", serves=serves)


@gpu_form(plain_softmax.softmax, lambda x, axis=-1, mask=None: axis in (-1, x.ndim - 1))
@new_gradients
def softmax(needs_grad: Flags, x: Array, *, axis: int = -1, mask: Array | None = None) -> tuple[Array, Pull]:
    """y = softmax(x) over the last axis"""
    y = softmax_forward(x, mask)
    return y, lambda g: (softmax_backward(y, g),)


@gpu_form(linalg.matmul, lambda x, y: min(x.ndim, y.ndim) > 1)
@new_gradients
def matmul(needs_grad: Flags, x: Array, y: Array) -> tuple[Array, Pull]:
    """z = x y for batches of matrices"""

    def pull(g: Array) -> tuple[Array | None, ...]:
        return (
            products.matmul(g, y.swapaxes(-1, -2)) if needs_grad[0] else None,
            products.matmul(x.swapaxes(-1, -2), g) if needs_grad[1] else None,
        )

    return products.matmul(x, y), pull


@gpu_form(nn.linear, lambda x, weight, bias: x.size and weight.size)
@new_gradients
def linear(needs_grad: Flags, x: Array, weight: Array, bias: Array | None, *, relu: bool = False) -> tuple[Array, Pull]:
    """y = x W + b, or max(x W + b, 0)"""
    shape, (d_in, d_out) = x.shape, weight.shape
    x = x.reshape(-1, d_in)
    y = x @ weight
    if relu or bias is not None:
        y = bias_relu(y, bias, relu)
    relu_output = y if relu else None

    def pull(g: Array) -> tuple[Array | None, ...]:
        g = g.reshape(-1, d_out)
        gp = g if relu_output is None else relu_backward(g, relu_output)
        return (
            (gp @ weight.T).reshape(shape) if needs_grad[0] else None,
            x.T @ gp if needs_grad[1] else None,
            bias_backward(g, relu_output) if needs_grad[2] else None,
        )

    return y.reshape(*shape[:-1], d_out), pull


@gpu_form(nn.layer_norm, lambda x, *vectors, eps=0.0: x.ndim and 0 < x.shape[-1] <= WIDEST)
def layer_norm(
    needs_grad: Flags, x: Array, gamma: Array | None, beta: Array | None, r: Array | None = None, *, eps: float = 1e-5
) -> tuple[Array, Pull]:
    """y = γ ⊙ ŝ + β, with ŝ the normalized rows of s = x + r"""
    shape, d = x.shape, x.shape[-1]
    rows = [None if z is None else z.reshape(-1, d) for z in (x, r)]
    y, normalized, inverse_std, _ = norm_forward(*rows, None, gamma, beta, False, eps)
    has_r = r is not None

    def pull(g: Array) -> tuple[Array, ...]:
        gs, _, sums = norm_backward(g.reshape(-1, d), normalized, inverse_std, gamma, None)
        gs = gs.reshape(shape)
        gradients = gs, sums[0], sums[1]
        return (*gradients, gs) if has_r else gradients

    pull.new = not has_r  # type: ignore[attr-defined]
    return y.reshape(shape), pull


@new_gradients
def residual_norm(
    needs_grad: Flags,
    x: Array,
    z: Array,
    weight: Array,
    bias: Array | None,
    gamma: Array | None,
    beta: Array | None,
    *,
    relu: bool,
    eps: float,
) -> tuple[Array, Pull]:
    """y = γ ⊙ ŝ + β, with ŝ the normalized rows of s = x + z W + b, or of s = x + max(z W + b, 0)"""
    d_in, d = weight.shape
    shape = (*z.shape[:-1], d)
    x, z = array_module(x).broadcast_to(x, shape), z.reshape(-1, d_in)
    y, normalized, inverse_std, relu_mask = norm_forward(x.reshape(-1, d), z @ weight, bias, gamma, beta, relu, eps)

    def pull(g: Array) -> tuple[Array | None, ...]:
        gs, gp, sums = norm_backward(g.reshape(-1, d), normalized, inverse_std, gamma, relu_mask)
        return (
            gs.reshape(shape),
            (gp @ weight.T).reshape(*shape[:-1], d_in) if needs_grad[1] else None,
            z.T @ gp if needs_grad[2] else None,
            sums[2],
            sums[0],
            sums[1],
        )

    return y.reshape(shape), pull


@gpu_form(nn.split_heads, lambda x, heads: True)
def split_heads(needs_grad: Flags, x: Array, *, heads: int) -> tuple[Array, Pull]:
    """(..., n, d) -> (..., h, n, d/h), a view: the kernels accept strided heads"""
    *lead, n, d = x.shape
    return x.reshape(*lead, n, heads, d // heads).swapaxes(-2, -3), lambda g: (g.swapaxes(-2, -3).reshape(x.shape),)


def _head_fits(q: Array, k: Array, v: Array, **settings: Any) -> bool:
    return 0 < q.shape[-1] <= WIDEST_HEAD and 0 < v.shape[-1] <= WIDEST_HEAD


@gpu_form(nn.attention, _head_fits)
@new_gradients
def attention(
    needs_grad: Flags, q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None
) -> tuple[Array, Pull]:
    """O = softmax(scale · Q Kᵀ) V for q (..., n, e), k (..., m, e), v (..., m, f), a mask that broadcasts, or None"""
    mask = None if mask is None else nn.score_mask(mask, q, k)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    xp = array_module(q)
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    key_mask, pair_mask = _masks(mask, lead, k.shape[-2], q.shape[-2])
    q, k, v = (_as_sets_and_heads(x, lead, x.shape[-2:]) for x in (q, k, v))
    inputs = (q, k, v, key_mask, pair_mask, scale)
    o, L = attention_forward(*inputs)

    def pull(g: Array) -> tuple[Array, ...]:
        gradients = attention_backward(*inputs, o, L, _as_sets_and_heads(g, lead, o.shape[2:]))
        return tuple(x.reshape(*lead, *x.shape[2:]) for x in gradients)

    return xp.reshape(o, (*lead, *o.shape[2:])), pull


def _masks(mask: Array | None, lead: tuple[int, ...], m: int, n: int) -> tuple[Array | None, Array | None]:
    """Which keys any query attends to, (B, h, m), and, if queries differ, which keys each attends to, (B, h, n, m)."""
    if mask is None:
        return None, None
    if mask.shape[-2] == 1:
        return _as_sets_and_heads(mask[..., 0, :], lead, (m,)), None
    return _as_sets_and_heads(mask.any(axis=-2), lead, (m,)), _as_sets_and_heads(mask, lead, (n, m))


def _as_sets_and_heads(x: Array, lead: tuple[int, ...], rest: tuple[int, ...]) -> Array:
    """x broadcast to (*lead, *rest), with the leading dimensions reshaped to two: sets and heads."""
    x = array_module(x).broadcast_to(x, (*lead, *rest))
    return x.reshape(math.prod(lead[:-1]), lead[-1] if lead else 1, *rest)


@gpu_form(pooling.max_pool, lambda x, axis=-2, mask=None: True)
@new_gradients
def max_pool(needs_grad: Flags, x: Array, *, axis: int = -2, mask: Array | None = None) -> tuple[Array, Pull]:
    """y = max x over the valid elements of an axis"""
    (axis,) = axes_of(x, axis)
    shape, n = x.shape, x.shape[axis]
    inside = math.prod(shape[axis + 1 :])
    sets = math.prod(shape[:axis])  # not -1, which is ambiguous for an empty array
    x, mask = x.reshape(sets, n, inside), None if mask is None else mask.reshape(sets, n)
    y, arg, ties = max_pool_forward(x, mask)

    def pull(g: Array) -> tuple[Array]:
        return (max_pool_backward(g.reshape(y.shape), x, y, arg, ties, mask).reshape(shape),)

    return y.reshape(*shape[:axis], *shape[axis + 1 :]), pull


@gpu_form(loss.gaussian_mixture_log_likelihood, lambda x, log_pi, mu, sigma: mu.shape[-2] > 0)
@new_gradients
def gaussian_mixture_log_likelihood(
    needs_grad: Flags, x: Array, log_pi: Array, mu: Array, sigma: Array
) -> tuple[Array, Pull]:
    """ℓᵢ = log Σₖ πₖ N(xᵢ; μₖ, diag σₖ²)"""
    likelihood, r = mixture_forward(x, log_pi, mu, sigma)
    return likelihood, lambda g: mixture_backward(g, r, x, mu, sigma, tuple(needs_grad))
