"""Chapter 11, baselines: write your answers here, then run python -m pytest docs/exercises/test_ch11.py"""

from __future__ import annotations

import numpy as np

from autograd import Tensor

Array = np.ndarray


def masked_max(X: Array, mask: Array) -> Array:
    """The maximum of the present elements of X (B, n, d) for each feature, 0 for an empty set: (B, d), in NumPy."""
    raise NotImplementedError


def dotprod(Z: Array, s: Array) -> Array:
    """Σ aᵢ zᵢ with a = softmax(⟨s, zᵢ⟩ / √d), for one set Z (n, d) and the vector s (d,): (d,), in NumPy."""
    raise NotImplementedError


def centering(d: int) -> tuple[Array, Array]:
    """Γ and Λ, both (d, d), with which X Γ + mean(X) Λ is X minus its mean."""
    raise NotImplementedError


def as_matrices(lam: float, gamma: float, W: Array) -> tuple[Array, Array]:
    """Γ and Λ with which X Γ + mean(X) Λ is the scalar form λ x + γ mean(x) applied to X W."""
    raise NotImplementedError


def parameters_of_deep_sets(d_in: int, d: int, d_out: int) -> int:
    """How many numbers build("rFF + Pooling", d_in=d_in, d=d, d_out=d_out) learns, for 2D clustering.

    From the supplement: four FC(d, ReLU), the mean, three FC(d, ReLU), FC(4 · d_out, −).
    """
    raise NotImplementedError


def spread(Z: Tensor, mask: Array | None) -> Tensor:
    """A pooling of your own: max − min of each feature over the present elements, (B, n, d) -> (B, 1, d).

    autograd.max_pool takes axis=-2 and a mask.  An empty set gives 0.
    """
    raise NotImplementedError
