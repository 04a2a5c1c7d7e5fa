"""Chapter 25, deviations: write your answers here, then run python -m pytest docs/exercises/test_ch25.py"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Array = np.ndarray


def authors_mab(state: Mapping[str, Array], X: Array, Y: Array, heads: int) -> Array:
    """The MAB of the authors' code, without LayerNorm: X (n, d_x), Y (m, d_y) -> (n, d).

    state has "fc_q.weight" (d, d_x), "fc_q.bias" (d,), and so on for fc_k, fc_v and fc_o, as PyTorch stores them: y = x
    Wᵀ + b.  The table of the chapter says what differs from the paper: the residual, W^O, the scale.
    """
    raise NotImplementedError


def with_the_scale_of_a_head(W_q: Array, heads: int) -> Array:
    """A new W^Q with which a network that divides scores by √(d/h) computes what the old one did with √d."""
    raise NotImplementedError


def without_output(W_v: Array, W_o: Array) -> Array:
    """A new W^V with which attention with a single head, and without W^O, computes the same: (d_k, d), (d, d)."""
    raise NotImplementedError


def all_sigmas(Y: Array) -> Array:
    """The authors' outputs of a mixture in the plane, (k, 4): logit, two means, one σ; as ours, (k, 5), with two σ."""
    raise NotImplementedError


def xavier_bound(shape: tuple[int, ...]) -> float:
    """The bound of PyTorch's xavier_uniform_ for a tensor of this shape, √(6 / (fan_in + fan_out)).

    For a weight (out, in, ...) the sizes after the first two are a "receptive field", as in a convolution: it
    multiplies both fans.
    """
    raise NotImplementedError
