"""Chapter 16, clustering: write your answers here, then run python -m pytest docs/exercises/test_ch16.py

A mixture is three arrays: weights pi (k,), centers mu (k, D) and standard deviations sigma (k, D).
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


Mixture = tuple[Array, Array, Array]


def mixture_log_likelihood(X: Array, pi: Array, mu: Array, sigma: Array) -> float:
    """log p(X) / n for points X (n, D), also for points at which every density underflows."""
    raise NotImplementedError


def em_step(X: Array, pi: Array, mu: Array, sigma: Array) -> Mixture:
    """The mixture after one step of EM."""
    raise NotImplementedError


def rand_index(a: Array, b: Array) -> float:
    """The fraction of pairs of points on which two labelings (n,) agree: together in both, or apart in both."""
    raise NotImplementedError


def collapse(X: Array, eps: float) -> Mixture:
    """A mixture of two components whose likelihood on the points X (n, D) grows without bound as eps → 0."""
    raise NotImplementedError


def best_match(found: Array, true: Array) -> tuple[Array, float]:
    """For each of k found centers (k, D) the index of its true one, one to one, with the smallest total distance;
    and it.
    """
    raise NotImplementedError


def isotropic_head(Y: Array) -> Mixture:
    """The authors' head: Y (k, 4) holds a logit, two coordinates and one number per component, σ = softplus of it.

    The σ of a component is the same for both axes: sigma (k, 2) has equal columns.
    """
    raise NotImplementedError
