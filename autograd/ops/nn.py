"""The layers of a network that are more than a product: softmax, normalisation, pooling over a set, dropout.

A mask is boolean, True where an element is present.  What it hides has no influence at all, whatever is stored there:
nan and infinity included, values and gradients alike.
"""

from __future__ import annotations

import math

import numpy as np

from autograd import forms
from autograd.backend import Array, array_module, beside
from autograd.fast import images
from autograd.fast import rows as fast
from autograd.kernels import norm
from autograd.kernels import ops as kernels
from autograd.ops.common import leading_axes, once
from autograd.ops.linalg import linear
from autograd.ops.reduce import axes_of, finish
from autograd.tape import Result, op


def masked_softmax(x: Array, axis: int, mask: Array | None) -> Array:
    """eˣ / Σ eˣ over what is present; what is hidden gets exactly 0, and so does all where nothing is present."""
    xp = array_module(x)
    if x.shape[axis] == 0:
        return xp.zeros_like(x)
    if mask is not None:
        x = xp.where(mask, x, -math.inf)
    top = x.max(axis=axis, keepdims=True)  # subtracted so that no exponential overflows
    e = xp.exp(x - xp.where(top == -math.inf, 0, top))
    total = e.sum(axis=axis, keepdims=True)
    e /= xp.where(total == 0, 1, total)
    return e


@op
def softmax(x: Array, *, axis: int = -1, mask: Array | None = None) -> Result:
    """y = eˣ / Σ eˣ          gx = y ⊙ (g − Σ g ⊙ y)"""
    (axis,) = axes_of(x, axis)
    if mask is not None:
        require_mask(mask)
        if np.broadcast_shapes(mask.shape, x.shape) != x.shape:
            raise ValueError(f"expected a mask that broadcasts to {x.shape}, given {mask.shape}")
    if forms.fused(x) and axis == x.ndim - 1:
        return kernels.softmax(x, mask)
    y = masked_softmax(x, axis, mask)
    return y, lambda g: y * (g - (g * y).sum(axis=axis, keepdims=True))


@op
def log_softmax(x: Array, *, axis: int = -1) -> Result:
    """y = x − log Σ eˣ          gx = g − eʸ Σ g"""
    xp, (axis,) = array_module(x), axes_of(x, axis)
    if x.shape[axis] == 0:
        return x, lambda g: g
    y = x - x.max(axis=axis, keepdims=True)
    y -= xp.log(xp.exp(y).sum(axis=axis, keepdims=True))
    return y, lambda g: g - xp.exp(y) * g.sum(axis=axis, keepdims=True)


@op
def layer_norm(
    x: Array, gamma: Array | None = None, beta: Array | None = None, plus: Array | None = None, *, eps: float = 1e-5
) -> Result:
    """y = γ ⊙ x̂ + β,   x̂ = (x − mean x) / √(var x + ε), over the last axis

    gx = (h − mean h − x̂ ⊙ mean(h ⊙ x̂)) / √(var x + ε)  with h = γ ⊙ g,     gγ = Σ g ⊙ x̂,     gβ = Σ g

    Given plus, it is x + plus that is normalised, as after a residual connection; both receive the same gradient.
    """
    xp, eps = array_module(x), float(eps)
    for name, vector in (("gamma", gamma), ("beta", beta)):
        if vector is not None and vector.shape != x.shape[-1:]:
            raise ValueError(f"expected {name} of shape {x.shape[-1:]}, given {vector.shape}")
    if plus is not None and plus.shape != x.shape:
        raise ValueError("expected x and plus of the same shape")
    if forms.fast(x, gamma, beta, plus) and x.size:
        return fast.layer_norm(x, gamma, beta, plus, eps)
    if forms.fused(x, gamma, beta, plus) and 0 < x.shape[-1] <= norm.WIDEST:
        return kernels.layer_norm(x, gamma, beta, plus, eps)
    x = x if plus is None else x + plus
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    normal = centred * inverse
    y = normal if gamma is None else normal * gamma
    y = y if beta is None else y + beta

    @once
    def gx(g: Array) -> Array:
        h = g if gamma is None else g * gamma
        return (h - h.mean(axis=-1, keepdims=True) - normal * (h * normal).mean(axis=-1, keepdims=True)) * inverse

    return y, (
        gx,
        lambda g: (g * normal).sum(axis=leading_axes(g)),
        lambda g: g.sum(axis=leading_axes(g)),
        gx,
    )


