"""The losses that training minimizes, and the likelihood that it maximizes.

A loss has a value for each element; reduction="mean" (the default) or "sum" reduces them to a scalar, and "none"
returns them all.  The mean of no elements is 0, so that an empty batch has no effect.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.backend import Array, array_module, special
from autograd.ops.functions import logistic
from autograd.registry import checked_by
from autograd.tape import Result, Vjp, op


def reducible(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a pure loss the setting `reduction`, so that its vjps only need to handle individual elements."""

    @functools.wraps(function)
    def reduced(*inputs: Array, reduction: str = "mean", **settings: Any) -> Result:
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction must be 'mean', 'sum' or 'none', given {reduction!r}")
        losses, vjps = function(*inputs, **settings)
        if reduction == "none":
            return losses, vjps
        share = 1 / max(losses.size, 1) if reduction == "mean" else 1
        shape, vjps = losses.shape, vjps if isinstance(vjps, tuple) else (vjps,)

        def per_element(vjp: Vjp) -> Vjp:
            return lambda g: vjp(array_module(g).broadcast_to(g * share, shape))

        return losses.sum() * share, tuple(per_element(vjp) for vjp in vjps)

    signature = inspect.signature(function)
    setting = inspect.Parameter("reduction", inspect.Parameter.KEYWORD_ONLY, default="mean", annotation=str)
    reduced.__signature__ = signature.replace(parameters=[*signature.parameters.values(), setting])  # type: ignore[attr-defined]
    return reduced


def _same_shape(x: Array, y: Array) -> None:
    shapes = getattr(x, "shape", ()), getattr(y, "shape", ())
    if shapes[0] != shapes[1]:  # (B,) and (B, 1) would broadcast to (B, B), which is never intended
        raise ValueError(f"prediction and target must have the same shape, given {shapes[0]} and {shapes[1]}")


@op
@reducible
def absolute_error(x: Array, y: Array) -> Result:
    """ℓ = |x − y|          gx = g ⊙ sign(x − y),   gy = −gx"""
    _same_shape(x, y)
    xp, difference = array_module(x, y), x - y
    return xp.abs(difference), (lambda g: g * xp.sign(difference), lambda g: -g * xp.sign(difference))


@op
@reducible
def squared_error(x: Array, y: Array) -> Result:
    """ℓ = (x − y)²          gx = 2 g ⊙ (x − y),   gy = −gx"""
    _same_shape(x, y)
    difference = x - y
    return difference * difference, (lambda g: 2 * g * difference, lambda g: -2 * g * difference)


@op
@reducible
def cross_entropy(logits: Array, *, labels: Array) -> Result:
    """ℓ = −log softmax(z)[label] = log Σ eᶻ − z[label]          gz = g (softmax z − onehot(label))

    logits are (..., classes), labels integers (...).
    """
    if logits.ndim == 0:
        raise ValueError("logits must have a last dimension, the classes")
    xp, classes = array_module(logits), logits.shape[-1]
    labels = xp.asarray(labels)
    if labels.dtype.kind not in "iu" or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"labels must be integers of shape {logits.shape[:-1]}, given {labels.dtype} of shape {labels.shape}"
        )
    # On a GPU reading the labels forces a device sync, so there the caller must ensure that they are valid.
    if xp is np and labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise ValueError(f"labels must lie in 0 … {classes - 1}, given {labels.min()} … {labels.max()}")
    one_hot = xp.arange(classes) == labels[..., None]
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p -= xp.log(xp.exp(log_p).sum(axis=-1, keepdims=True))
    losses = -xp.where(one_hot, log_p, 0).sum(axis=-1)
    return losses, lambda g: g[..., None] * (xp.exp(log_p) - one_hot)


@op
@reducible
def binary_cross_entropy_with_logits(x: Array, target: Array) -> Result:
    """ℓ = −t log σ(x) − (1 − t) log(1 − σ(x)) = max(x, 0) − x t + log(1 + e^−|x|)

    gx = g (σ(x) − t),     gt = −g x
    """
    _same_shape(x, target)
    xp = array_module(x, target)
    losses = xp.maximum(x, 0) - x * target + xp.log1p(xp.exp(-xp.abs(x)))
    return losses, (lambda g: g * (logistic(x) - target), lambda g: -g * x)


