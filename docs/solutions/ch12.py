"""Solutions of chapter 12, training.

1. (1 − β₁ᵗ)/√(1 − β₂ᵗ) is largest at t = 12 for β = (0.9, 0.999), where it is 6.57.
5. tanh: about 2.5.  But what enters the second layer is no longer normal with variance 1 in every direction, and tanh,
   unlike relu, is not homogeneous: its gain depends on the size of its input, so no constant keeps it for ever.
7. By hand.  SGD: every step is half as long, as with half the learning rate.  Adam: nothing (but for ε).  Adam with
   coupled decay: the gradient of the loss is halved and that of ½λ‖p‖² is not, so the decay counts twice as much.  With
   decoupled decay: nothing, since the gradient's scale cancels and the decay never enters it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from autograd import Tensor, squared_error
from minisets.nn import Module
from minisets.optim import Adam, Optimizer


def adam_uncorrected_step(t: int, b1: float = 0.9, b2: float = 0.999) -> float:
    """The weights of m add up to 1 − β₁ᵗ and those of v to 1 − β₂ᵗ, so that these are m and v themselves."""
    return (1 - b1**t) / math.sqrt(1 - b2**t)


class Nesterov(Optimizer):
    """u ← μ u + g,     p ← p − lr (g + μ u)"""

    buffer_names = ("u",)

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float) -> None:
        super().__init__(parameters, lr, weight_decay=0.0, decoupled=False)
        self.momentum = momentum

    def recurrence(self, t: int, g: np.ndarray, *buffers: np.ndarray) -> np.ndarray:
        """u must change in place: the optimizer keeps this very array.  With u = … a new array would be thrown
        away.
        """
        (u,) = buffers
        u *= self.momentum
        u += g
        return self.lr * (g + self.momentum * u)


def largest_stable_rate(curvatures: np.ndarray, momentum: float) -> float:
    """With (x, u) as the state, u' = μ u + a x and x' = x − η u': the matrix [[1 − ηa, −ημ], [a, μ]].

    Its determinant is μ and its trace 1 + μ − ηa.  Both eigenvalues are inside the unit circle if |trace| < 1 +
    det, so the bound is ηa < 2 (1 + μ), and the largest curvature is the strictest.
    """
    return 2 * (1 + momentum) / float(np.max(curvatures))


def train(net: Module, batches: Iterable[tuple[np.ndarray, np.ndarray]], lr: float) -> None:
    """A new Adam in each step forgets m and v: every step is the first, ±η in each component.  And without
    zero_grad the gradients of all batches add up.
    """
    optimizer = Adam(net.parameters(), lr=lr)
    for X, y in batches:
        loss = squared_error(net(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def gain_of(function: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator) -> float:
    """E[function(x)²] is what is left of a mean square of 1; weights of variance gain/fan_in make it 1 again."""
    return float(1 / np.mean(function(rng.normal(size=1_000_000)) ** 2))


def inverse_square_root(lr: float, warmup: int) -> Callable[[int], float]:
    """With s = step + 1: the line is lr s / warmup, the fall lr √(warmup / s); they meet at s = warmup, and the
    smaller counts.
    """
    return lambda step: lr * min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))
