"""Right: set networks of this project, and functions of Tensors or arrays, some of which look suspicious."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, concatenate, logsumexp, mean_pool, softmax, where
from minisets import ISAB, PMA, SAB, build, rFFp
from minisets.nn import BatchNorm, Dropout, Linear, Module, Sequential
from tests.zoo.member import D_IN, D, Elements, Zoo, present

ZOO = Zoo()
add = ZOO.add


@add("equivariant", "SAB as in the paper")
def self_attention_block(rng: np.random.Generator) -> Any:
    return SAB(D_IN, D, 2, rng=rng)


@add("equivariant", "ISAB in the style of Set Transformer++")
def induced_block(rng: np.random.Generator) -> Any:
    return ISAB(D_IN, D, 2, 4, style="plusplus", rng=rng)


@add("invariant", "SAB + PMA: with one seed, the softmax of the SAB after it has a single key and no gradient")
def set_transformer(rng: np.random.Generator) -> Any:
    return build("SAB + PMA", task="max_regression", d_in=D_IN, d_out=1, d=D, heads=2, rng=rng)


@add("invariant", "ISAB + PMA with dropout in the decoder")
def with_dropout(rng: np.random.Generator) -> Any:
    return build("ISAB (4) + PMA", task="point_cloud", d_in=D_IN, d_out=4, d=D, heads=2, rng=rng)


@add("equivariant", "six SABs without normalization: rounding is amplified")
def deep_stack(rng: np.random.Generator) -> Any:
    return Sequential(*(SAB(D_IN if i == 0 else D, D, 2, norm_position="none", rng=rng) for i in range(6)))


@add("equivariant", "rFFp-max: a maximum in every layer")
def equivariant_maximum(rng: np.random.Generator) -> Any:
    return rFFp(D_IN, D, D, pooling="max", rng=rng)


@add("invariant", "batch norm, which at evaluation uses running statistics")
class BatchNormAtEvaluation(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.linear, self.norm, self.pma = Linear(D_IN, D, rng=rng), BatchNorm(D, axis=-1), PMA(D, 2, 2, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        X = X if mask is None else where(np.asarray(mask)[..., None], X, 0)
        return self.pma(self.norm(self.linear(X)), mask)


@add("invariant", "Deep Sets as a function of Tensors, without masks")
def deep_sets_of_tensors(rng: np.random.Generator) -> Any:
    W, V = rng.normal(size=(D_IN, D)), rng.normal(size=(D, 2))
    return lambda X: (X @ W).relu().sum(axis=1).tanh() @ V


@add("invariant", "Deep Sets as a function of arrays, with masks")
def deep_sets_of_arrays(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))

    def f(X: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        keep = present(mask, X)[..., None]
        H = np.tanh(np.where(keep, X, 0) @ W.astype(X.dtype))
        return (H * keep).sum(axis=1) / np.maximum(keep.sum(axis=1), 1).astype(X.dtype)

    return f


@add("equivariant", "edge convolution over the two nearest neighbors, as in DGCNN")
def nearest_neighbors(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(2 * D_IN, D))

    def f(X: np.ndarray) -> np.ndarray:
        distances = np.square(X[:, :, None] - X[:, None]).sum(axis=-1)
        cutoff = np.sort(distances, axis=-1)[..., : min(3, X.shape[1])][..., -1:]
        edges = np.concatenate(
            [np.broadcast_to(X[:, :, None], (*distances.shape, D_IN)), X[:, None] - X[:, :, None]], -1
        )
        scores = edges @ W.astype(X.dtype)
        return np.where((distances <= cutoff)[..., None], scores, -np.inf).max(axis=2)

    return f


@add("invariant", "features sorted one by one and weighted by rank, as in FSPool")
def sorted_features(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(16, D_IN))
    return lambda X: (np.sort(X, axis=1) * W[: X.shape[1]].astype(X.dtype)).sum(axis=1)


@add("invariant", "the number of different elements: duplicates count once")
def distinct_elements(rng: np.random.Generator) -> Any:
    return lambda X: np.array([[len(np.unique(x, axis=0))] for x in X], dtype=X.dtype)


@add("invariant", "attention so sharp that it is nearly a maximum")
class SharpAttention(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.score = Elements(rng), Linear(D, 1, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X, mask)
        weights = softmax(
            100.0 * self.score(H).swapaxes(1, 2), mask=None if mask is None else np.asarray(mask)[:, None]
        )
        return weights @ H


@add("invariant", "log-sum-exp pooling, and the size of the set as a feature")
class SoftMaximum(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.rho = Elements(rng), Linear(D + 1, 2, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        keep = present(mask, X)
        H = where(keep[..., None], self.phi(X, mask), -1e4)  # e^(−1e4) is 0
        size = np.log1p(keep.sum(axis=1, keepdims=True)).astype(H.dtype)
        floor = np.full((len(keep), 1, D), -30.0, dtype=H.dtype)
        return self.rho(concatenate([logsumexp(concatenate([H, floor], axis=1), axis=1), size], axis=-1))


@add("equivariant", "outputs of about 1e-8")
def tiny_outputs(rng: np.random.Generator) -> Any:
    sab = SAB(D_IN, D, 2, rng=rng)
    return lambda X, mask=None: sab(X, mask) * 1e-8


@add("invariant", "outputs of about 1e8, with frozen parameters")
class HugeOutputs(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.out, self.dropout = Elements(rng), Linear(D, 2, rng=rng), Dropout(0.0, rng=rng)
        self.phi.linear.weight.requires_grad = False

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.dropout(self.out(mean_pool(self.phi(X, mask), axis=1, mask=mask))) * 1e8


@add("equivariant", "each element minus the mean of the others, twice the deviation: cancels for equal elements")
def centered_and_scaled(rng: np.random.Generator) -> Any:
    def f(X: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        keep = present(mask, X)[..., None]
        X, count = np.where(keep, X, 0), np.maximum(keep.sum(axis=1, keepdims=True), 1).astype(X.dtype)
        centered = np.where(keep, X - X.sum(axis=1, keepdims=True) / count, 0)
        return centered / np.sqrt(np.square(centered).sum(axis=1, keepdims=True) / count + X.dtype.type(1e-5))

    return f
