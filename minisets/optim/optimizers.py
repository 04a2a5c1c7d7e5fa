"""Optimizers, each written as its recurrence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from autograd import Tensor, backend
from autograd.backend import Array
from minisets.checks import check_fraction, check_nonnegative, check_positive
from minisets.state_dict import match_state, overwrite


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
        if len({(p.dtype, p.device) for p in self.parameters}) > 1:
            raise ValueError("parameters must have one dtype and be on one device; use an optimizer for each")
        check_positive(lr=lr)
        check_nonnegative(weight_decay=weight_decay)
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
        self.check()
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                self.steps[i] += 1
                memory = [self.memory[name][i] for name in self.memories]
                p.data -= self.change(int(self.steps[i]), p.data, p.grad, memory)

    def change(self, t: int, p: Array, g: Array, memory: Sequence[Array]) -> Array:
        """What the t-th step subtracts from p, weight decay λ included."""
        if self.weight_decay and not self.decoupled:
            g = g + self.weight_decay * p  # the gradient of ½ λ ‖p‖² joins the loss's
        change = self.recurrence(t, g, *memory)
        return change + self.lr * self.weight_decay * p if self.weight_decay and self.decoupled else change

    def recurrence(self, t: int, g: Array, *memory: Array) -> Array:
        """What the t-th step of the recurrence subtracts from a parameter; updates its memory in place."""
        raise NotImplementedError(f"{type(self).__name__} has no recurrence")

    def check(self) -> None:
        """Refuse parameters that have been moved or converted since."""
        self.lr = float(self.lr)  # a NumPy scalar would turn float32 into float64
        p, made = self.parameters[0], next((arrays[0] for arrays in self.memory.values()), None)
        if made is not None and (p.dtype != made.dtype or not backend.same_device(p.data, made)):
            then, now = (f"{a.dtype} on {backend.device_of(a)}" for a in (made, p.data))
            raise ValueError(
                f"this optimizer was made for parameters in {then}, which are {now} now; make it afterwards"
            )

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all memories, the numbers of steps taken, and the learning rate, by name."""
        return {name: np.array(backend.to_host(a)) for name, a in self._arrays().items()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Take over a state of the same names and shapes; anything else is refused before a number is changed."""
        overwrite(self.match_state_dict(state))
        self.lr = float(state["lr"])

    def match_state_dict(self, state: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """Each array of mine with the one of the same name, or a ValueError that says what does not fit."""
        return match_state(type(self).__name__, self._arrays(), state)

    def _arrays(self) -> dict[str, Array]:
        arrays = {f"{name}.{i}": a for name in self.memories for i, a in enumerate(self.memory[name])}
        return arrays | {"steps": self.steps, "lr": np.array(self.lr)}

    def __repr__(self) -> str:
        numbers = sum(p.size for p in self.parameters)
        settings = {k: v for k, v in vars(self).items() if isinstance(v, int | float | tuple)}
        said = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        taken = int(self.steps.max())
        return (
            f"{type(self).__name__}({said}): {len(self.parameters)} parameters of {numbers:,} numbers, step {taken:,}"
        )


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
        check_fraction(momentum=momentum)
        self.momentum = momentum

    def recurrence(self, t: int, g: Array, *memory: Array) -> Array:
        (u,) = memory
        u *= self.momentum
        u += g
        return self.lr * u


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
        check_fraction(beta1=betas[0], beta2=betas[1])
        check_positive(eps=eps)
        self.betas, self.eps = betas, eps

    def recurrence(self, t: int, g: Array, *memory: Array) -> Array:
        (m, v), (b1, b2) = memory, self.betas
        m *= b1
        m += (1 - b1) * g
        v *= b2
        v += (1 - b2) * g * g
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        return self.lr * m_hat / (backend.array_module(g).sqrt(v_hat) + self.eps)
