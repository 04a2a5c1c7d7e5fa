"""Chapter 20, point clouds: write your answers here, then run python -m pytest docs/exercises/test_ch20.py"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Array = np.ndarray


def standardize(X: Array) -> Array:
    """Clouds (B, n, 3) with mean 0 along each axis, divided by one standard deviation for all axes of a cloud.

    A cloud of equal points becomes zeros.
    """
    raise NotImplementedError


def rotate_about_z(X: Array, angle: float) -> Array:
    """Points (…, 3) rotated about the z axis, counterclockwise as seen from above."""
    raise NotImplementedError


def which_is_up(X: Array) -> int:
    """The axis along which the mean of a cloud of X (N, P, 3) differs most from the middle between its ends, on
    average.

    Differences are measured in units of the cloud's radius, the largest distance of a point from the middle.
    """
    raise NotImplementedError


def sample_surface(rng: np.random.Generator, triangles: Array, n: int) -> Array:
    """n points, uniform by area on triangles (F, 3, 3): (n, 3)."""
    raise NotImplementedError


def mean_class_accuracy(confusion: Mapping[str, Mapping[str, int]]) -> float:
    """The mean over true classes of the fraction that is right, from {true: {predicted: count}} without zeros."""
    raise NotImplementedError


def critical_points(features: Array) -> list[int]:
    """The points, in ascending order, that are the maximum of at least one feature of features (n, d).

    Of several points with the same maximum, the first counts.
    """
    raise NotImplementedError
