"""Normalisation of whole sets (Zhang et al., 2022)."""

from __future__ import annotations

import numpy as np

from autograd import Tensor, where
from autograd.backend import Array
from minisets.checks import positive_int
from minisets.nn import init
from minisets.nn.module import Module


class SetNorm(Module):
    """Each set brought to mean 0 and variance 1 over all of its elements and features at once, then γ ⊙ X + β.

    X is (..., n, d), the mask (..., n); only elements present count.  Unlike LayerNorm it keeps what tells the elements
    of a set apart by size.
    """

    def __init__(self, d: int, *, eps: float = 1e-5) -> None:
        d = positive_int("d", d)
        self.gamma, self.beta = init.constant((d,), 1.0), init.constant((d,), 0.0)
        self.eps, self.notation = eps, f"SetNorm({d})"

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        *batch, n, d = X.shape
        present = np.ones((*batch, n, 1), dtype=bool) if mask is None else mask[..., None]
        count = np.maximum(present.sum(axis=(-2, -1), keepdims=True), 1) * d
        mean = where(present, X, 0).sum(axis=(-2, -1), keepdims=True) / count
        centred = where(present, X - mean, 0)
        variance = (centred * centred).sum(axis=(-2, -1), keepdims=True) / count
        return centred / (variance + self.eps).sqrt() * self.gamma + self.beta