@op
@reducible
def poisson_negative_log_likelihood(rate: Array, *, count: Array) -> Result:
    """ℓ = −log Poisson(count; λ) = λ − count log λ + log count!          gλ = g (1 − count / λ)"""
    xp = array_module(rate)
    count = xp.asarray(count).astype(rate.dtype)
    _same_shape(rate, count)
    safe_rate = xp.where(count == 0, 1, rate)  # 0 log 0 = 0
    losses = rate - count * xp.log(safe_rate) + special(count).gammaln(count + 1).astype(rate.dtype)
    return losses, lambda g: g * (1 - count / safe_rate)


def _check_mixture(x: Array, log_pi: Array, mu: Array, sigma: Array) -> None:
    if min(x.ndim, mu.ndim) < 2 or (*x.shape[:-2], x.shape[-1]) != (*mu.shape[:-2], mu.shape[-1]):
        raise ValueError("expected x (..., n, D) and mu (..., k, D) that agree in all but n and k")
    if mu.shape != sigma.shape or log_pi.shape != mu.shape[:-1]:
        raise ValueError("expected log_pi (..., k), mu and sigma (..., k, D) that agree")


@op
@checked_by(_check_mixture)
def gaussian_mixture_log_likelihood(x: Array, log_pi: Array, mu: Array, sigma: Array) -> Result:
    """ℓᵢ = log Σₖ πₖ N(xᵢ; μₖ, diag σₖ²), for x (..., n, D), log π (..., k), μ and σ (..., k, D); ℓ is (..., n)

    With the responsibilities rᵢₖ = πₖ N(xᵢ; μₖ, σₖ) / e^ℓᵢ, wᵢₖ = gᵢ rᵢₖ and zᵢₖ = (xᵢ − μₖ) / σₖ:

    g log πₖ = Σᵢ wᵢₖ,     gμₖ = Σᵢ wᵢₖ zᵢₖ / σₖ,     gσₖ = Σᵢ wᵢₖ (zᵢₖ² − 1) / σₖ,     gxᵢ = −Σₖ wᵢₖ zᵢₖ / σₖ

    Components are computed one at a time, so that memory grows as n D and not as n k D.  The square (x − μ)² is not
    expanded, since its terms would cancel.  Both matter with hundreds of dimensions.
    """
    xp, components, D = array_module(x), range(mu.shape[-2]), x.shape[-1]

    def z(j: int) -> Array:
        return (x - mu[..., j, None, :]) / sigma[..., j, None, :]  # (..., n, D)

    constant = log_pi - xp.log(sigma).sum(axis=-1) - 0.5 * D * math.log(2 * math.pi)  # (..., k)
    joint = xp.stack([constant[..., j, None] - 0.5 * (z(j) ** 2).sum(axis=-1) for j in components], axis=-1)
    top = joint.max(axis=-1, keepdims=True)  # (..., n, 1)
    r = xp.exp(joint - top)
    total = r.sum(axis=-1, keepdims=True)
    log_likelihood = (top + xp.log(total))[..., 0]
    r /= total

    def per_component(part: Callable[[int, Array], Array], g: Array) -> list[Array]:
        return [part(j, (g * r[..., j])[..., None]) for j in components]  # w is (..., n, 1)

    def gx(g: Array) -> Array:
        return -sum(per_component(lambda j, w: w * z(j) / sigma[..., j, None, :], g))

    def gmu(g: Array) -> Array:
        return xp.stack(per_component(lambda j, w: (w * z(j)).sum(axis=-2), g), axis=-2) / sigma

    def gsigma(g: Array) -> Array:
        return xp.stack(per_component(lambda j, w: (w * (z(j) ** 2 - 1)).sum(axis=-2), g), axis=-2) / sigma

    return log_likelihood, (gx, lambda g: (g[..., None] * r).sum(axis=-2), gmu, gsigma)
