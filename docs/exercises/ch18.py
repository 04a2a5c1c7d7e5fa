"""Chapter 18, clustering images: write your answers here, then run python -m pytest docs/exercises/test_ch18.py"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def log_densities(X: Array, mu: Array, sigma: Array) -> Array:
    """log N(xᵢ; μⱼ, diag σⱼ²) of X (n, D) under mu, sigma (k, D): (n, k), in float64 and without an (n, k, D)
    array.
    """
    raise NotImplementedError


def responsibilities(log_pi: Array, log_p: Array) -> Array:
    """rᵢⱼ = πⱼ pᵢⱼ / Σⱼ πⱼ pᵢⱼ from logarithms (k,) and (n, k); also if they are around −10⁵."""
    raise NotImplementedError


def expanded_error(distance: float, size: float) -> float:
    """The relative error of (x − μ)² as x² − 2xμ + μ² in float32, for μ = size and x = size + distance.

    The right value is that of (x − μ)² in float64, for the x and μ that float32 can hold.
    """
    raise NotImplementedError


def standardize(train: Array, other: Array) -> tuple[Array, Array]:
    """Both arrays (N, D) shifted and scaled by the means and standard deviations of the first; a constant column is
    0.
    """
    raise NotImplementedError


def adjusted_rand_index(a: Array, b: Array) -> float:
    """The adjusted Rand index of two labelings (n,) of the same points, by its formula in
    tasks/metrics/mixtures.py.

    If both put all points together, or both put each alone, it is 1.
    """
    raise NotImplementedError


def worse_after_em() -> tuple[Array, Array, Array, Array]:
    """Points (n,), labels (n,), and centers (2,) and deviations (2,) of two components with weights ½: an example
    in which one EM step raises the likelihood and lowers the adjusted Rand index with the labels.
    """
    raise NotImplementedError
