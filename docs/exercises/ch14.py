"""Chapter 14, a network that learns nothing: write your answers here, then run

python -m pytest docs/exercises/test_ch14.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autograd import Tensor, relu, squared_error
from minisets.blocks import rFF
from minisets.nn import Linear


def best_constant(loss: Callable[[float, np.ndarray], float], targets: np.ndarray) -> tuple[float, float]:
    """The constant prediction with the smallest loss, and that loss.

    loss(prediction, targets) is the mean over the targets, and a convex function of the prediction.
    """
    raise NotImplementedError


def dead_units(net: rFF, X: np.ndarray) -> list[float]:
    """For each layer of the rFF with a ReLU, the fraction of units that are 0 for every row of X (N, d).

    net.layers are its linear layers; the last one has a ReLU unless net.last is None.
    """
    raise NotImplementedError


def spread_per_layer(layers: Sequence[Callable], X: np.ndarray) -> list[float]:
    """The standard deviation over the rows of X (N, d), averaged over the features: of X, and after each layer.

    Layers are functions of Tensors or arrays; they return Tensors.
    """
    raise NotImplementedError


def agreement(gradients: np.ndarray) -> float:
    """How far the gradients (N, p) of N examples agree: ‖Σ gᵢ‖ / Σ ‖gᵢ‖; 1 for one direction, 0 if they cancel.

    If all gradients are 0, it is 0.
    """
    raise NotImplementedError


def output_bias(mean: float, activation: str) -> float:
    """The bias of the last layer with which a network starts at the mean target; its weights are near 0.

    activation is what follows the last layer: "identity", "exp" or "softplus", log(1 + eᵇ).
    """
    raise NotImplementedError


class Patient:
    """A network with one hidden layer, and a training step that may be faulty: "", or one of FAULTS."""

    def __init__(self, fault: str, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.hidden, self.head = Linear(3, 16, rng=rng), Linear(16, 1, rng=rng)
        self.parameters = [self.hidden.weight, self.hidden.bias, self.head.weight, self.head.bias]
        self._fault = fault
        if fault == "dead":
            self.hidden.bias.data[:] = -50

    def step(self, X: np.ndarray, y: np.ndarray) -> float:
        """A step of gradient descent on a batch X (N, 3), y (N, 1): returns the loss before it."""
        if self._fault != "no zero_grad":
            for p in self.parameters:
                p.grad = None
        Z = relu(self.hidden(X))
        if self._fault == "detached":
            Z = Tensor(Z.numpy())
        loss = squared_error(self.head(Z), y)
        loss.backward()
        for p in self.parameters:
            if p.grad is not None:
                p.data += (0.01 if self._fault == "wrong sign" else -0.01) * p.grad
        return loss.item()


FAULTS = ("no zero_grad", "detached", "wrong sign", "dead")


def diagnose(patient: Patient) -> str:
    """Which of FAULTS a Patient has, or "" if it has none: from steps on batches of your choice, and from
    gradients.

    patient.parameters are those of the hidden layer, then of the head; after a step each has its .grad.  Do not
    look at patient._fault.
    """
    raise NotImplementedError
