"""The log-likelihood of points under mixtures of Gaussians with diagonal covariance, and its gradients.

    ℓᵢ = log Σₖ πₖ N(xᵢ; μₖ, diag σₖ²),     rᵢₖ = πₖ N(xᵢ; μₖ, σₖ) / e^ℓᵢ,     zᵢₖ = (xᵢ − μₖ) / σₖ

    g log πₖ = Σᵢ wᵢₖ,     gμₖ = Σᵢ wᵢₖ zᵢₖ / σₖ,     gσₖ = Σᵢ wᵢₖ (zᵢₖ² − 1) / σₖ,     gxᵢ = −Σₖ wᵢₖ zᵢₖ / σₖ
    with wᵢₖ = gᵢ rᵢₖ

Threads: each of these sums is a ReductionKernel over inputs that broadcast to (…, n, k, D), without allocating an array
of that shape.  log Σ is an ElementwiseKernel with one thread per point, which loops over the k components and writes r.

Bytes: x, μ, σ and r pass through memory, and nothing of size n k D.  Two launches forward and at most four backward,
instead of several per component.
"""

from __future__ import annotations

import math

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import Elementwise, Reduction, kernel

DISTANCE = Reduction(
    "mixture_distance", "T x, T mu, T sigma", "(x - mu) / sigma * ((x - mu) / sigma) / 2 + log(sigma)", "result = -a"
)
POSTERIOR = Elementwise(
    "mixture_posterior",
    "raw T log_pi, T constant, int64 n, int64 k",
    "raw T r, T likelihood",
    """
    // on entry r holds log N(x; mu, sigma) of point i for each component, on exit the responsibilities
    const long long set = i / n;
    T top = r[i * k] + log_pi[set * k];
    for (long long j = 0; j < k; j++) {
      r[i * k + j] += log_pi[set * k + j];
      if (r[i * k + j] > top) top = r[i * k + j];
    }
    T total = 0;
    for (long long j = 0; j < k; j++) total += r[i * k + j] = exp(r[i * k + j] - top);
    for (long long j = 0; j < k; j++) r[i * k + j] /= total;
    likelihood = top + log(total) + constant;
    """,
    scalars=("constant", "n", "k"),
)
G_LOG_PI = Reduction("mixture_log_pi", "T g, T r", "g * r")
G_MU = Reduction("mixture_mu", "T g, T r, T x, T mu, T sigma", "g * r * ((x - mu) / sigma) / sigma")
G_SIGMA = Reduction(
    "mixture_sigma", "T g, T r, T x, T mu, T sigma", "g * r * ((x - mu) / sigma * ((x - mu) / sigma) - 1) / sigma"
)
G_X = Reduction("mixture_x", "T g, T r, T x, T mu, T sigma", "g * r * ((x - mu) / sigma) / sigma", "result = -a")


def forward_reference(x: Array, log_pi: Array, mu: Array, sigma: Array) -> tuple[Array, Array]:
    x, mu, sigma = _broadcasting(x, mu, sigma)
    joint = log_pi[..., None, :] - (np.square((x - mu) / sigma) / 2 + np.log(sigma)).sum(axis=-1)
    top = joint.max(axis=-1, keepdims=True)
    r = np.exp(joint - top)
    total = r.sum(axis=-1, keepdims=True)
    constant = x.dtype.type(0.5 * x.shape[-1] * math.log(2 * math.pi))
    return (top + np.log(total))[..., 0] - constant, r / total


def backward_reference(
    g: Array, r: Array, x: Array, mu: Array, sigma: Array, needs_grad: tuple[bool, ...]
) -> tuple[Array | None, ...]:
    w, (x, mu, sigma) = (g[..., None] * r)[..., None], _broadcasting(x, mu, sigma)
    z = (x - mu) / sigma
    gradients: tuple[Array, ...] = (-(w * z / sigma).sum(axis=-2), w[..., 0].sum(axis=-2), (w * z / sigma).sum(axis=-3))
    gradients += ((w * (z * z - 1) / sigma).sum(axis=-3),)
    return tuple(gradient if needed else None for gradient, needed in zip(gradients, needs_grad, strict=True))


@kernel(forward_reference, DISTANCE, POSTERIOR, sizes="any, with at least one component")
def mixture_forward(x: Array, log_pi: Array, mu: Array, sigma: Array) -> tuple[Array, Array]:
    """ℓ (..., n) and r (..., n, k) of x (..., n, D), log π (..., k), μ and σ (..., k, D)"""
    xp, (n, D), k = array_module(x), x.shape[-2:], mu.shape[-2]
    r = DISTANCE(*_broadcasting(x, mu, sigma), axis=-1)
    likelihood = xp.empty(x.shape[:-1], x.dtype)
    POSTERIOR(xp.ascontiguousarray(log_pi), -0.5 * D * math.log(2 * math.pi), n, k, r, likelihood)
    return likelihood, r


@kernel(backward_reference, G_X, G_LOG_PI, G_MU, G_SIGMA, sizes="any")
def mixture_backward(
    g: Array, r: Array, x: Array, mu: Array, sigma: Array, needs_grad: tuple[bool, ...]
) -> tuple[Array | None, ...]:
    """gx, g log π, gμ and gσ; None for those not needed"""
    arguments = (g[..., None, None], r[..., None], *_broadcasting(x, mu, sigma))
    return (
        G_X(*arguments, axis=-2) if needs_grad[0] else None,
        G_LOG_PI(g[..., None], r, axis=-2) if needs_grad[1] else None,
        G_MU(*arguments, axis=-3) if needs_grad[2] else None,
        G_SIGMA(*arguments, axis=-3) if needs_grad[3] else None,
    )


def _broadcasting(x: Array, mu: Array, sigma: Array) -> tuple[Array, Array, Array]:
    """All three with dimensions that broadcast to (..., n, k, D)."""
    return x[..., :, None, :], mu[..., None, :, :], sigma[..., None, :, :]
