"""Held-out members, right: set functions whose code looks as if it depended on order, padding or the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, exp, tanh, where
from minisets.nn import Linear, Module
from tests.zoo.member import D, Elements, Zoo, present, values

ZOO = Zoo()


def nonzero(x: Tensor) -> Tensor:
    """x with 1 in place of 0, to divide by."""
    return where(values(x) == 0, 1, x)


class Pooled(Module):
    """ρ of a pooled vector; φ is shared by all elements."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.rho = Elements(rng), Linear(D, 4, rng=rng)
        self.score = Linear(D, 1, bias=False, rng=rng)


@ZOO.add("invariant", "Gini's mean difference Σ |xᵢ − xⱼ| / n², as Σ 2 rᵢ xᵢ / n² with constant signed ranks rᵢ")
class GiniMeanDifference(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.rho = Elements(rng), Linear(D, 4, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)
        x, pairs = values(H), keep[:, :, None] & keep[:, None]
        ranks = (np.sign(x[:, :, None] - x[:, None]) * pairs[..., None]).sum(axis=2)  # constant between ties
        return self.rho((2 * ranks * H).sum(axis=1) / np.maximum(keep.sum(axis=1) ** 2, 1)[:, None])


@ZOO.add("equivariant", "attention with a few Sinkhorn steps, which also normalize over queries")
class SinkhornAttention(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.out = Elements(rng), Linear(D, 4, rng=rng)
        self.q, self.k, self.v = (Linear(D, D, bias=False, rng=rng) for _ in range(3))

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)
        pairs = keep[:, :, None] & keep[:, None]
        P = where(pairs, exp(3 * tanh(self.q(H) @ self.k(H).swapaxes(-1, -2))), 0)
        for _ in range(3):
            P = P / nonzero(P.sum(axis=1, keepdims=True))
            P = P / nonzero(P.sum(axis=2, keepdims=True))
        return where(keep[..., None], self.out(H + P @ self.v(H)), 0)


@ZOO.add("invariant", "all elements of the batch in one list, summed per set by a membership matrix")
class FlattenedBatch(Pooled):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)
        owner = np.nonzero(keep)[0]  # the set that each element belongs to
        member = (owner == np.arange(len(keep))[:, None]).astype(self.rho.weight.dtype)  # (B, elements of the batch)
        H = self.phi(X[keep])
        e = exp(tanh(self.score(H)))
        return self.rho((Tensor(member) @ (e * H)) / nonzero(Tensor(member) @ e))


@ZOO.add("invariant", "a softmax that subtracts the first element's score: it cancels, even if that one is masked")
class SoftmaxFromTheFirst(Pooled):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)[..., None]
        scores = 4 * tanh(self.score(H))
        e = where(keep, exp(scores - scores[:, :1]), 0)
        return self.rho((e * H).sum(axis=1) / nonzero(e.sum(axis=1)))


@ZOO.add("invariant", "attention pooling in chunks of three in the order of the elements, with a running maximum")
class StreamingAttention(Pooled):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)[..., None]
        scores = self.score(H) * 3
        total, weight = H[:, :0].sum(axis=1), scores[:, :0].sum(axis=1)  # zeros
        top = np.full(weight.shape, -1e30, dtype=H.dtype)  # the running maximum; a constant, because it cancels
        for i in range(0, H.shape[1], 3):
            chunk, s, valid = H[:, i : i + 3], scores[:, i : i + 3], keep[:, i : i + 3]
            new = np.maximum(top, np.where(valid, values(s), -1e30).max(axis=1))
            e = where(valid, exp(where(valid, s - new[:, None], 0)), 0)  # of a masked score it could overflow
            rescale = np.exp(top - new)
            total, weight = total * rescale + (e * chunk).sum(axis=1), weight * rescale + e.sum(axis=1)
            top = new
        return self.rho(total / nonzero(weight))
