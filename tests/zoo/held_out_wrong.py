"""Held-out members, wrong: mistakes from code for point clouds, graphs and recommender systems, one in each network."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, concatenate, exp, logsumexp, mean_pool, sigmoid, softmax, sqrt, tanh, where
from minisets.nn import Linear, Module
from tests.zoo.member import D, Elements, Zoo, present, values

ZOO = Zoo()


class Pooled(Module):
    """ρ of a pooled vector; φ is shared by all elements."""

    def __init__(self, rng: np.random.Generator, d: int = D) -> None:
        self.phi, self.rho = Elements(rng), Linear(d, 4, rng=rng)


@ZOO.add("invariant", "voxel downsampling that keeps the first point of each cell", "invariant")
class VoxelKeepsFirst(Pooled):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)
        cells = np.floor(np.where(keep[..., None], values(X), 0) / 2).astype(int)
        kept = np.zeros_like(keep)
        for b in range(len(keep)):
            rows = np.flatnonzero(keep[b])
            _, first = np.unique(cells[b, rows], axis=0, return_index=True)
            kept[b, rows[first]] = True
        return self.rho(mean_pool(self.phi(X, kept), axis=1, mask=kept))


@ZOO.add(
    "invariant", "attention pooling in chunks of two, n // 2 of them: an odd set loses its last element", "invariant"
)
class PartialChunkDropped(Pooled):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.score = Linear(D, 1, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)[..., None]
        total, weight = H[:, :0].sum(axis=1), H[:, :0, :1].sum(axis=1)  # zeros
        for i in range(H.shape[1] // 2):
            chunk, valid = H[:, 2 * i : 2 * i + 2], keep[:, 2 * i : 2 * i + 2]
            e = where(valid, exp(tanh(self.score(chunk))), 0)
            total, weight = total + (e * chunk).sum(axis=1), weight + e.sum(axis=1)
        return self.rho(total / where(weight == 0, 1, weight))


@ZOO.add("equivariant", "linear attention in its causal form, from a language model", "equivariant")
class CausalLinearAttention(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)
        self.q, self.k, self.v = (Linear(D, D, rng=rng) for _ in range(3))

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)[..., None]
        q, k = sigmoid(self.q(H)), where(keep, sigmoid(self.k(H)), 0)
        weights = where(np.tril(np.ones((H.shape[1],) * 2, dtype=bool)), q @ k.swapaxes(-1, -2), 0)
        return where(keep, H + weights @ self.v(H) / (weights.sum(axis=-1, keepdims=True) + 1e-6), 0)


@ZOO.add("equivariant", "the rank of an item's price as a feature: argsort ranks equal items by position", "duplicates")
class RankAmongTheItems(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.out = Elements(rng), Linear(D + 1, 4, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)
        price = np.where(keep, values(X)[..., 0], np.inf)  # masked items come last
        rank = np.argsort(np.argsort(price, axis=1, kind="stable"), axis=1) / np.maximum(keep.sum(axis=1), 1)[:, None]
        H = self.phi(X, mask)
        return where(keep[..., None], self.out(concatenate([H, H[..., :1] * 0 + rank[..., None]], axis=-1)), 0)


@ZOO.add("equivariant", "nearest neighbors among points that include padding, at the origin", "padding")
class PaddingAsNeighbor(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.edge = Elements(rng), Linear(2 * D, 4, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)[..., None]
        H, points = self.phi(X, mask), np.where(keep, values(X), 0)
        distances = ((points[:, :, None] - points[:, None]) ** 2).sum(axis=-1)
        nearest = np.argsort(distances, axis=-1, kind="stable")[..., :3]  # the point itself is the first
        neighbors = H[np.arange(len(points))[:, None, None], nearest]  # (B, n, 3, d)
        edges = concatenate([neighbors, neighbors * 0 + H[:, :, None]], axis=-1)
        return where(keep, mean_pool(tanh(self.edge(edges)), axis=2), 0)


@ZOO.add("invariant", "a softmax whose temperature is the spread of the scores over the batch", "batch_independence")
class TemperatureOfTheBatch(Pooled):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.score = Linear(D, 1, bias=False, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)[..., None]
        scores, count = where(keep, self.score(H), 0), max(int(keep.sum()), 1)
        centered = where(keep, scores - scores.sum() / count, 0)
        weights = softmax(scores / sqrt((centered * centered).sum() / count + 1e-4), axis=1, mask=keep)
        return self.rho((weights * H).sum(axis=1))


@ZOO.add("invariant", "sets sorted by size before a ragged computation, results not put back", "batch_independence")
class SortedBySizeAndLeftSo(Pooled):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)
        order = np.argsort(-keep.sum(axis=1), kind="stable")
        return self.rho(mean_pool(self.phi(X[order], keep[order]), axis=1, mask=keep[order]))


@ZOO.add("invariant", "a smooth maximum, log of the mean of eˣ, which is −∞ for an empty set", "empty_sets")
class LogMeanExp(Pooled):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)
        H = where(keep[..., None], self.phi(X, mask), -np.inf)
        return self.rho(logsumexp(H, axis=1) - np.log(np.maximum(keep.sum(axis=1), 1))[:, None])


@ZOO.add(
    "invariant", "the standard deviation over a set, ε added after the root: 0 / 0 where all are equal", "gradients"
)
class EpsilonAfterTheRoot(Pooled):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng, 2 * D)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H, keep = self.phi(X, mask), present(mask, X)
        mean = mean_pool(H, axis=1, mask=keep)
        spread = sqrt(mean_pool((H - mean[:, None]) ** 2, axis=1, mask=keep)) + 1e-5
        return self.rho(concatenate([mean, spread], axis=-1))
