"""Chapter 4, checking gradients: write your answers here, then run python -m pytest docs/exercises/test_ch04.py"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Pure = Callable[[Array], tuple[Array, Callable[[Array], Array]]]  # x ↦ (y, vjp)


def best_step(eps: float, order: int) -> float:
    """The h > 0 for which the sum of both errors, h^order + eps / h, is smallest."""
    raise NotImplementedError


def richardson(f: Callable[[float], float], x: float, h: float) -> float:
    """The derivative of f at x from central differences with steps h and h/2, with an error of the order of h⁴."""
    raise NotImplementedError


def complex_step(f: Callable[[Any], Any], x: float) -> float:
    """The derivative of f at x from one evaluation at a complex number, to the last digits of a float."""
    raise NotImplementedError


def wrong_ones(ops: dict[str, tuple[Pure, Array]]) -> set[str]:
    """The names of those ops whose vjp is not right at the given input, a vector of up to 50 numbers.

    Inputs may be large or small, derivatives may vanish.  Where an op has a kink, a slope between those of its two
    sides is right.  Mistakes are larger than 1e-4 of the derivative, or 1e-4 where it vanishes.
    """
    raise NotImplementedError


def confirmed(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Meant to be y = mean (x − mean x)² of a vector, with its vjp: passes gradient checks, and is not the variance."""
    raise NotImplementedError


def variance_oracle(x: list[float]) -> float:
    """mean (x − mean x)², in plain Python; it has to be exact to 1e-9 for numbers like 100,000,001 and 100,000,003."""
    raise NotImplementedError


def survivor(g: Array, p: Array) -> Array:
    """p ⊙ (g − ⟨g, p⟩) for all p that add up to 1, and something else for those that do not."""
    raise NotImplementedError
