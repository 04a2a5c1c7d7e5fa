"""Solutions of chapter 16, clustering.

7. By hand.  SAB: 4 · 5,000² = 100 million scores.  ISAB₃₂: twice 4 · 32 · 5,000, 1.28 million.  n² > 64 n from n = 65
   on.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

Array = np.ndarray


Mixture = tuple[Array, Array, Array]


def mixture_log_likelihood(X: Array, pi: Array, mu: Array, sigma: Array) -> float:
    """Everything stays a logarithm: a sum over D of log-densities, then log-sum-exp over the components."""
    z = (X[:, None] - mu) / sigma  # (n, k, D)
    log_densities = (-0.5 * z**2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)).sum(axis=-1)
    return float(logsumexp(log_densities + np.log(pi), axis=1).mean())


def em_step(X: Array, pi: Array, mu: Array, sigma: Array) -> Mixture:
    """E: each point is shared among the components in proportion to π N.  M: weighted means and deviations."""
    z = (X[:, None] - mu) / sigma
    log_joint = (-0.5 * z**2 - np.log(sigma)).sum(axis=-1) + np.log(pi)  # (n, k), up to a constant
    r = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    owned = r.sum(axis=0)  # (k,)
    new = r.T @ X / owned[:, None]
    variance = (r[:, :, None] * (X[:, None] - new) ** 2).sum(axis=0) / owned[:, None]
    return owned / len(X), new, np.sqrt(variance)


def rand_index(a: Array, b: Array) -> float:
    """For random labelings with four labels, a pair is together with probability ¼ in each: they agree on 1/16 +
    9/16 = 0.625.

    An index of 0.625 for pure chance is why the adjusted one is preferred: it is 0 there.
    """
    pairs = list(itertools.combinations(range(len(a)), 2))
    return sum((a[i] == a[j]) == (b[i] == b[j]) for i, j in pairs) / len(pairs)


def collapse(X: Array, eps: float) -> Mixture:
    """One component sits on a single point with σ = ε, and the other covers everything, so that no point has
    density 0.

    The density at the one point is about ε⁻ᴰ, so log p(X)/n grows as −D log(ε)/n.  EM runs there if it is let;
    hence the floor.
    """
    centers = np.stack([X[0], X.mean(axis=0)])
    return np.array([0.5, 0.5]), centers, np.stack([np.full(X.shape[1], eps), X.std(axis=0) + 1.0])


def best_match(found: Array, true: Array) -> tuple[Array, float]:
    """The assignment problem, which need not try all k! orders.

    As a loss it would have a kink wherever two assignments are equally good, and the gradient would pull each
    center toward a partner that changes there.  The likelihood needs no partners.
    """
    distance = np.linalg.norm(found[:, None] - true, axis=-1)
    rows, columns = linear_sum_assignment(distance)
    return columns, float(distance[rows, columns].sum())


def isotropic_head(Y: Array) -> Mixture:
    """What it cannot represent: a cluster that is wide along one axis and narrow along the other.  Its best σ is in
    between.
    """
    pi = np.exp(Y[:, 0] - logsumexp(Y[:, 0]))
    return pi, Y[:, 1:3], np.repeat(np.logaddexp(0, Y[:, 3:]), 2, axis=1)
