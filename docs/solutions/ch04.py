"""Solutions of chapter 4, checking gradients.

8. By hand.  uᵀ E v = e (uᵢ vⱼ + uₖ vₗ): two products, each 1 or −1 with probability ½, and independent (also if the two
   elements share a row or a column).  They cancel with probability ½.  For normal numbers the sum is 0 with probability
   0, because it has a density.  (A single wrong element shows with either.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Pure = Callable[[Array], tuple[Array, Callable[[Array], Array]]]


def best_step(eps: float, order: int) -> float:
    """order h^(order − 1) = eps / h², so h = (eps / order)^(1 / (order + 1)): ε^½ for order 1, about ε^⅓ for 2."""
    return float((eps / order) ** (1 / (order + 1)))


def richardson(f: Callable[[float], float], x: float, h: float) -> float:
    """D(h) = f′ + c h² + O(h⁴) and D(h/2) = f′ + c h²/4 + O(h⁴), so (4 D(h/2) − D(h)) / 3 has no h²."""

    def central(h: float) -> float:
        return (f(x + h) - f(x - h)) / (2 * h)

    return (4 * central(h / 2) - central(h)) / 3


def complex_step(f: Callable[[Any], Any], x: float) -> float:
    """f(x + ih) = f + ih f′ − h² f″/2 − …: the imaginary part is h f′ (1 + O(h²)), and nothing is subtracted.

    So there is no cancellation, and h may be so small that h² vanishes.  What is left is the rounding of f itself.  f
    has to be analytic: abs, comparisons and maxima of real numbers do not qualify.
    """
    h = 1e-30
    return float(f(x + 1j * h).imag / h)


def wrong_ones(ops: dict[str, tuple[Pure, Array]]) -> set[str]:
    """One element at a time, with a step relative to it; the slopes of both sides, so that kinks are no mistakes.

    The gradient has to lie between the two slopes, with a margin for truncation (the central difference with the whole
    step and with half of it differ by ¾ of the former's error) and for rounding.
    """
    rng, wrong = np.random.default_rng(0), set()
    for name, (pure, x) in ops.items():
        y, vjp = pure(x)
        u = rng.normal(size=np.shape(y))
        g = vjp(u)
        for i in range(len(x)):
            h = 1e-5 * (abs(x[i]) or 1.0)

            def moved(by: float, i: int = i, pure: Pure = pure, x: Array = x, u: Array = u) -> float:
                there = x.copy()
                there[i] += by
                return float((u * pure(there)[0]).sum())

            here, above, below = moved(0.0), moved(h), moved(-h)
            low, high = sorted([(here - below) / h, (above - here) / h])
            central, nearer = (above - below) / (2 * h), (moved(h / 2) - moved(-h / 2)) / h
            margin = 1e-6 * max(abs(low), abs(high)) + 2 * abs(central - nearer) + 1e-15 * abs(u * y).sum() / h
            if not low - margin <= g[i] <= high + margin:
                wrong.add(name)
    return wrong


def confirmed(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Division by n − 1 in both.  Any function with its own derivative passes."""
    centered = x - x.mean()
    share = 1 / (len(x) - 1)
    return (centered**2).sum() * share, lambda g: g * 2 * share * centered


def variance_oracle(x: list[float]) -> float:
    """First the mean, then the squares: mean x² − (mean x)² would subtract two numbers near 10¹⁶."""
    mean = sum(x) / len(x)
    return sum((value - mean) ** 2 for value in x) / len(x)


def survivor(g: Array, p: Array) -> Array:
    """Subtracting c from g changes nothing if Σ p = 1: p ⊙ (g − c − ⟨g − c, p⟩) = p ⊙ (g − ⟨g, p⟩ − c (1 − Σ p))."""
    centered = g - g.mean()
    return p * (centered - (centered * p).sum())
