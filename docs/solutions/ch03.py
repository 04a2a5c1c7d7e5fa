"""Solutions of chapter 3, derivatives.

8. By hand.  diag(p) − p pᵀ is symmetric, as both terms are.  For any v, vᵀ(diag(p) − p pᵀ)v = Σ pᵢ vᵢ² − (Σ pᵢ vᵢ)²:
   the variance of v under the weights p, which is not negative.  (diag(p) − p pᵀ) 1 = p − p Σ pᵢ = 0: adding a constant
   to all scores changes no weight.  As this matrix is also the matrix of second derivatives of log-sum-exp, log-sum-exp
   is convex, and linear along 1: L(x + c) = L(x) + c.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Vjp = Callable[[Array], Array]


def log_sigmoid(x: Array) -> tuple[Array, Vjp]:
    """log σ(x) = −log(1 + e⁻ˣ) = min(x, 0) − log(1 + e^−|x|);  gx = g (1 − σ(x)) = g σ(−x), which does not cancel."""
    e = np.exp(-np.abs(x))
    return np.minimum(x, 0) - np.log1p(e), lambda g: g * np.where(x >= 0, e, 1) / (1 + e)


def rms_norm(x: Array, eps: float = 1e-5) -> tuple[Array, Vjp]:
    """With s = √(mean x² + ε): ds = mean(x ⊙ dx) / s = mean(y ⊙ dx), dy = (dx − y ds) / s, and therefore

    gx = (g − y mean(g ⊙ y)) / s.  It is orthogonal to x (if ε = 0), the direction of scale, but not to 1.
    """
    s = np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    y = x / s
    return y, lambda g: (g - y * (g * y).mean(axis=-1, keepdims=True)) / s


def sort(x: Array) -> tuple[Array, Vjp]:
    """A permutation, which stays the same for small changes of x: each gradient goes back to where its number was."""
    order = np.argsort(x, kind="stable")

    def vjp(g: Array) -> Array:
        gx = np.empty_like(g)
        gx[order] = g
        return gx

    return x[order], vjp


def cumsum(x: Array) -> tuple[Array, Vjp]:
    """For three numbers J = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]; Jᵀ g = (g₁ + g₂ + g₃, g₂ + g₃, g₃) sums from the end"""
    return np.cumsum(x), lambda g: np.cumsum(g[::-1])[::-1]


def squared_distances(x: Array, y: Array) -> tuple[Array, tuple[Vjp, Vjp]]:
    """dD = 2 (xᵢ − yⱼ) · (dxᵢ − dyⱼ), so gxᵢ = 2 Σⱼ gᵢⱼ (xᵢ − yⱼ) = 2 (xᵢ Σⱼ gᵢⱼ − Σⱼ gᵢⱼ yⱼ): a matrix product.

    D is summed feature by feature.  |x|² + |y|² − 2 x · y would be faster, and lose digits where x is near y.
    """
    D = np.zeros((len(x), len(y)))
    for j in range(x.shape[1]):
        D += (x[:, j, None] - y[None, :, j]) ** 2
    return D, (
        lambda g: 2 * (x * g.sum(axis=1)[:, None] - g @ y),
        lambda g: 2 * (y * g.sum(axis=0)[:, None] - g.T @ x),
    )


def masked_logsumexp(x: Array, mask: Array) -> tuple[Array, Vjp]:
    """Masked elements become −∞ before anything is computed, and the maximum of an empty row becomes 0."""
    x = np.where(mask, x, -np.inf)
    top = x.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(x - top)
    total = e.sum(axis=-1, keepdims=True)
    empty, total = total == 0, np.where(total == 0, 1, total)
    y = np.where(empty, -np.inf, top + np.log(total))[..., 0]
    return y, lambda g: g[..., None] * e / total


def cross_entropy(z: Array, label: int) -> tuple[float, Vjp]:
    """ℓ = L(z) − z[label] with L the log-sum-exp, whose gradient is p: gz = g (p − onehot).

    Composed of softmax and log, a weight that underflows to 0 gives log 0 = −∞, and the gradient 1/0.
    """
    e = np.exp(z - z.max())
    p = e / e.sum()
    one_hot = np.arange(len(z)) == label
    return z.max() + np.log(e.sum()) - z[label], lambda g: g * (p - one_hot)
