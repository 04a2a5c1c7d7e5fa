"""Solutions of chapter 14, a network that learns nothing.

1. The squared error: the mean.  The absolute error: the median.  The Poisson loss: the mean.
3. In a SAB the skip connection carries the input past the attention, and the norm after each sum brings every element
   back to variance 1.
7. log 40 = 3.7 is the loss of a classifier that knows nothing.  A loss of 9 comes from large outputs that are sure of
   the wrong class: the weights of the last layer are too large, or the inputs are not scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from autograd import Tensor
from docs.exercises.ch14 import Patient
from minisets.blocks import rFF


def best_constant(loss: Callable[[float, np.ndarray], float], targets: np.ndarray) -> tuple[float, float]:
    """A convex loss that is smallest at each target itself is smallest somewhere between the extreme targets."""
    found = minimize_scalar(
        lambda c: loss(c, targets), bounds=(targets.min(), targets.max()), method="bounded", options={"xatol": 1e-9}
    )
    return float(found.x), float(found.fun)


def dead_units(net: rFF, X: np.ndarray) -> list[float]:
    """A unit that is 0 for all rows has no gradient from any of them."""
    found, Z = [], X
    for i, layer in enumerate(net.layers):
        Z = Z @ layer.weight.numpy() + layer.bias.numpy()
        if net.last or i + 1 < len(net.layers):
            Z = np.maximum(Z, 0)
            found.append(float((Z == 0).all(axis=0).mean()))
    return found


def spread_per_layer(layers: Sequence[Callable], X: np.ndarray) -> list[float]:
    """The spread is over inputs, axis 0, and not over features: a layer may have large features that are all alike."""
    found = [X]
    for layer in layers:
        found.append(layer(Tensor(found[-1])).numpy())
    return [float(Z.std(axis=0).mean()) for Z in found]


def agreement(gradients: np.ndarray) -> float:
    """The triangle inequality: equal if and only if all point in the same direction."""
    total = np.linalg.norm(gradients, axis=1).sum()
    return float(np.linalg.norm(gradients.sum(axis=0)) / total) if total else 0.0


def output_bias(mean: float, activation: str) -> float:
    """The inverse of each function.  log(eᵐ − 1) = m + log(1 − e⁻ᵐ), which does not overflow for large means."""
    inverse = {"identity": lambda m: m, "exp": math.log, "softplus": lambda m: m + math.log(-math.expm1(-m))}
    return float(inverse[activation](mean))


def diagnose(patient: Patient) -> str:
    """Each fault has its own mark.  A parameter without a gradient: something cut the graph.

    Hidden gradients that are all 0: dead units.  A second step with the same batch, after a step of 1 %, should
    have about the same gradient; if nothing was cleared, it is twice as large.  And the loss on one batch should
    fall.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(64, 3)), rng.normal(size=(64, 1))
    losses = [patient.step(X, y)]
    first = [None if p.grad is None else p.grad.copy() for p in patient.parameters]
    if any(g is None for g in first):
        return "detached"
    if not np.any(first[0]):
        return "dead"
    losses.append(patient.step(X, y))
    size = np.linalg.norm(first[0])
    if np.linalg.norm(patient.parameters[0].grad) > 1.5 * size:
        return "no zero_grad"
    losses += [patient.step(X, y) for _ in range(5)]
    return "wrong sign" if losses[-1] > losses[0] else ""
