"""Solutions of chapter 6, the blocks.

1. By hand.  A SAB on a set of one element x: the softmax over one key is 1, so the attention is x W^V W^O (plus
   biases), a linear function of x.  H = LN(x + x W^V W^O), and the output is LN(H + relu(H W + b)): a row-wise
   block.  W^Q and W^K have no effect.
2. By hand.  SAB: n² scores per head.  ISAB: n m + m n.  n² > 2 n m if n > 2 m: from 33 elements on for m = 16.
   Measured times cross much later (chapter 9), because the ISAB also has two rFFs, two norms more, and more calls.
"""

from __future__ import annotations

import numpy as np

from docs.exercises.ch06 import Careless
from minisets import ISAB, MAB, PMA, record_attention

__all__ = ["Careless"]

Array = np.ndarray


def layer_norm(X: Array, eps: float = 1e-5) -> Array:
    """Over the last axis: each row by itself."""
    centered = X - X.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)


def mab(block: MAB, X: Array, Y: Array) -> Array:
    """The equation from the inside out.  With one head there is nothing to split; √d is that of the full width."""

    def fc(layer, x: Array) -> Array:
        return x @ layer.weight.data + layer.bias.data

    a = block.attention
    S = fc(a.q, X) @ fc(a.k, Y).T / np.sqrt(a.d)
    e = np.exp(S - S.max(axis=1, keepdims=True))
    attended = e / e.sum(axis=1, keepdims=True) @ fc(a.v, Y)
    H = layer_norm(X + fc(a.o, attended))
    return layer_norm(H + np.maximum(fc(block.rff.layers[0], H), 0))


def parameters_of_isab(d_in: int, d: int, m: int) -> int:
    """I has m d.  MAB(I, X): q, o and rFF are (d, d), k and v (d_in, d).  MAB(X, H): q and the residual's
    projection are (d_in, d), k, v, o and rFF (d, d).  Each has a bias of d, and each MAB two norms with 2 d each."""
    square, wide = d * d + d, d_in * d + d
    first = 3 * square + 2 * wide + 4 * d
    second = 4 * square + 2 * wide + 4 * d
    return m * d + first + second


def most_attended(pma: PMA, Z: Array, mask: Array) -> Array:
    """Recorded weights are (B, h, k, n): the first seed, the mean over heads."""
    with record_attention(pma) as seen:
        pma(Z, mask)
    (weights,) = seen["mab.attention"]
    return weights[:, :, 0].mean(axis=1).argmax(axis=-1)


def repaired(net: Careless, X, mask=None):
    """The second ISAB and the PMA need the mask as well: without it, padding of zeros is an element like any other."""
    Z = net.second(net.first(X, mask), mask)
    return net.head(net.pma(Z, mask))[:, 0]


def shared_summary(isab: ISAB, X: Array, Y: Array):
    """H is a summary of Y; the elements of X ask it.  Large training sets can be summarized once and asked often."""
    return isab.mab1(X, isab.mab0(isab.I, Y))
