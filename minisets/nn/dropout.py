"""Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, dropout
from minisets.nn import init
from minisets.nn.module import Module


class Dropout(Module):
    """In training, zeroes each element with probability p and scales the rest by 1/(1 − p); otherwise Y = X."""

    def __init__(self, p: float, *, rng: np.random.Generator) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"the probability p of dropping an element must lie in [0, 1), given {p}")
        self.p, self.rng = p, init.require_generator(rng)
        self.notation = f"Dropout({p})"

    def forward(self, X: Any) -> Tensor:
        return dropout(X, p=self.p if self.training else 0.0, rng=self.rng)
