"""Wrong: networks that look at the order of the elements, at other sets of the batch, or at chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, concatenate, dropout, mean_pool, relu, softmax, tanh
from minisets import SAB
from minisets.nn import Linear, Module
from tests.zoo.member import D_IN, Attention, D, Elements, Zoo, present

ZOO = Zoo()
add = ZOO.add


@add("equivariant", "a learned position embedding, left over from a language model", "equivariant", "position")
class PositionEmbedding(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.table = Tensor(rng.normal(size=(64, D_IN)).astype("float32"), requires_grad=True)
        self.sab = SAB(D_IN, D, 2, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return self.sab(X + self.table[: X.shape[1]], mask)


@add("invariant", "a small sinusoidal encoding, 0.01 sin(i), added to the elements", "invariant", "position")
class FaintSinusoid(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.rho = Elements(rng), Linear(D, 2, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        position = 0.01 * np.sin(np.arange(X.shape[1]))[:, None]
        return self.rho(mean_pool(self.phi(X + position, mask), axis=1, mask=mask))


@add("invariant", "the first element's output as the summary, as if it were a CLS token", "invariant", "first")
class FirstElementPooling(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.sab = SAB(D_IN, D, 2, rng=rng)

    def forward(self, X: Any) -> Tensor:
        return self.sab(X)[:, 0]


@add("invariant", "a recurrent network over the elements, its last state as the summary", "invariant", "position")
class RecurrentPooling(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.inputs, self.state = Linear(D_IN, D, rng=rng), Linear(D, D, rng=rng)

    def forward(self, X: Any) -> Tensor:
        h = self.inputs(X[:, 0])
        for i in range(1, X.shape[1]):
            h = tanh(self.inputs(X[:, i]) + self.state(h))
        return h


@add("invariant", "sets filled up to 16 elements and flattened into an ordinary layer", "invariant", "position")
class Flattened(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.linear = Linear(16 * D_IN, D, rng=rng)

    def forward(self, X: Any) -> Tensor:
        B, n, d = X.shape
        filled = concatenate([X, np.zeros((B, 16 - n, d))], axis=1)
        return relu(self.linear(filled.reshape(B, 16 * d)))


@add("equivariant", "a causal mask, left over from a language model", "equivariant", "position")
class CausalAttention(Attention):
    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        n = scores.shape[-1]
        keep = np.tril(np.ones((n, n), dtype=bool))
        return softmax(scores, mask=keep if mask is None else keep & np.asarray(mask)[:, None, :])


@add("equivariant", "a convolution over neighboring positions, as for a sequence", "equivariant", "position")
class NeighborMixing(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.side = Elements(rng), Linear(D, D, rng=rng)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X, mask)
        zeros = np.zeros((H.shape[0], 1, D))
        return H + self.side(concatenate([H[:, 1:], zeros], axis=1))


@add(
    "equivariant", "heads split by reshape(B, h, n, d/h) without a transpose: elements mixed", "equivariant", "position"
)
class HeadsByReshape(Attention):
    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X, mask)
        B, n, d = H.shape
        q, k, v = (layer(H).reshape(B, 2, n, d // 2) for layer in (self.q, self.k, self.v))
        keep = None if mask is None else np.asarray(mask)[:, None, None, :]
        return H + (softmax(q @ k.swapaxes(-1, -2), mask=keep) @ v).reshape(B, n, d)


@add("invariant", "only the first four elements are read: a maximum size, silently applied", "invariant", "position")
class Truncated(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi = Elements(rng)

    def forward(self, X: Any) -> Tensor:
        return self.phi(X[:, :4]).mean(axis=1)


@add(
    "invariant",
    "elements sorted by their first feature, then flattened: ties keep the order given",
    "duplicates",
    "ties",
)
def sorted_by_one_feature(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(16 * D_IN, D))

    def f(X: np.ndarray) -> np.ndarray:
        order = np.argsort(X[:, :, 0], axis=1, kind="stable")
        ranked = np.take_along_axis(X, order[..., None], axis=1)
        filled = np.concatenate([ranked, np.zeros((len(X), 16 - X.shape[1], D_IN))], axis=1)
        return np.tanh(filled.reshape(len(X), -1) @ W)

    return f


@add("invariant", "a sum accumulated in half precision: the order shows beyond rounding", "invariant", "precision")
def half_precision_sum(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))

    def f(X: np.ndarray) -> np.ndarray:
        total = np.zeros((len(X), D), dtype="float16")
        for i in range(X.shape[1]):
            total += (X[:, i] @ W).astype("float16")
        return total.astype(X.dtype)

    return f


# ---- other sets


@add(
    "equivariant",
    "normalized by the batch's own mean and deviation, at evaluation too",
    "batch_independence",
    "batch statistics",
)
class BatchStatistics(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.out = Elements(rng), Linear(D, D, rng=rng)

    def forward(self, X: Any) -> Tensor:
        H = self.phi(X)
        centered = H - H.mean(axis=(0, 1))
        return self.out(centered / ((centered * centered).mean(axis=(0, 1)) + 1e-5).sqrt())


@add("invariant", "inputs scaled by the largest value in the whole batch", "batch_independence", "batch statistics")
def scaled_by_the_batch(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))
    return lambda X: np.tanh(X / np.abs(X).max(initial=1e-9) @ W).sum(axis=1)


@add("invariant", "attention pooling whose softmax is over axis 0, the batch", "batch_independence", "batch")
class SoftmaxOverTheBatch(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.score = Elements(rng), Linear(D, 1, rng=rng)

    def forward(self, X: Any) -> Tensor:
        H = self.phi(X)
        return (softmax(self.score(H), axis=0) * H).sum(axis=1)


@add("invariant", "seeds' outputs reshaped to (k, B, d): the results of sets exchanged", "batch_independence", "batch")
class SeedsAndSetsSwapped(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.seeds = Elements(rng), Linear(D, 2, rng=rng)

    def forward(self, X: Any) -> Tensor:
        H = self.phi(X)
        pooled = softmax(self.seeds(H).swapaxes(1, 2)) @ H  # (B, 2, D)
        return pooled.reshape(2, len(H), D).mean(axis=0)


@add("equivariant", "the mask of the first set used for all", "padding", "mask of another set")
class FirstMaskForAll(Attention):
    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        return softmax(scores, mask=None if mask is None else np.asarray(mask)[:1, None, :])


# ---- chance and memory


@add("invariant", "dropout that is also active at evaluation", "invariant", "random")
class DropoutAlwaysOn(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.noise = Elements(rng), np.random.default_rng(0)

    def forward(self, X: Any) -> Tensor:
        return mean_pool(dropout(self.phi(X), p=0.3, rng=self.noise), axis=1)


@add("invariant", "a running mean that evaluation updates, too", "invariant", "state")
class RunningMeanAtEvaluation(Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.phi, self.mean = Elements(rng), np.zeros(D)

    def forward(self, X: Any) -> Tensor:
        H = self.phi(X)
        if H.size:
            self.mean = 0.9 * self.mean + 0.1 * H.data.mean(axis=(0, 1))
        return (H - self.mean.astype(H.dtype)).sum(axis=1)


@add("invariant", "masked elements zeroed in the caller's own array", "padding", "in place")
def zeroed_in_place(rng: np.random.Generator) -> Any:
    W = rng.normal(size=(D_IN, D))

    def f(X: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        keep = present(mask, X)
        X[~keep] = 0
        return (np.tanh(X @ W) * keep[..., None]).sum(axis=1)

    return f
