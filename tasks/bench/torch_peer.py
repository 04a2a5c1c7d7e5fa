"""The same training step in PyTorch, for comparison.  This is the only file that imports torch, and it is optional."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Multihead(nn.Module):
    def __init__(self, d_x: int, d_y: int, d: int, heads: int, attention: str) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(d_x, d), nn.Linear(d_y, d), nn.Linear(d_y, d), nn.Linear(d, d)
        self.d, self.heads, self.kind = d, heads, attention

    def forward(self, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        def split(t: torch.Tensor) -> torch.Tensor:
            return t.view(t.shape[0], t.shape[1], self.heads, self.d // self.heads).transpose(1, 2)

        B, scale = Y.shape[0], 1 / math.sqrt(self.d)
        q, k, v = split(self.q(X)).expand(B, -1, -1, -1), split(self.k(Y)), split(self.v(Y))
        if self.kind == "sdpa":
            o = F.scaled_dot_product_attention(q, k, v, scale=scale)
        else:
            o = torch.softmax(q @ k.transpose(2, 3) * scale, -1) @ v
        return self.o(o.transpose(1, 2).reshape(B, X.shape[1], self.d))


class MAB(nn.Module):
    def __init__(self, d_x: int, d_y: int, d: int, heads: int, attention: str) -> None:
        super().__init__()
        self.attention = Multihead(d_x, d_y, d, heads, attention)
        self.skip = nn.Identity() if d_x == d else nn.Linear(d_x, d)
        self.ff, self.norm_h, self.norm_out = nn.Linear(d, d), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        H = self.norm_h(self.skip(X) + self.attention(X, Y))
        return self.norm_out(H + F.relu(self.ff(H)))


class SAB(nn.Module):
    def __init__(self, d_in: int, d: int, heads: int, attention: str) -> None:
        super().__init__()
        self.mab = MAB(d_in, d_in, d, heads, attention)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.mab(X, X)


class ISAB(nn.Module):
    def __init__(self, d_in: int, d: int, heads: int, m: int, attention: str) -> None:
        super().__init__()
        self.I = nn.Parameter(torch.zeros(m, d))
        self.mab0, self.mab1 = MAB(d, d_in, d, heads, attention), MAB(d_in, d, d, heads, attention)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.mab1(X, self.mab0(self.I[None], X))


class PMA(nn.Module):
    def __init__(self, d: int, heads: int, k: int, attention: str) -> None:
        super().__init__()
        self.S, self.mab = nn.Parameter(torch.zeros(k, d)), MAB(d, d, d, heads, attention)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.mab(self.S[None], X)


class rFF(nn.Module):
    def __init__(self, d_in: int, d: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, d) for a in [d_in, *[d] * (layers - 1)])

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            X = F.relu(layer(X))
        return X


class ConvNorm(nn.Module):
    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(c_out)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.conv(X)))


class ImageEncoder(nn.Module):
    def __init__(self, convs: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ConvNorm(64 if i else 1, 64) for i in range(convs))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        B, n = X.shape[:2]
        X = X.flatten(0, 1)
        for layer in self.layers:
            X = layer(X)
        return X.reshape(B, n, -1)


class Stack(nn.Module):
    def __init__(self, s: Any, attention: str) -> None:
        super().__init__()
        widths = [s.d_in, *[s.d] * (s.layers - 1)]
        if s.encoder == "SAB":
            layers = [SAB(a, s.d, s.heads, attention) for a in widths]
        elif s.encoder == "ISAB":
            layers = [ISAB(a, s.d, s.heads, s.m, attention) for a in widths]
        else:
            layers = [rFF(s.d_in, s.d, s.layers)]
        if s.convs:
            layers.insert(0, ImageEncoder(s.convs))
        if s.seeds:
            layers += [PMA(s.d, s.heads, s.seeds, attention)]
            layers += [SAB(s.d, s.d, s.heads, attention) for _ in range(s.sabs)] + [nn.Linear(s.d, s.d_out)]
        self.layers = nn.ModuleList(layers)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            X = layer(X)
        return X


class TorchTrainingStep:
    """PyTorch's training step, from our weights; parameter names are the same, except γ and β of normalizations."""

    def __init__(self, shape: Any, attention: str, weights: Path) -> None:
        self.net = Stack(shape, attention)
        with np.load(weights, allow_pickle=False) as file:
            arrays = {name: torch.from_numpy(file[name]) for name in file.files}
        self.X = arrays.pop("X")
        with torch.no_grad():
            for name, p in self.net.named_parameters():
                norm = name.rsplit(".", 2)[-2].startswith("norm") if "." in name else False
                name = name.replace(".ff.", ".rff.layers.0.")  # a MAB's rFF has one layer
                ours = arrays.pop(name.replace(".weight", ".gamma").replace(".bias", ".beta") if norm else name)
                linear = name.endswith(".weight") and p.ndim == 2
                p.copy_(ours.T if linear else ours)
        arrays = {
            name: array for name, array in arrays.items() if ".running_" not in name
        }  # both start from the same statistics
        if arrays:
            raise ValueError(f"weights that the PyTorch network lacks: {sorted(arrays)}")
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def step(self) -> float:
        self.optimizer.zero_grad()
        loss = (self.net(self.X) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()
