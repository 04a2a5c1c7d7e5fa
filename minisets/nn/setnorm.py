"""Set normalization (Zhang et al., 2022)."""

from __future__ import annotations

import numpy as np

from autograd import Tensor, where
from autograd.backend import Array
from minisets.checks import positive_int
from minisets.nn import init
from minisets.nn.module import Module


class SetNorm(Module):
    """Each set normalized to mean 0 and variance 1 over all its elements and features together, then γ ⊙ X + β.

    X is (..., n, d), the mask (..., n); only unmasked elements count.  Unlike LayerNorm, it preserves differences in
    magnitude between the elements of a set.
    """

    def __init__(self, d: int, *, eps: float = 1e-5) -> None:
        d = positive_int("d", d)
        self.gamma, self.beta = init.constant((d,), 1.0), init.constant((d,), 0.0)
        self.eps, self.notation = eps, f"SetNorm({d})"

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        *batch, n, d = X.shape
        valid = np.ones((*batch, n, 1), dtype=bool) if mask is None else mask[..., None]
        count = np.maximum(valid.sum(axis=(-2, -1), keepdims=True), 1) * d
        mean = where(valid, X, 0).sum(axis=(-2, -1), keepdims=True) / count
        centered = where(valid, X - mean, 0)
        variance = (centered * centered).sum(axis=(-2, -1), keepdims=True) / count
        return centered / (variance + self.eps).sqrt() * self.gamma + self.beta
