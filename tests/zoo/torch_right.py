"""Right, in PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.zoo.member import D, Zoo
from tests.zoo.torch_wrong import MaskedAttention, Net

ZOO = Zoo("PyTorch")
add = ZOO.add


@add("equivariant", "nn.TransformerEncoder with a padding mask that never hides all keys")
class Encoder(Net):
    def build(self) -> None:
        layer = nn.TransformerEncoderLayer(D, 2, 16, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        hidden = ~mask & mask.any(1, keepdim=True)
        return self.encoder(self.elements(x, mask), src_key_padding_mask=hidden)


@add("invariant", "Deep Sets with a masked mean")
class DeepSets(Net):
    def build(self) -> None:
        self.rho = nn.Sequential(nn.Linear(D, D), nn.Tanh(), nn.Linear(D, 2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.elements(x, mask).masked_fill(~mask[..., None], 0)
        return self.rho(h.sum(1) / mask.sum(1, keepdim=True).clamp(min=1))


@add("invariant", "a masked maximum, 0 for empty sets")
class MaskedMaximum(Net):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.phi(x.masked_fill(~mask[..., None], 0)).masked_fill(~mask[..., None], -math.inf)
        h = torch.cat([h, torch.full_like(h[:, :1], -math.inf)], 1) if h.shape[1] else h.new_zeros(len(h), 1, D)
        return torch.where(mask.any(1, keepdim=True), h.amax(1), 0)


@add("equivariant", "the authors' MAB with itself, X projected and no mask")
class AuthorsSAB(MaskedAttention):
    def build(self) -> None:
        super().build()
        self.o = nn.Linear(D, D)

    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        q, k, v = (torch.cat(layer(h).split(D // 2, 2), 0) for layer in (self.q, self.k, self.v))
        o = torch.cat((q + (q @ k.transpose(1, 2) / math.sqrt(D)).softmax(2) @ v).split(len(h), 0), 2)
        return o + F.relu(self.o(o))


@add("invariant", "PMA by nn.MultiheadAttention; fully masked sets get their seed")
class AttentionPooling(Net):
    def build(self) -> None:
        self.attention = nn.MultiheadAttention(D, 2, batch_first=True)
        self.seeds = nn.Parameter(torch.randn(2, D))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.elements(x, mask)
        hidden = ~mask & mask.any(1, keepdim=True)
        seeds = self.seeds.expand(len(h), 2, D)
        pooled = self.attention(seeds, h, h, key_padding_mask=hidden, need_weights=False)[0]
        return seeds + pooled.masked_fill(~mask.any(1)[:, None, None], 0)


@add("equivariant", "set norm with masked statistics")
class MaskedSetNorm(Net):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        keep = mask[..., None]
        h = self.elements(x, mask).masked_fill(~keep, 0)
        count = (mask.sum(1) * D).clamp(min=1)[:, None, None]
        centered = (h - h.sum((1, 2), keepdim=True) / count).masked_fill(~keep, 0)
        return centered / (centered.square().sum((1, 2), keepdim=True) / count + 1e-5).sqrt()


@add("invariant", "batch norm with running statistics, in training mode when it arrives")
class RunningBatchNorm(Net):
    def build(self) -> None:
        self.norm = nn.BatchNorm1d(D)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.elements(x).sum(1))


@add("invariant", "a lambda around a float32 module, with a buffer and dropout in eval mode")
def function_of_tensors(rng: Any) -> Any:
    torch.manual_seed(int(rng.integers(2**31)))
    first, net = nn.Linear(3, D), nn.TransformerEncoderLayer(D, 2, 16, batch_first=True).eval()
    return lambda x: net(first(x)).mean(1)
