"""Chapter 6, the blocks: write your answers here, then run python -m pytest docs/exercises/test_ch06.py"""

from __future__ import annotations

import numpy as np

from minisets import ISAB, MAB, PMA
from minisets.nn import Linear, Module

Array = np.ndarray


def layer_norm(X: Array, eps: float = 1e-5) -> Array:
    """Each row of X (n, d) minus its mean, divided by √(variance + eps), in NumPy."""
    raise NotImplementedError


def mab(block: MAB, X: Array, Y: Array) -> Array:
    """MAB(X, Y) in NumPy for a block of style paper with one head and d_x = d, from its weights.

    X is (n, d), Y (m, d_y).  Layers have .weight.data and .bias.data, as in block.attention.q, .k, .v, .o and
    block.rff.layers[0]; the norms are as they were made (γ = 1, β = 0).
    """
    raise NotImplementedError


def parameters_of_isab(d_in: int, d: int, m: int) -> int:
    """How many numbers ISAB(d_in, d, heads, m) learns, in style paper, if d_in differs from d."""
    raise NotImplementedError


def most_attended(pma: PMA, Z: Array, mask: Array) -> Array:
    """The element of each set to which the first seed gives the largest weight, averaged over heads: (B,) integers.

    Z is (B, n, d).  minisets.record_attention shows the weights.
    """
    raise NotImplementedError


class Careless(Module):
    """A Set Transformer for sets of different sizes, with two mistakes."""

    def __init__(self, d_in: int, d: int, d_out: int, *, rng: np.random.Generator) -> None:
        self.first, self.second = ISAB(d_in, d, 2, 4, rng=rng), ISAB(d, d, 2, 4, rng=rng)
        self.pma, self.head = PMA(d, 2, 1, rng=rng), Linear(d, d_out, rng=rng)

    def forward(self, X, mask=None):
        Z = self.second(self.first(X, mask))
        return self.head(self.pma(Z))[:, 0]


def repaired(net: Careless, X, mask=None):
    """The output of the same layers, without the mistakes."""
    raise NotImplementedError


def shared_summary(isab: ISAB, X: Array, Y: Array):
    """The elements of X (B, n, d) attend to a summary of Y (B, l, d): the ISAB's two MABs, with H made from Y.

    With Y = X it is isab(X).  Call the MABs, not their forward, which takes Tensors only.
    """
    raise NotImplementedError