@op
def residual_norm(
    x: Array,
    z: Array,
    weight: Array,
    bias: Array | None = None,
    gamma: Array | None = None,
    beta: Array | None = None,
    *,
    relu: bool = False,
    eps: float = 1e-5,
) -> Result:
    """y = layer_norm(x + z W + b), or with relu=True y = layer_norm(x + max(z W + b, 0)): each half of a MAB

    x is (..., d), z (..., d_in), W (d_in, d).  A layer, a sum and a normalisation are one op so that its fast form can
    do all of it to some rows before it goes on to the next.
    """
    if x.shape[:-1] != z.shape[:-1] or weight.shape != (z.shape[-1], x.shape[-1]):
        raise ValueError("expected x (..., d), z (..., d_in) with as many rows, and a weight (d_in, d)")
    for name, vector in (("bias", bias), ("gamma", gamma), ("beta", beta)):
        if vector is not None and vector.shape != x.shape[-1:]:
            raise ValueError(f"expected {name} of shape {x.shape[-1:]}, given {vector.shape}")
    if forms.fast(x, z, weight, bias, gamma, beta) and x.size and z.size:
        return fast.residual_norm(x, z, weight, bias, gamma, beta, relu, float(eps))
    if forms.fused(x, z, weight, bias, gamma, beta) and x.size and z.size and x.shape[-1] <= norm.WIDEST:
        return kernels.residual_norm(x, z, weight, bias, gamma, beta, relu, float(eps))
    with forms.plain_forms():
        r, (gz, gweight, gbias) = linear.pure(z, weight, bias, relu=relu)
        y, (gs, ggamma, gbeta, _) = layer_norm.pure(x, gamma, beta, r, eps=eps)
    return y, (gs, lambda g: gz(gs(g)), lambda g: gweight(gs(g)), lambda g: gbias(gs(g)), ggamma, gbeta)


def moments(x: Array, axis: int) -> tuple[Array, Array]:
    """Mean and (biased) variance of each channel, the channels lying along an axis."""
    others = tuple(a for a in range(x.ndim) if a not in axes_of(x, axis))
    if x.size == 0:
        raise ValueError("the statistics of an empty batch are not defined")
    if forms.fast(x):
        with forms.one_level_of_threads():  # layers ask for moments outside of any op
            return images.moments(x, axis)
    return x.mean(axis=others), x.var(axis=others)


@op
def batch_norm(
    x: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    *,
    axis: int = 1,
    eps: float = 1e-5,
    statistics: tuple[Array, Array] | None = None,
    frozen: bool = False,
    relu: bool = False,
) -> Result:
    """y = γ ⊙ x̂ + β,   x̂ = (x − μ) / √(σ² + ε), with μ, σ² of each channel along the axis; relu=True: max(y, 0)

    statistics = (μ, σ²) are the batch's own moments(x, axis) unless given.  If frozen they are constants, as in
    evaluation; otherwise they count as functions of x, and the gradient is that of layer_norm with other axes.
    """
    xp, (axis,) = array_module(x), axes_of(x, axis)
    others = tuple(a for a in range(x.ndim) if a != axis)
    along = [1] * x.ndim
    along[axis] = x.shape[axis]
    for vector in (gamma, beta, *(statistics or ())):
        if vector is not None and vector.shape != (x.shape[axis],):
            raise ValueError(f"expected a number for each of {x.shape[axis]} channels, given {vector.shape}")
    mean, variance = (s.astype(x.dtype) for s in (statistics or moments(x, axis)))
    if forms.fast(x, gamma, beta) and x.size:
        return images.batch_norm(x, gamma, beta, axis, float(eps), (mean, variance), frozen, relu)
    mean, variance = mean.reshape(along), variance.reshape(along)
    per_channel = x.size // max(x.shape[axis], 1)
    inverse = 1 / xp.sqrt(variance + eps)
    normal = (x - mean) * inverse
    y = normal if gamma is None else normal * gamma.reshape(along)
    y = y if beta is None else y + beta.reshape(along)
    y = xp.maximum(y, 0) if relu else y

    @once
    def through(g: Array) -> Array:
        return g * (y > 0) if relu else g

    @once
    def channel_sums(g: Array) -> tuple[Array, Array]:
        g = through(g)
        return (g * normal).sum(axis=others), g.sum(axis=others)  # gγ and gβ, which gx needs as well

    def gx(g: Array) -> Array:
        scale = inverse if gamma is None else inverse * gamma.reshape(along)
        if frozen:
            return through(g) * scale
        ggamma, gbeta = (s.reshape(along) / per_channel for s in channel_sums(g))
        return (through(g) - gbeta - normal * ggamma) * scale

    return y, (gx, lambda g: channel_sums(g)[0], lambda g: channel_sums(g)[1])


