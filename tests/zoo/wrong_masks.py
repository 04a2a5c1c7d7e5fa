"""Wrong: networks in which padding counts, leaks, or leaves nothing to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, concatenate, exp, layer_norm, max_pool, mean_pool, softmax, where
from minisets import PMA, SAB
from minisets.nn import Linear, Module
from tests.zoo.member import D_IN, Attention, D, Elements, Zoo, present

ZOO = Zoo()
add = ZOO.add


@add(
    "equivariant",
    "keys and values multiplied by the mask, scores not: weight e⁰ for padding",
    "padding",
    "multiplication",
)
class KeysZeroed(Attention):
    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        return softmax(scores)  # φ(X) is zero where masked, but the bias of k is not needed for the mistake


@add("invariant", "a sum over real elements, divided by the padded size", "padding", "counted")
class MeanOverPadding(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.rho = Elements(rng), Linear(D, 4, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.rho(self.phi(X, mask).mean(axis=1))


@add("invariant", "padding zeroed before a maximum: negative features lose to it", "padding", "max over padding")
class MaxOverPadding(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.linear = Linear(D_IN, D, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)[..., None]
        return where(keep, self.linear(where(keep, X, 0)), 0).max(axis=1)


@add("invariant", "a mask for attention, none for the mean after it", "padding", "counted")
class PoolingForgetsTheMask(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.sab = SAB(D_IN, D, 2, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.sab(X, mask).mean(axis=1)


@add("invariant", "the second of two layers gets no mask", "padding", "counted")
class SecondLayerForgetsTheMask(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.first, self.second, self.pma = SAB(D_IN, D, 2, rng=rng), SAB(D, D, 2, rng=rng), PMA(D, 2, 1, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.pma(self.second(self.first(X, mask)), mask)


@add("invariant", "a parameter `mask` that nothing reads", "padding", "ignored")
class MaskIgnored(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.sab, self.pma = SAB(D_IN, D, 2, rng=rng), PMA(D, 2, 1, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.pma(self.sab(X))


@add("equivariant", "True taken for padding instead of for presence", "padding", "inverted")
class MaskInverted(Attention):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return super().forward(X, None if mask is None else ~np.asarray(mask))


@add("equivariant", "scores masked along the queries instead of the keys", "padding", "")
class QueriesMasked(Attention):
    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        return softmax(scores, mask=None if mask is None else np.asarray(mask)[:, :, None])


@add("equivariant", "−10 added to masked scores, which outweigh it when they are large", "padding", "constant")
class WeakPenalty(Attention):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X)
        penalty = np.where(present(mask, X), 0.0, -10.0)[:, None, :]
        return H + softmax(self.q(H) @ self.k(H).swapaxes(-1, -2) + penalty) @ self.v(H)


@add("invariant", "masked elements multiplied by 0, and 0 · nan = nan", "padding", "nan")
class MultipliedByZero(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)[..., None].astype(X.dtype)
        return (self.phi(X) * keep).sum(axis=1) / np.maximum(keep.sum(axis=1), 1)


@add("equivariant", "mean and deviation over the set include the padding", "padding", "counted")
class SetNormOverPadding(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.out = Elements(rng), Linear(D, D, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X, mask)
        B, n, d = H.shape
        return self.out(layer_norm(H.reshape(B, n * d)).reshape(B, n, d)) if n else self.out(H)


@add("invariant", "the array's length given to the head as the size of the set", "padding", "counted")
class SizeFromTheArray(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.rho = Elements(rng), Linear(D + 1, 4, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        size = np.full((X.shape[0], 1), np.log1p(X.shape[1]))
        return self.rho(concatenate([mean_pool(self.phi(X, mask), axis=1, mask=mask), size], axis=-1))


@add("invariant", "the maximum's penalty for padding is −1, not −∞", "padding", "")
class MaxWithSmallPenalty(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.linear = Linear(D_IN, D, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)[..., None]
        return where(keep, self.linear(where(keep, X, 0)), -1.0).max(axis=1)


# ---- empty sets


@add("equivariant", "−∞ for every masked score: a softmax over no keys is nan", "empty_sets", "softmax over no keys")
class MinusInfinity(Attention):
    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        if mask is not None:
            scores = scores + np.where(np.asarray(mask), 0.0, -np.inf)[:, None, :]
        e = exp(scores - scores.detach().max(axis=-1, keepdims=True)) if scores.shape[-1] else scores
        return e / e.sum(axis=-1, keepdims=True)


@add("invariant", "a mean that divides by the number of elements, also by 0", "empty_sets", "0/0")
class MeanOfNothing(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.phi(X, mask).sum(axis=1) / present(mask, X).sum(axis=1, keepdims=True)


@add(
    "invariant", "a maximum that starts from −∞ and ends there for an empty set", "empty_sets", "maximum of no elements"
)
def maximum_of_nothing(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))

    def f(X: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        keep = present(mask, X)[..., None]
        return np.max(np.where(keep, np.where(keep, X, 0) @ W, -np.inf), axis=1, initial=-np.inf)

    return f


@add("invariant", "features scaled by a masked maximum that is 0 for an empty set", "empty_sets", "0/0")
def scaled_by_a_maximum_of_nothing(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))

    def f(X: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        keep = present(mask, X)[..., None]
        X = np.where(keep, X, 0)
        largest = np.abs(X).max(axis=(1, 2), initial=0, keepdims=True)
        return np.tanh(X / largest @ W).sum(axis=1)

    return f


@add("invariant", "a pooled maximum that is right, of layers that count padding", "padding", "counted")
class CenteredByThePaddedMean(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X, mask)
        return max_pool(H - H.mean(axis=1, keepdims=True), axis=1, mask=mask)
