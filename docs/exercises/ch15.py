"""Chapter 15, maximum regression: write your answers here, then run python -m pytest docs/exercises/test_ch15.py"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


Layer = tuple[Array, Array]


def soft_maximum(x: Array, beta: float) -> float:
    """(1/β) log mean exp(βx), for numbers x (n,); finite and exact to rounding for β up to 10⁶."""
    raise NotImplementedError


def maximum_by_attention(x: Array, beta: float) -> float:
    """Σ softmax(βx)ᵢ xᵢ: the maximum by attention with a single query, stable for large β."""
    raise NotImplementedError


def worst_gap(beta: float) -> float:
    """For two numbers that are a gap δ > 0 apart, the δ with the largest error of maximum_by_attention."""
    raise NotImplementedError


def expected_maximum(n: int) -> float:
    """The mean of the maximum of n numbers, independent and uniform on [0, 100]."""
    raise NotImplementedError


def error_knowing_size(n: int) -> float:
    """The mean absolute error of the best guess at the maximum, if nothing but the size n of the set is known."""
    raise NotImplementedError


def exact_max_network() -> tuple[Layer, Layer, Layer]:
    """Weights and biases (W, b) of two layers and a head, each with W (d_in, d_out) and b (d_out,), for which

        max over the set of relu(relu(x W₁ + b₁) W₂ + b₂), times W₃, plus b₃

    is the maximum of any set of numbers from [−1, 1].
    """
    raise NotImplementedError


def jump(errors: Array) -> float:
    """The largest factor between consecutive errors, up or down."""
    raise NotImplementedError


def selected(test: Array, validation: Array) -> float:
    """The test error of the weights with the smallest validation error; of the first, if several have it."""
    raise NotImplementedError
