"""Held-out members of PyTorch, right."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from tests.zoo.member import D_IN, D, Zoo

ZOO = Zoo("PyTorch")


class TorchElements(torch.nn.Module):
    """φ(x) = tanh(x W + b) and the mask, for the PyTorch networks."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        torch.manual_seed(int(rng.integers(2**31)))
        self.linear, self.out = torch.nn.Linear(D_IN, D), torch.nn.Linear(D, 4)

    def phi(self, X: torch.Tensor, mask: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        keep = torch.ones(X.shape[:2], dtype=torch.bool) if mask is None else torch.as_tensor(mask)
        H = torch.tanh(self.linear(torch.where(keep[..., None], X, 0)))
        return torch.where(keep[..., None], H, 0), keep


@ZOO.add("invariant", "the median of each feature: a sort with padding at ∞, then an index that depends on n")
class MaskedMedian(TorchElements):
    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        H = H.masked_fill(~keep[..., None], torch.inf)
        H = torch.cat([H, H.new_full((len(H), 1, D), torch.inf)], 1).sort(1).values  # never of length 0
        n = keep.sum(1)[:, None, None].expand(-1, 1, D)
        middle = (H.gather(1, (n - 1).clamp(min=0) // 2) + H.gather(1, n // 2)) / 2
        return self.out(torch.where(n > 0, middle, 0)[:, 0])


@ZOO.add("equivariant", "attention with a temperature from the mean and variance of the set's own scores")
class TemperatureOfTheSet(TorchElements):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.q, self.k, self.v = (torch.nn.Linear(D, D, bias=False) for _ in range(3))

    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        pairs = keep[:, :, None] & keep[:, None]
        count = pairs.sum((1, 2), keepdim=True).clamp(min=1)
        scores = torch.where(pairs, self.q(H) @ self.k(H).transpose(1, 2), 0)
        centered = torch.where(pairs, scores - scores.sum((1, 2), keepdim=True) / count, 0)
        scores = centered / ((centered**2).sum((1, 2), keepdim=True) / count + 0.01).sqrt()
        weights = torch.where(pairs, scores.masked_fill(~pairs, -1e4).softmax(-1), 0)
        return torch.where(keep[..., None], self.out(H + weights @ self.v(H)), 0)


@functools.lru_cache
def others_of(n: int) -> torch.Tensor:
    """True off the diagonal (n, n), cached by size: it depends on nothing else."""
    return ~torch.eye(n, dtype=torch.bool)


@ZOO.add("equivariant", "the mean of the other elements, by a matrix cached under the padded size")
class MeanOfTheOthers(TorchElements):
    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        others = (others_of(X.shape[1]) & keep[:, None]).to(H.dtype)
        means = others @ H / others.sum(-1, keepdim=True).clamp(min=1)
        return torch.where(keep[..., None], self.out(H - means), 0)
