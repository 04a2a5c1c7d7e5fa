"""The layers that blocks are made of.  Those with random initial values take an explicit `rng`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, layer_norm, linear
from minisets.checks import positive_int
from minisets.nn import init
from minisets.nn.module import Module


class Identity(Module):
    """Y = X: a placeholder for a layer that is left out."""

    def forward(self, X: Any, mask: Any = None) -> Any:
        return X


class Linear(Module):
    """Y = X W + b for X (..., d_in), with W (d_in, d_out) as the paper writes it (PyTorch stores the transpose)."""

    def __init__(
        self, d_in: int, d_out: int, *, bias: bool = True, gain: float | None = None, rng: np.random.Generator
    ) -> None:
        d_in, d_out = positive_int("d_in", d_in), positive_int("d_out", d_out)
        self.weight, self.bias = init.layer(rng, (d_in, d_out), d_out, d_in, bias, gain)  # which explains the gain
        self.notation = f"FC({d_out}, –)"  # as the paper's tables write it

    def forward(self, X: Any) -> Tensor:
        return linear(X, self.weight, self.bias)


class LayerNorm(Module):
    """Each row of X normalized to mean 0 and variance 1, then scaled by γ and shifted by β.

    A mask has no effect, since each row is normalized separately.
    """

    def __init__(self, d: int, *, eps: float = 1e-5) -> None:
        d = positive_int("d", d)
        self.gamma, self.beta = init.constant((d,), 1.0), init.constant((d,), 0.0)
        self.eps, self.notation = eps, f"LayerNorm({d})"

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        return layer_norm(X, self.gamma, self.beta, eps=self.eps)
