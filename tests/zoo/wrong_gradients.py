"""Wrong: networks with right outputs and wrong gradients, or with trouble in one precision or at one magnitude."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import OPS, Tensor, exp, mean_pool, op, relu, where
from minisets import SAB
from minisets.nn import Dropout, Linear, Module
from tests.zoo.member import D_IN, Attention, D, Elements, Zoo, present

ZOO = Zoo()
add = ZOO.add


@op
def masked_mean_of_all(x: Any, *, mask: Any) -> Any:
    """Σ mask x / Σ mask; its derivative forgets the mask."""
    count = np.maximum(mask.sum(axis=1, keepdims=True), 1).astype(x.dtype)
    y = np.where(mask[..., None], x, 0).sum(axis=1) / count
    return y, lambda g: np.broadcast_to((g / count)[:, None], x.shape).copy()


@op
def weighted_by_rank(x: Any) -> Any:
    """Σ x over the elements; its derivative grows with the position."""
    factors = np.linspace(1, 2, x.shape[1], dtype=x.dtype)[:, None] if x.shape[1] else np.ones((0, 1), x.dtype)
    return x.sum(axis=1), lambda g: g[:, None] * factors


del OPS["masked_mean_of_all"], OPS["weighted_by_rank"]  # they are not ops of autograd


@add("invariant", "a derivative of the masked mean that forgets the mask", "gradients", "padding")
class GradientIntoPadding(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        X = Tensor(X) if not isinstance(X, Tensor) else X
        return self.phi(masked_mean_of_all(X, mask=present(mask, X)))


@add("invariant", "a sum whose derivative depends on the position", "gradients", "position")
class GradientByPosition(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)

    def forward(self, X: Any) -> Tensor:
        return weighted_by_rank(self.phi(X))


@add("invariant", "nan × 0 in the backward pass: relu(x)⁻¹ hidden by where, on padding", "gradients", "nan")
class WhereAfterTheNan(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.linear = Linear(D_IN, D, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)[..., None]
        inverse = 1 / (X * X).sum(axis=-1, keepdims=True).sqrt()  # its derivative is nan at 0
        return self.linear(where(keep, X * inverse, 0).sum(axis=1))


@add("invariant", "seeds used through .detach(): they never train", "parameters", "no gradient")
class SeedsDetached(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)
        self.seeds = Tensor(rng.normal(size=(2, D)).astype("float32"), requires_grad=True)

    def forward(self, X: Any) -> Tensor:
        H = self.phi(X)
        scores = self.seeds.detach() @ H.swapaxes(-1, -2)
        weights = exp(scores - scores.detach().max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ H


@add("invariant", "inducing points converted to an array on the way: they never train", "parameters", "no gradient")
class InducingPointsAsArray(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.points = Tensor(rng.normal(size=(4, D_IN)).astype("float32"), requires_grad=True)
        self.sab = SAB(D_IN, D, 2, rng=rng)

    def forward(self, X: Any) -> Tensor:
        X = Tensor(X) if not isinstance(X, Tensor) else X
        return self.sab.mab(Tensor(self.points.data), X).mean(axis=1)


@add("equivariant", "dropout that is built and never applied", "parameters", "dropout")
class DropoutForgotten(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.sab, self.dropout = SAB(D_IN, D, 2, rng=rng), Dropout(0.5, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.sab(X, mask)


# ---- precision and magnitude


@add("equivariant", "a softmax without subtracting the maximum: inf / inf for large scores", "dtype", "overflow")
class NaiveSoftmax(Attention):
    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        e = exp(scores)
        e = e if mask is None else where(np.asarray(mask)[:, None, :], e, 0)
        return e / (e.sum(axis=-1, keepdims=True) + 1e-9)


@add("invariant", "everything cast to float32 inside, and returned so", "dtype", "float32")
def always_float32(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D)).astype("float32")
    return lambda X: np.tanh(X.astype("float32") @ W).sum(axis=1)


@add("invariant", "a float64 constant turns float32 sets into float64", "dtype", "float64")
def promoted_to_float64(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))
    return lambda X: np.tanh(X @ W).mean(axis=1)


@add("invariant", "a variance as E[x²] − E[x]², which cancels for large values", "dtype", "nan")
class CancellingDeviation(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.linear = Linear(D_IN, D, rng=rng)

    def forward(self, X: Any) -> Tensor:
        H = relu(self.linear(X)) + 3.0
        squares, mean = mean_pool(H * H, axis=1), mean_pool(H, axis=1)
        return (squares - mean * mean).sqrt()
