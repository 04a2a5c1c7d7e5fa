"""The paper's baselines: pooling a set into one vector, and row-wise layers that also take a pooled set as input."""

from __future__ import annotations

import itertools
import math

import numpy as np

from autograd import Tensor, attention, max_pool, mean_pool, relu, softmax
from autograd.backend import Array
from minisets.checks import check_widths, positive_int
from minisets.masks import SetModule, zero_masked
from minisets.nn import Linear, init
from minisets.notation import layer_notation


def pool(X: Tensor, kind: str, mask: Array | None = None) -> Tensor:
    """(B, n, d) -> (B, 1, d): the mean, sum or max of the unmasked elements; 0 for an empty set."""
    if kind == "mean":
        y = mean_pool(X, axis=-2, mask=mask)
    elif kind == "max":
        y = max_pool(X, axis=-2, mask=mask)
    else:
        y = zero_masked(X, mask).sum(axis=-2)
    return y.reshape(*y.shape[:-1], 1, y.shape[-1])


def _check_kind(kind: str) -> str:
    if kind not in ("mean", "sum", "max"):
        raise ValueError(f"pooling must be 'mean', 'sum' or 'max', given {kind!r}")
    return kind


class Pooling(SetModule):
    """y = mean, sum or max of the elements, (B, n, d) -> (B, 1, d); the paper's "simple pooling" is the mean."""

    pools, k = True, 1  # k: vectors per set after pooling

    def __init__(self, d: int, kind: str = "mean") -> None:
        if isinstance(d, str):
            raise TypeError(f"Pooling takes the width of the elements first: Pooling(64, {d!r})")
        self.d_in, self.kind = positive_int("d", d), _check_kind(kind)
        self.notation = kind

    def forward(self, Z: Tensor, mask: Array | None = None) -> Tensor:
        return pool(Z, self.kind, mask)


class Dotprod(SetModule):
    """y = Σ aᵢ zᵢ,     a = softmax of ⟨s, zᵢ⟩ / √d over the set, with one learned vector s: (B, n, d) -> (B, 1, d).

    The paper names this baseline without defining it ("dot product attention based weighted sum pooling"); this is the
    simplest version that fits the name: attention with one seed vector, without projections, heads or residual.
    """

    pools, k = True, 1

    def __init__(self, d: int, *, rng: np.random.Generator) -> None:
        self.d_in, self.notation = positive_int("d", d), f"Dotprod({d})"
        self.s = init.xavier_uniform(rng, (1, d), fan_in=d, fan_out=1)
        self.scale = 1 / math.sqrt(d)

    def forward(self, Z: Tensor, mask: Array | None = None) -> Tensor:
        return attention(self.s, Z, Z, mask=mask, scale=self.scale)

    def weights(self, Z: Tensor, mask: Array | None = None) -> Tensor:
        """The weights a, for inspection: (B, 1, n)."""
        scores = self.s @ Z.swapaxes(-1, -2) * self.scale
        return softmax(scores, mask=None if mask is None else mask[..., None, :])


class rFFp(SetModule):  # the paper's own spelling
    """Permutation-equivariant layers (Zaheer et al., 2017): σ(X Γ + pool(X) Λ + b), stacked.

    coefficients="scalar" is the paper's formula σ(λ x + γ pool(x)) with scalars λ and γ for each layer, applied to
    x = X W + b because scalars cannot change the width.  last=None omits the activation after the last layer.
    """

    def __init__(
        self,
        d_in: int,
        *widths: int,
        pooling: str = "mean",
        coefficients: str = "matrix",
        last: str | None = "relu",
        rng: np.random.Generator,
    ) -> None:
        if coefficients not in ("matrix", "scalar"):
            raise ValueError(f"coefficients must be 'matrix' or 'scalar', given {coefficients!r}")
        check_widths("rFFp", widths, last)
        pairs = list(itertools.pairwise((d_in, *widths)))
        gains = init.gains(len(pairs), last, terms=2 if coefficients == "matrix" else 1)
        if coefficients == "matrix":
            self.others = [Linear(a, b, bias=False, gain=g, rng=rng) for (a, b), g in zip(pairs, gains, strict=True)]
        else:
            self.lambdas = [init.constant((), 1.0) for _ in pairs]
            self.gammas = [init.constant((), 0.0) for _ in pairs]
        self.own = [Linear(a, b, gain=gain, rng=rng) for (a, b), gain in zip(pairs, gains, strict=True)]
        self.d_in, self.pooling, self.coefficients, self.last = d_in, _check_kind(pooling), coefficients, last
        self.notation = layer_notation(f"rFFp-{pooling}", widths, last)

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        for i, own in enumerate(self.own):
            if self.coefficients == "matrix":
                X = own(X) + self.others[i](pool(X, self.pooling, mask))
            else:
                X = own(X)
                X = self.lambdas[i] * X + self.gammas[i] * pool(X, self.pooling, mask)
            if self.last or i + 1 < len(self.own):
                X = relu(X)
        return X
