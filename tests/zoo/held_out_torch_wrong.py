"""Held-out members of PyTorch, wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from tests.zoo.member import D_IN, D, Zoo

ZOO = Zoo("PyTorch")


class TorchElements(torch.nn.Module):
    """φ(x) = relu(x W + b) and the mask, for the PyTorch networks."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        torch.manual_seed(int(rng.integers(2**31)))
        self.linear, self.out = torch.nn.Linear(D_IN, D), torch.nn.Linear(D, 4)

    def phi(self, X: torch.Tensor, mask: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        keep = torch.ones(X.shape[:2], dtype=torch.bool) if mask is None else torch.as_tensor(mask)
        H = torch.relu(self.linear(torch.where(keep[..., None], X, 0)))
        return torch.where(keep[..., None], H, 0), keep


@ZOO.add("equivariant", "a graph of nearest neighbors cached by the shape of the batch", "equivariant")
class GraphCachedByShape(TorchElements):
    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        self.graphs = getattr(self, "graphs", {})
        if (shape := tuple(X.shape)) not in self.graphs:
            points = torch.where(keep[..., None], X, 0).detach()
            far = ((points[:, :, None] - points[:, None]) ** 2).sum(-1).masked_fill(~keep[:, None], torch.inf)
            self.graphs[shape] = far.topk(min(3, X.shape[1]), largest=False).indices
        graph, sets = self.graphs[shape], torch.arange(len(X))[:, None, None]
        valid = keep[sets, graph]
        means = (H[sets, graph] * valid[..., None]).sum(2) / valid.sum(2).clamp(min=1)[..., None]
        return torch.where(keep[..., None], self.out(means + H), 0)


@ZOO.add("equivariant", "a 0/1 mask as floats, which scaled_dot_product_attention adds to the scores", "padding")
class FloatMaskIsAdded(TorchElements):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.q, self.k, self.v = (torch.nn.Linear(D, D, bias=False) for _ in range(3))

    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        attn_mask = None if mask is None else keep[:, None].to(H.dtype)
        Y = F.scaled_dot_product_attention(self.q(H), self.k(H), self.v(H), attn_mask=attn_mask)
        return torch.where(keep[..., None], self.out(H + Y), 0)


@ZOO.add("invariant", "a mean times log(n + 1), computed by NumPy in float64", "dtype")
class DegreeScalerInNumPy(TorchElements):
    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        n = keep.sum(1)[:, None]
        return self.out(H.sum(1) / n.clamp(min=1)) * torch.from_numpy(np.log1p(n.numpy()))


@ZOO.add("equivariant", "interpolation with weights 1/distance², ∞ for two points at one place", "duplicates")
class InverseDistanceWeights(TorchElements):
    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        points = torch.where(keep[..., None], X, 0)
        others = keep[:, :, None] & keep[:, None] & ~torch.eye(X.shape[1], dtype=torch.bool)
        squared = torch.where(others, ((points[:, :, None] - points[:, None]) ** 2).sum(-1), 1)
        weights = torch.where(others, 1 / squared, 0)
        total = torch.where(others.any(-1), weights.sum(-1), 1)[..., None]
        return torch.where(keep[..., None], self.out(H + weights @ H / total), 0)


@ZOO.add("invariant", "every layer is applied to the same H, and only the last result is used", "parameters")
class LoopOverwritesItsResult(TorchElements):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(D, D) for _ in range(3))

    def forward(self, X: torch.Tensor, mask: Any = None) -> torch.Tensor:
        H, keep = self.phi(X, mask)
        Y = H
        for layer in self.layers:
            Y = torch.relu(layer(H)) + H
        return self.out(torch.where(keep[..., None], Y, 0).sum(1) / keep.sum(1).clamp(min=1)[:, None])
