"""Chapter 25, deviations: solutions.

6. With h heads the output is Σⱼ Pⱼ X Wⱼ^V Wⱼ^O, where Wⱼ^O are the d/h rows of W^O that belong to head j.  Each product
Wⱼ^V Wⱼ^O is a matrix (d, d) of rank d/h; without W^O the output of head j can only go to its own d/h features.  So one
head can fold W^O into W^V, and several cannot: with W^O every head can write to all features.

7. Both say "the mean over four runs", but of other quantities: the best step of each run is chosen with knowledge of
the test sets, so it is an optimistic number, and more so the more often one looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

Array = np.ndarray


def authors_mab(state: Mapping[str, Array], X: Array, Y: Array, heads: int) -> Array:
    """H = fc_q(X) + A V, head by head, and H + relu(fc_o(H)).

    The residual is the projected query instead of X, so X may have any width.  There is no W^O: fc_o is the rFF.
    """

    def fc(name: str, x: Array) -> Array:
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    Q, K, V = fc("fc_q", X), fc("fc_k", Y), fc("fc_v", Y)
    d = Q.shape[1]
    outputs = []
    for j in range(heads):
        part = slice(j * d // heads, (j + 1) * d // heads)
        S = Q[:, part] @ K[:, part].T / math.sqrt(d)
        P = np.exp(S - S.max(axis=1, keepdims=True))
        outputs.append(Q[:, part] + P / P.sum(axis=1, keepdims=True) @ V[:, part])
    H = np.concatenate(outputs, axis=1)
    return H + np.maximum(fc("fc_o", H), 0)


def with_the_scale_of_a_head(W_q: Array, heads: int) -> Array:
    """Scores become larger by √d / √(d/h) = √h; a smaller query makes up for it.  A bias has to be scaled as well."""
    return W_q / math.sqrt(heads)


def without_output(W_v: Array, W_o: Array) -> Array:
    """(P X W^V) W^O = P X (W^V W^O)."""
    return W_v @ W_o


def all_sigmas(Y: Array) -> Array:
    """One σ for both axes means circles; the printed 1 + 2·2 numbers allow ellipses along the axes."""
    return np.concatenate([Y, Y[:, 3:]], axis=1)


def xavier_bound(shape: tuple[int, ...]) -> float:
    """For the authors' inducing points, (1, m, d): fan_in = m d and fan_out = d, hence √(6 / (d (m + 1))).

    A matrix (m, d) would have √(6 / (m + d)).  The authors' shape, with its 1 for the batch, is read as a convolution:
    the bound is an accident, but it is what they trained with.
    """
    field = math.prod(shape[2:])
    return math.sqrt(6 / (field * (shape[0] + shape[1])))
