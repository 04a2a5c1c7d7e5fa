"""Chapter 12, training: write your answers here, then run python -m pytest docs/exercises/test_ch12.py"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from autograd import Tensor
from minisets.nn import Module
from minisets.optim import Optimizer


def adam_uncorrected_step(t: int, b1: float = 0.9, b2: float = 0.999) -> float:
    """The size of the t-th step (t = 1, 2, …) of Adam without correction, in units of η: a formula.

    All gradients are 1, and ε = 0.
    """
    raise NotImplementedError


class Nesterov(Optimizer):
    """u ← μ u + g,     p ← p − lr (g + μ u)"""

    buffer_names = ("u",)

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float) -> None:
        super().__init__(parameters, lr, weight_decay=0.0, decoupled=False)
        self.momentum = momentum

    def recurrence(self, t: int, g: np.ndarray, *buffers: np.ndarray) -> np.ndarray:
        """What the t-th step subtracts from a parameter with gradient g; updates the buffer u in place."""
        raise NotImplementedError


def largest_stable_rate(curvatures: np.ndarray, momentum: float) -> float:
    """The learning rate beyond which SGD with momentum diverges on ½ Σ aᵢ xᵢ², for curvatures aᵢ > 0."""
    raise NotImplementedError


def train(net: Module, batches: Iterable[tuple[np.ndarray, np.ndarray]], lr: float) -> None:
    """Train a network with Adam and the squared error, a step for each batch.  Two mistakes are in this loop:

        for X, y in batches:
            optimizer = Adam(net.parameters(), lr=lr)
            loss = squared_error(net(X), y)
            loss.backward()
            optimizer.step()

    Write it without them.
    """
    raise NotImplementedError


def gain_of(function: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator) -> float:
    """The gain that preserves the mean square through an activation function, measured on normal inputs.

    It is 1 / E[function(x)²] for normal x with variance 1: the next layer's weights need this much more variance.
    """
    raise NotImplementedError


def inverse_square_root(lr: float, warmup: int) -> Callable[[int], float]:
    """The schedule of "Attention Is All You Need": steps are counted from 0.

    In the first `warmup` steps it rises along a line, lr/warmup, 2 lr/warmup, …, lr; then it falls as 1/√(step +
    1), without a jump.
    """
    raise NotImplementedError
