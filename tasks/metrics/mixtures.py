"""Mixtures of Gaussians on sets of points: sampling, likelihood, EM, and the agreement of two labelings.

Plain NumPy in float64, in batches: points X (B, n, D), a mask (B, n), and a mixture of k components for each of the B
sets.  A set's log-likelihood is always log p(X) / n, the mean over its points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SIGMA_FLOOR = 1e-3  # a component on a single point would have σ = 0 and infinite likelihood


@dataclass(frozen=True)
class Mixture:
    """p(x) = Σⱼ πⱼ N(x; μⱼ, diag σⱼ²), one mixture for each set of a batch."""

    log_pi: np.ndarray  # (B, k)
    mu: np.ndarray  # (B, k, D)
    sigma: np.ndarray  # (B, k, D)

    def __post_init__(self) -> None:
        for name in ("log_pi", "mu", "sigma"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))


def sample(
    rng: np.random.Generator, sizes: np.ndarray, *, k: int, spread: float = 4.0, sigma: float = 0.3, D: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Mixture]:
    """The paper's process, for B sets of the given sizes: points, mask, labels, and the mixtures they are sampled from.

    μ ~ Unif(−4, 4)ᴰ,     π ~ Dir(1, …, 1),     z ~ Categorical(π),     x ~ N(μ_z, 0.3² I)
    """
    B, n = len(sizes), int(max(sizes))
    mu = rng.uniform(-spread, spread, size=(B, k, D))
    pi = rng.dirichlet(np.ones(k), size=B)
    u = rng.uniform(size=(B, n, 1))
    labels = (u > np.cumsum(pi, axis=1)[:, None, :-1]).sum(axis=-1)  # (B, n): inverse transform sampling
    mask = np.arange(n) < np.asarray(sizes)[:, None]
    X = np.take_along_axis(mu, labels[..., None], axis=1) + sigma * rng.standard_normal((B, n, D))
    X[~mask] = 0
    with np.errstate(divide="ignore"):
        log_pi = np.log(pi)
    return X, mask, labels, Mixture(log_pi, mu, np.full_like(mu, sigma))


def joint(X: np.ndarray, mixture: Mixture) -> np.ndarray:
    """log πⱼ N(xᵢ; μⱼ, σⱼ) for every point and component: (B, n, k)

    The square is expanded, −½ ((x − μ) / σ)² = x μ/σ² − ½ x²/σ² − ½ μ²/σ², so that it takes two matrix products.
    """
    X, precision = np.asarray(X, dtype=np.float64), mixture.sigma**-2.0  # (B, n, D), (B, k, D)
    quadratic = X @ (mixture.mu * precision).swapaxes(1, 2) - 0.5 * np.square(X) @ precision.swapaxes(1, 2)
    constant = 0.5 * np.square(mixture.mu) * precision + np.log(mixture.sigma) + 0.5 * math.log(2 * math.pi)
    return quadratic + (mixture.log_pi - constant.sum(axis=-1))[:, None]


def log_likelihood(X: np.ndarray, mask: np.ndarray, mixture: Mixture) -> np.ndarray:
    """log p(X) / n of each set: (B,)"""
    return _expect(X, mask, mixture)[1]


def _expect(X: np.ndarray, mask: np.ndarray, mixture: Mixture) -> tuple[np.ndarray, np.ndarray]:
    """The responsibilities rᵢⱼ = πⱼ N(xᵢ; μⱼ, σⱼ) / p(xᵢ) of unmasked points, and log p(X) / n."""
    r = joint(X, mixture)
    top = r.max(axis=-1, keepdims=True)
    r = np.exp(r - top)
    total = r.sum(axis=-1, keepdims=True)
    log_p = ((top + np.log(total))[..., 0] * mask).sum(axis=1) / mask.sum(axis=1)
    return r / total * mask[..., None], log_p


def assign(X: np.ndarray, mixture: Mixture) -> np.ndarray:
    """The most likely component of each point: (B, n)"""
    return joint(X, mixture).argmax(axis=-1)


# ---- expectation maximization ---------------------------------------------------------------------------------------


def em_step(X: np.ndarray, mask: np.ndarray, mixture: Mixture, floor: float = SIGMA_FLOOR) -> Mixture:
    """One step of EM, which never decreases the likelihood.

    E:  rᵢⱼ = πⱼ N(xᵢ; μⱼ, σⱼ) / Σⱼ …          the share of point i that belongs to component j
    M:  nⱼ = Σᵢ rᵢⱼ,   πⱼ = nⱼ / n,   μⱼ = Σᵢ rᵢⱼ xᵢ / nⱼ,   σⱼ² = Σᵢ rᵢⱼ (xᵢ − μⱼ)² / nⱼ

    A component without points keeps its μ and σ and gets π = 0; no σ falls below the floor.
    """
    return _maximize(X, mask, mixture, _expect(X, mask, mixture)[0], floor)


def _maximize(X: np.ndarray, mask: np.ndarray, mixture: Mixture, r: np.ndarray, floor: float) -> Mixture:
    """The M step, from responsibilities r (B, n, k)."""
    X, owned = np.asarray(X, dtype=np.float64), r.sum(axis=1)  # owned is nⱼ: (B, k)
    share = (r / np.maximum(owned, np.finfo(float).tiny)[:, None]).swapaxes(1, 2)  # (B, k, n)
    alive = (owned > 1e-12)[..., None]
    mu = np.where(alive, share @ X, mixture.mu)
    variance = np.maximum(share @ np.square(X) - np.square(mu), 0)
    sigma = np.where(alive, np.maximum(np.sqrt(variance), floor), mixture.sigma)
    with np.errstate(divide="ignore"):
        return Mixture(np.log(owned / mask.sum(axis=1)[:, None]), mu, sigma)


def em(
    X: np.ndarray,
    mask: np.ndarray,
    mixture: Mixture,
    *,
    tolerance: float = 1e-5,
    limit: int = 300,
    floor: float = SIGMA_FLOOR,
) -> Mixture:
    """EM on each set until a step gains less than the tolerance, for at most `limit` steps."""
    final = Mixture(mixture.log_pi.copy(), mixture.mu.copy(), mixture.sigma.copy())
    going, before = np.arange(len(X)), np.full(len(X), -np.inf)  # the sets that still improve
    for _ in range(limit):
        r, log_p = _expect(X[going], mask[going], mixture)
        gains = log_p - before >= tolerance
        going, before, r, mixture = going[gains], log_p[gains], r[gains], _take(mixture, gains)
        if not len(going):
            break
        mixture = _maximize(X[going], mask[going], mixture, r, floor)
        final.log_pi[going], final.mu[going], final.sigma[going] = mixture.log_pi, mixture.mu, mixture.sigma
    return final


def _take(mixture: Mixture, which: np.ndarray) -> Mixture:
    return Mixture(mixture.log_pi[which], mixture.mu[which], mixture.sigma[which])


def em_from_points(
    rng: np.random.Generator, X: np.ndarray, mask: np.ndarray, k: int, *, restarts: int = 5, floor: float = SIGMA_FLOOR
) -> tuple[np.ndarray, Mixture]:
    """EM to convergence from k-means++ centers, the best of several starts for each set: likelihoods and mixtures."""
    best, values = None, np.full(len(X), -np.inf)
    for _ in range(restarts):
        mu = _plus_plus(rng, X, mask, k)
        start = Mixture(np.full(mu.shape[:2], -math.log(k)), mu, np.ones_like(mu))
        found = em(X, mask, start, floor=floor)
        likelihood = log_likelihood(X, mask, found)
        better = likelihood > values
        best = found if best is None else _choose(better, found, best)
        values = np.maximum(values, likelihood)
    return values, best


def _plus_plus(rng: np.random.Generator, X: np.ndarray, mask: np.ndarray, k: int) -> np.ndarray:
    """k points of each set as centers, each sampled in proportion to its squared distance from those before it."""
    X, weight = np.asarray(X, dtype=np.float64), mask.astype(float)  # the first: any point
    centers = []
    for _ in range(k):
        weight = np.where(weight.sum(axis=1, keepdims=True) > 0, weight, mask)  # any point, if all are centers
        total = np.cumsum(weight, axis=1)
        chosen = (total <= rng.uniform(size=(len(X), 1)) * total[:, -1:]).sum(axis=1).clip(max=X.shape[1] - 1)
        centers.append(X[np.arange(len(X)), chosen])
        distance = np.square(X - centers[-1][:, None]).sum(axis=-1) * mask
        weight = distance if len(centers) == 1 else np.minimum(weight, distance)
    return np.stack(centers, axis=1)


def _choose(which: np.ndarray, a: Mixture, b: Mixture) -> Mixture:
    return Mixture(
        np.where(which[:, None], a.log_pi, b.log_pi),
        np.where(which[:, None, None], a.mu, b.mu),
        np.where(which[:, None, None], a.sigma, b.sigma),
    )


# ---- agreement of two labelings -------------------------------------------------------------------------------------


def adjusted_rand_index(a: np.ndarray, b: np.ndarray) -> float:
    """The agreement of two labelings of the same points: 1 up to renaming the labels, about 0 by chance.

    With C₂(x) = x (x − 1) / 2, counts nᵢⱼ of points labeled i and j, and their row and column sums aᵢ and bⱼ:

    ARI = (Σ C₂(nᵢⱼ) − E) / (½ (Σ C₂(aᵢ) + Σ C₂(bⱼ)) − E),     E = Σ C₂(aᵢ) Σ C₂(bⱼ) / C₂(n)
    """
    a, b = np.asarray(a).ravel(), np.asarray(b).ravel()
    if a.shape != b.shape:
        raise ValueError(f"two labelings must be of the same points, given {a.size} and {b.size} labels")
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)
    counts = np.zeros((a.max(initial=-1) + 1, b.max(initial=-1) + 1))
    np.add.at(counts, (a, b), 1)
    both, first, second = (_pairs(c).sum() for c in (counts, counts.sum(axis=1), counts.sum(axis=0)))
    expected = first * second / max(_pairs(np.array(a.size)), 1)
    most = (first + second) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def _pairs(x: np.ndarray) -> np.ndarray:
    return x * (x - 1) / 2
