"""Wrong, in PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.zoo.member import D_IN, D, Zoo

ZOO = Zoo("PyTorch")
add = ZOO.add


class Net(nn.Module):
    """Made from a NumPy generator, as all members are; φ(x) = relu(x W + b) is the first layer."""

    def __init__(self, rng: Any) -> None:
        super().__init__()
        torch.manual_seed(int(rng.integers(2**31)))
        self.phi = nn.Linear(D_IN, D)
        self.build()

    def build(self) -> None:
        """More layers."""

    def elements(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None:
            x = x.masked_fill(~mask[..., None], 0)
        return F.relu(self.phi(x))


@add(
    "equivariant", "nn.MultiheadAttention without batch_first: sets attend to each other", "batch_independence", "axes"
)
class BatchFirstForgotten(Net):
    def build(self) -> None:
        self.attention = nn.MultiheadAttention(D, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        return h + self.attention(h, h, h, need_weights=False)[0]


@add("equivariant", "a transformer encoder with its positional encoding", "equivariant", "position")
class PositionalEncoding(Net):
    def build(self) -> None:
        self.encoder = nn.TransformerEncoderLayer(D, 2, 16, batch_first=True)
        angles = torch.arange(64)[:, None] / 100 ** (torch.arange(D) / D)
        self.register_buffer("table", 0.1 * torch.sin(angles))

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(self.elements(x) + self.table[: x.shape[1]])


@add("invariant", "key_padding_mask given True for presence; there it means padding", "padding", "inverted")
class PaddingMaskNotInverted(Net):
    def build(self) -> None:
        self.attention = nn.MultiheadAttention(D, 2, batch_first=True)
        self.seed = nn.Parameter(torch.randn(1, 1, D))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.elements(x, mask)
        return self.attention(self.seed.expand(len(h), 1, D), h, h, key_padding_mask=mask, need_weights=False)[0]


@add("equivariant", "batch norm without running statistics", "batch_independence", "batch statistics")
class NoRunningStatistics(Net):
    def build(self) -> None:
        self.norm = nn.BatchNorm1d(D, track_running_stats=False)

    def forward(self, x: Tensor) -> Tensor:
        return (
            self.norm(self.elements(x).transpose(1, 2)).transpose(1, 2) if x.shape[0] * x.shape[1] > 1 else self.phi(x)
        )


@add("invariant", "a GRU over the elements", "invariant", "position")
class GRUPooling(Net):
    def build(self) -> None:
        self.gru = nn.GRU(D, D, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.gru(self.elements(x))[1][0]


class MaskedAttention(Net):
    def build(self) -> None:
        self.q, self.k, self.v = (nn.Linear(D, D) for _ in range(3))

    def scores(self, h: Tensor, mask: Tensor) -> Tensor:
        return self.q(h) @ self.k(h).transpose(-1, -2) / math.sqrt(D)


@add("equivariant", "masked_fill(−inf) on all scores of an empty set", "empty_sets", "softmax over no keys")
class NanOnEmptySets(MaskedAttention):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.elements(x, mask)
        return h + self.scores(h, mask).masked_fill(~mask[:, None], -math.inf).softmax(-1) @ self.v(h)


@add("equivariant", "K and V times the mask, scores untouched, as in several ports", "padding", "multiplication")
class KeysAndValuesTimesMask(MaskedAttention):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h, keep = self.elements(x, mask), mask[..., None].to(x.dtype)
        q, k, v = self.q(h), self.k(h) * keep, self.v(h) * keep
        return h + (q @ k.transpose(-1, -2) / math.sqrt(D)).softmax(-1) @ v


@add("invariant", "an encoder with a mask, and mean(1) after it", "padding", "counted")
class MeanWithoutTheMask(Net):
    def build(self) -> None:
        self.encoder = nn.TransformerEncoderLayer(D, 2, 16, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        alone = ~mask & mask.any(1, keepdim=True)
        h = self.encoder(self.elements(x, mask), src_key_padding_mask=alone)
        return h.masked_fill(~mask[..., None], 0).mean(1)


@add("invariant", "a maximum over zero padding", "padding", "max over padding")
class ZeroPaddedMaximum(Net):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x.masked_fill(~mask[..., None], 0)
        return self.phi(x).masked_fill(~mask[..., None], 0).amax(1)


@add("invariant", "F.dropout without training=self.training", "invariant", "random")
class FunctionalDropout(Net):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(self.elements(x), 0.2).mean(1)


@add("equivariant", "inducing points as a plain tensor: not a parameter, never trained", "parameters", "plain tensor")
class InducingPointsAsPlainTensor(Net):
    def build(self) -> None:
        self.inducing = torch.randn(4, D)
        self.down, self.up = (nn.MultiheadAttention(D, 2, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        points = self.inducing.to(h.dtype).expand(len(h), 4, D)
        z = self.down(points, h, h, need_weights=False)[0]
        return h + self.up(h, z, z, need_weights=False)[0]


@add("invariant", "seeds read through .data: their gradient is lost", "parameters", "no gradient")
class SeedsThroughData(Net):
    def build(self) -> None:
        self.seeds = nn.Parameter(torch.randn(2, D))

    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        return (self.seeds.data @ h.transpose(1, 2)).softmax(-1) @ h


@add("equivariant", "heads by view(B, h, n, d/h)", "equivariant", "position")
class HeadsByView(MaskedAttention):
    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        B, n, d = h.shape
        q, k, v = (layer(h).view(B, 2, n, d // 2) for layer in (self.q, self.k, self.v))
        return h + ((q @ k.transpose(-1, -2)).softmax(-1) @ v).reshape(B, n, d)


@add("equivariant", "F.layer_norm over (n, d): padding enters the statistics", "padding", "counted")
class LayerNormOverPadding(Net):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        h = self.elements(x, mask).masked_fill(~mask[..., None], 0)
        return F.layer_norm(h, h.shape[1:]) if h.shape[1] else h


@add("invariant", "squeeze() after pooling, which removes a batch of one, too", "batch_independence", "shape")
class Squeezed(Net):
    def build(self) -> None:
        self.seed = nn.Parameter(torch.randn(1, D))

    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        return ((self.seed @ h.transpose(1, 2)).softmax(-1) @ h).squeeze()


@add("equivariant", "nn.Dropout in the constructor, not in forward", "parameters", "dropout")
class DropoutNotCalled(MaskedAttention):
    def build(self) -> None:
        super().build()
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.elements(x)
        return h + (self.q(h) @ self.k(h).transpose(-1, -2)).softmax(-1) @ self.v(h)


@add("invariant", "the last hidden element, h[:, -1]", "invariant", "last")
class LastElement(Net):
    def build(self) -> None:
        self.encoder = nn.TransformerEncoderLayer(D, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(self.elements(x))[:, -1]