def require_mask(mask: Array, shape: tuple[int, ...] | None = None) -> None:
    """Refuse a mask that is not boolean, or not of the shape."""
    if getattr(mask, "dtype", None) != np.dtype(bool):
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"a mask is a boolean array, True where an element is present; given {kind}")
    if shape is not None and mask.shape != shape:
        raise ValueError(f"expected a mask of shape {shape}, given {mask.shape}")


def _present(x: Array, axis: int, mask: Array | None) -> Array:
    """The mask of x.shape[: axis + 1] as an array that broadcasts against x; all present where none is given."""
    shape = x.shape[: axis + 1]
    if mask is None:
        mask = array_module(x).ones(shape, dtype=bool)
    require_mask(mask, shape)
    return mask.reshape(shape + (1,) * (x.ndim - len(shape)))


@op
def mean_pool(x: Array, *, axis: int = -2, mask: Array | None = None) -> Result:
    """y = Σ x / n over the n elements present on an axis; 0 for an empty set          gx = g / n where present"""
    xp, axes = array_module(x), axes_of(x, (axis,))
    present = _present(x, axes[0], mask)
    n = xp.maximum(present.sum(axis=axes, keepdims=True), 1).astype(x.dtype)
    y = xp.where(present, x, 0).sum(axis=axes, keepdims=True) / n
    return finish(y, axes, False, lambda g: xp.where(present, g / n, 0))


@op
def max_pool(x: Array, *, axis: int = -2, mask: Array | None = None) -> Result:
    """y = max x over the elements present on an axis; 0 for an empty set          gx = g where x = y, in equal parts"""
    xp, axes = array_module(x), axes_of(x, (axis,))
    if mask is not None:
        require_mask(mask, x.shape[: axes[0] + 1])
    if forms.fused(x):
        return kernels.max_pool(x, mask, axes[0])
    present = _present(x, axes[0], mask)
    if x.shape[axes[0]] == 0:
        return finish(x.sum(axis=axes, keepdims=True), axes, False, lambda g: xp.zeros_like(x))
    x = xp.where(present, x, -math.inf)
    y = xp.where(present.any(axis=axes, keepdims=True), x.max(axis=axes, keepdims=True), 0)

    def vjp(g: Array) -> Array:
        hits = (x == y) & present
        parts = xp.maximum(hits.sum(axis=axes, keepdims=True), 1).astype(g.dtype)
        return xp.where(hits, g / parts, 0)

    return finish(y, axes, False, vjp)


@op
def dropout(x: Array, *, p: float, rng: np.random.Generator) -> Result:
    """y = x ⊙ keep / (1 − p), each element kept with probability 1 − p          gx = g ⊙ keep / (1 − p)

    The numbers are drawn on the CPU whatever the device, so that every device sees the same ones.
    """
    if not 0 <= p < 1:
        raise ValueError(f"the probability p of dropping an element must lie in [0, 1), given {p}")
    if p == 0:
        return x, lambda g: g
    keep = beside(rng.random(x.shape, dtype=x.dtype) >= p, x) * (1 / (1 - p))
    keep = keep.astype(x.dtype)
    return x * keep, lambda g: g * keep
