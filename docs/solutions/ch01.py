"""Solutions of chapter 1, why sets.

1. On the question in parentheses: Σᵢⱼ k(xᵢ, xⱼ) has the form ρ(Σ φ) if k(x, y) = ⟨φ(x), φ(y)⟩ for some φ; then it is
   |Σᵢ φ(xᵢ)|².  A positive semidefinite k always has such a φ, with as many features as the rank of k as an operator:
   d(d + 1)/2 for (x · y)², infinitely many for a Gaussian.  A difference of two such functions works as well.
7. By hand.  With both components at 0 each has half of every point, so each gradient is half of that of a single one,
   and both are 0.  They stay equal forever: nothing tells them apart.  A decoder with equal seeds has the same problem,
   because equal queries get equal answers.  Seeds must differ from the start, and they do: they are sampled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def pairs(X: Array) -> float:
    """(x · y)² = ⟨x xᵀ, y yᵀ⟩: φ(x) = x xᵀ has d² features, the pool is a sum, ρ the squared norm.  Σ x xᵀ = Xᵀ X."""
    return float(((X.T @ X) ** 2).sum())


def collision() -> tuple[Array, Array]:
    """Reflecting a set at its mean keeps the mean of x and of x²: 0, 1, 5 at 2 becomes 4, 3, −1."""
    return np.array([0.0, 1.0, 5.0]), np.array([4.0, 3.0, -1.0])


def counterexample(f: Callable[[Array], Any], X: Array) -> Array | None:
    """All orders are tried: for five elements there are 120."""
    for order in map(list, itertools.permutations(range(len(X)))):
        if not np.allclose(f(X[order]), f(X)):
            return np.array(order)
    return None


def pool_mean(Z: Array, mask: Array) -> Array:
    """where, not a product with the mask: 0 · nan is nan.  The largest of 1 and the count avoids 0 / 0."""
    count = mask.sum(axis=1, keepdims=True)
    return np.where(mask[..., None], Z, 0).sum(axis=1) / np.maximum(count, 1)


def equivariant_part(W: Array) -> Array:
    """Πᵀ W Π moves diagonal elements to any place on the diagonal and others to any place beside it.

    So on average every diagonal element is the mean of the diagonal, and every other the mean of the others: the result
    is (a − b) I + b 1 1ᵀ.  An equivariant W is its own average, so it has this form: λ I + γ 1 1ᵀ, which computes
    λ x + γ Σ x.  With a mean in place of the sum, and a nonlinearity, this is rFFp.
    """
    n = len(W)
    a = np.trace(W) / n
    b = (W.sum() - np.trace(W)) / max(n * (n - 1), 1)
    return (a - b) * np.eye(n) + b


def jump(rule: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Turn p and −p by half a circle: the set is the same again, and p has become −p.

    So whether p comes first is different at the end.  Bisection finds an angle at which it changes; there the two
    points exchange their places in the result, and they are 2 apart.
    """

    def points(angle: float) -> Array:
        p = np.array([np.cos(angle), np.sin(angle)])
        return np.stack([p, -p])

    def first(angle: float) -> bool:
        return bool(np.allclose(rule(points(angle))[0], points(angle)[0]))

    low, high = 0.3, 0.3 + np.pi
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if first(middle) == first(low) else (low, middle)
    return points(low), points(high)
