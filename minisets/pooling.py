"""The baselines of the paper: ways to make one vector of a set, and row-wise layers that know a summary of the set."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from autograd import Tensor, attention, max_pool, mean_pool, relu
from autograd.backend import Array
from minisets.attention import record, weights
from minisets.blocks import layers_in_words
from minisets.masks import enter, hide
from minisets.nn import Linear, Module, init


def pool(X: Tensor, kind: str, mask: Array | None = None) -> Tensor:
    """(B, n, d) -> (B, d): the mean, sum or max of the elements present; 0 for an empty set."""
    if kind == "mean":
        return mean_pool(X, axis=-2, mask=mask)
    if kind == "max":
        return max_pool(X, axis=-2, mask=mask)
    return hide(X, mask).sum(axis=-2)


def _as_row(y: Tensor) -> Tensor:
    """(B, d) -> (B, 1, d)"""
    return y.reshape(*y.shape[:-1], 1, y.shape[-1])


def _require_kind(kind: str) -> str:
    if kind not in ("mean", "sum", "max"):
        raise ValueError(f"pooling must be 'mean', 'sum' or 'max', given {kind!r}")
    return kind


class Pooling(Module):
    """y = mean, sum or max of the elements, (B, n, d) -> (B, 1, d); the paper's "simple pooling" is the mean."""

    k = 1  # vectors that are left of a set

    def __init__(self, d: int, kind: str = "mean") -> None:
        self.d, self.kind = d, _require_kind(kind)
        self.notation = kind

    def forward(self, Z: Any, mask: Any = None) -> Tensor:
        Z, mask = enter("Pooling", Z, mask, self.d)
        return _as_row(pool(Z, self.kind, mask))


class Dotprod(Module):
    """y = Σ aᵢ zᵢ,     a = softmax over the set of ⟨s, zᵢ⟩ / √d, with one learned vector s: (B, n, d) -> (B, 1, d).

    The paper names this baseline without writing it out ("dot product attention based weighted sum pooling"); this is
    the plainest form that fits the name: attention by one seed, without projections, heads or residual.
    """

    k, attends = 1, True

    def __init__(self, d: int, *, rng: np.random.Generator) -> None:
        self.notation = f"Dotprod({d})"
        self.s = init.xavier_uniform(rng, (1, d), fan_in=d, fan_out=1)

    def forward(self, Z: Any, mask: Any = None) -> Tensor:
        d = self.s.shape[-1]
        Z, mask = enter("Dotprod", Z, mask, d, like=self.s)
        keys, scale = mask if mask is None or mask.ndim == 1 else mask[:, None, :], 1 / math.sqrt(d)
        record(self, lambda: weights(self.s, Z, keys, scale, "softmax"))
        return attention(self.s, Z, Z, mask=keys, scale=scale)


class rFFp(Module):  # the paper's own spelling
    """Permutation-equivariant layers (Zaheer et al., 2017): σ(X Γ + pool(X) Λ + b), one after another.

    form="scalar" is the paper's formula σ(λ x + γ pool(x)) with two numbers λ, γ for each layer, applied to x = X W + b
    since two numbers cannot change the width.  last=None leaves the activation of the last layer out.
    """

    def __init__(
        self,
        d_in: int,
        *widths: int,
        pooling: str = "mean",
        form: str = "matrix",
        last: str | None = "relu",
        rng: np.random.Generator,
    ) -> None:
        if form not in ("matrix", "scalar"):
            raise ValueError(f"form must be 'matrix' or 'scalar', given {form!r}")
        if not widths or last not in ("relu", None):
            raise ValueError("rFFp needs at least one width, and last='relu' or last=None")
        pairs = list(itertools.pairwise((d_in, *widths)))
        self.own = [Linear(a, b, rng=rng) for a, b in pairs]
        if form == "matrix":
            self.others = [Linear(a, b, bias=False, rng=rng) for a, b in pairs]
        else:
            self.lambdas = [init.constant((), 1.0) for _ in pairs]
            self.gammas = [init.constant((), 0.0) for _ in pairs]
        self.pooling, self.form, self.last = _require_kind(pooling), form, last
        self.notation = layers_in_words(f"rFFp-{pooling}", widths, last)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        X, mask = enter("rFFp", X, mask, self.own[0].weight.shape[0], like=self.own[0].weight)
        for i, own in enumerate(self.own):
            if self.form == "matrix":
                X = own(X) + self.others[i](self._summary(X, mask))
            else:
                X = own(X)
                X = self.lambdas[i] * X + self.gammas[i] * self._summary(X, mask)
            if self.last or i + 1 < len(self.own):
                X = relu(X)
        return hide(X, mask)

    def _summary(self, X: Tensor, mask: Array | None) -> Tensor:
        return _as_row(pool(X, self.pooling, mask))  # (B, 1, d), to be added to every element
