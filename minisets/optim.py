"""Optimizers, each written as its recurrence, and learning rates as functions of the step.

optimizer = Adam(net.parameters(), lr=1e-3)
schedule = drop_at(1e-3, fractions=[0.7], total=50_000)
for step in range(50_000):
    optimizer.lr = schedule(step)
    optimizer.zero_grad()
    loss(net(X), y).backward()
    optimizer.step()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from autograd import Tensor, backend
from autograd.backend import Array
from minisets.state import fit, overwrite


class Optimizer:
    """What the optimizers share: the parameters p with gradients g, the learning rate, and a memory for each p."""

    memories: tuple[str, ...] = ()  # the names of the arrays kept for each parameter

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float, decoupled: bool) -> None:
        if hasattr(parameters, "parameters"):
            raise TypeError("an optimizer takes net.parameters(), given the net")
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("an optimizer needs at least one parameter, given none")
        if not all(isinstance(p, Tensor) and p.requires_grad and p.node is None for p in self.parameters):
            raise ValueError("parameters must be Tensors made with requires_grad=True, as net.parameters() gives them")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("a parameter was given twice: it would be moved twice in each step")
        _positive(lr=lr)
        _not_negative(weight_decay=weight_decay)
        self.lr, self.weight_decay, self.decoupled = lr, weight_decay, decoupled
        self.steps = np.zeros(len(self.parameters), dtype="int64")  # taken by each parameter
        self.memory = {
            name: [backend.array_module(p.data).zeros_like(p.data) for p in self.parameters] for name in self.memories
        }

    def zero_grad(self) -> None:
        """Forget the gradients, before the next backward adds its own."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient, in place."""
        self.lr = float(self.lr)  # a NumPy scalar would turn float32 into float64
        for i, p in enumerate(self.parameters):
            if p.grad is None:
                continue
            self.steps[i] += 1
            g = p.grad
            if self.weight_decay and self.decoupled:
                p.data -= self.lr * self.weight_decay * p.data  # p shrinks by itself
            elif self.weight_decay:
                g = g + self.weight_decay * p.data  # the gradient of ½ λ ‖p‖² joins the loss's
            self.move(int(self.steps[i]), p.data, g, *(self.memory[name][i] for name in self.memories))

    def move(self, t: int, p: Array, g: Array, *memory: Array) -> None:
        """The t-th step of one parameter, in place."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all memories, the numbers of steps taken, and the learning rate, by name."""
        return {name: np.array(backend.to_host(a)) for name, a in self._arrays().items()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Take over a state of the same names and shapes; anything else is refused before a number is changed."""
        overwrite(self.matching(state))
        self.lr = float(state["lr"])

    def matching(self, state: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """Each array of mine with the one of the same name, or a ValueError that says what does not fit."""
        return fit(type(self).__name__, self._arrays(), state)

    def _arrays(self) -> dict[str, Array]:
        arrays = {f"{name}.{i}": a for name in self.memories for i, a in enumerate(self.memory[name])}
        return arrays | {"steps": self.steps, "lr": np.array(self.lr)}


class SGD(Optimizer):
    """u ← momentum · u + g,     p ← p − lr · u     (u = g without momentum)"""

    memories = ("u",)

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        *,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        decoupled: bool = False,
    ) -> None:
        super().__init__(parameters, lr, weight_decay, decoupled)
        _fraction(momentum=momentum)
        self.momentum = momentum

    def move(self, t: int, p: Array, g: Array, u: Array) -> None:
        u *= self.momentum
        u += g
        p -= self.lr * u


class Adam(Optimizer):
    """m ← β₁ m + (1 − β₁) g,     v ← β₂ v + (1 − β₂) g²,     p ← p − lr · m̂ / (√v̂ + ε)

    m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ) make up for m and v having begun at 0.  Weight decay λ adds λ p to g;
    decoupled, it takes lr · λ p off p instead, past the division by √v̂ (AdamW).
    """

    memories = ("m", "v")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled: bool = False,
    ) -> None:
        super().__init__(parameters, lr, weight_decay, decoupled)
        _fraction(beta1=betas[0], beta2=betas[1])
        _positive(eps=eps)
        self.betas, self.eps = betas, eps

    def move(self, t: int, p: Array, g: Array, m: Array, v: Array) -> None:
        b1, b2 = self.betas
        m *= b1
        m += (1 - b1) * g
        v *= b2
        v += (1 - b2) * g * g
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        p -= self.lr * m_hat / (backend.array_module(p).sqrt(v_hat) + self.eps)


def clip_grad_norm(parameters: Iterable[Tensor], limit: float) -> Array:
    """Shrink all gradients together, in place, so that their joint norm is at most the limit; returns the norm before.

    The norm stays on its device as a 0-d array, since to look at it would make a GPU wait.
    """
    _positive(limit=limit)
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        return np.zeros(())
    xp = backend.array_module(*gradients)
    norm = xp.sqrt(sum(xp.square(g, dtype="float64").sum() for g in gradients))  # 1e20² overflows float32
    scale = xp.minimum(limit / xp.maximum(norm, 1e-30), 1)  # no division by 0 where all gradients are 0
    for g in gradients:
        g *= scale
    return norm


# ---- learning rates: each returns a function of the step, counted from 0, so that a resumed run needs no state ------

Schedule = Callable[[int], float]


def constant(lr: float) -> Schedule:
    """lr throughout."""
    _positive(lr=lr)
    return lambda step: lr


def drop_at(lr: float, fractions: Sequence[float], total: int, factor: float = 0.1) -> Schedule:
    """lr, times the factor from each of the given fractions of the total steps on."""
    _positive(lr=lr, total=total, factor=factor)
    _fraction(**{f"fraction {f}": f for f in fractions})
    places = [round(f * total) for f in fractions]
    return lambda step: lr * factor ** sum(step >= place for place in places)


def drop_every(lr: float, steps: int, factor: float = 0.3) -> Schedule:
    """lr · factor^⌊step / steps⌋"""
    _positive(lr=lr, steps=steps, factor=factor)
    return lambda step: lr * factor ** (step // steps)


def exponential(lr: float, decay: float) -> Schedule:
    """lr · decay^step"""
    _positive(lr=lr, decay=decay)
    return lambda step: lr * decay**step


def cosine(lr: float, total: int, lowest: float = 0.0) -> Schedule:
    """From lr down to the lowest along half a cosine; the lowest from there on."""
    _positive(lr=lr, total=total)
    _not_negative(lowest=lowest)
    return lambda step: lowest + (lr - lowest) * (1 + math.cos(math.pi * min(step / total, 1))) / 2


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (isinstance(value, int | float) and value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be a positive number, given {value}")


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be a number of at least 0, given {value}")


def _fraction(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} must lie in [0, 1), given {value}")
