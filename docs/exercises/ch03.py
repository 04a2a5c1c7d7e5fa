"""Chapter 3, derivatives: write your answers here, then run python -m pytest docs/exercises/test_ch03.py

Each op is a pure function of NumPy arrays that returns its value and its vjp, or a tuple of one vjp per input.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Vjp = Callable[[Array], Array]


def log_sigmoid(x: Array) -> tuple[Array, Vjp]:
    """y = log σ(x), without overflow, and without loss of precision in the gradient, for x from −1000 to 1000"""
    raise NotImplementedError


def rms_norm(x: Array, eps: float = 1e-5) -> tuple[Array, Vjp]:
    """y = x / √(mean x² + ε) over the last axis"""
    raise NotImplementedError


def sort(x: Array) -> tuple[Array, Vjp]:
    """y = the numbers of the vector x in ascending order"""
    raise NotImplementedError


def cumsum(x: Array) -> tuple[Array, Vjp]:
    """yᵢ = x₁ + … + xᵢ, for a vector x"""
    raise NotImplementedError


def squared_distances(x: Array, y: Array) -> tuple[Array, tuple[Vjp, Vjp]]:
    """Dᵢⱼ = |xᵢ − yⱼ|² for x (n, d) and y (m, d), without an array of n m d numbers"""
    raise NotImplementedError


def masked_logsumexp(x: Array, mask: Array) -> tuple[Array, Vjp]:
    """y = log Σ eˣ over the elements of the last axis for which the mask, of x's shape, is True

    What masked elements hold, even nan, has no effect.  A row without elements: −∞, with gradient 0.
    """
    raise NotImplementedError


def cross_entropy(z: Array, label: int) -> tuple[float, Vjp]:
    """ℓ = −log softmax(z)[label], for a vector z of any size of numbers"""
    raise NotImplementedError
