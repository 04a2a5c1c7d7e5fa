"""Optimizers, each written as its recurrence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from autograd import Tensor, backend
from autograd.backend import Array
from minisets.checks import check_fraction, check_nonnegative, check_positive
from minisets.state_dict import match_state, overwrite

Step = Callable[["Optimizer"], None]


def on_parameters_device(step: Step) -> Step:
    """A step during which the GPU of the parameters is the current one."""

    @functools.wraps(step)
    def guarded(self: Optimizer) -> None:
        with backend.device_guard(self.parameters[0].data):
            step(self)

    return guarded


class Optimizer:
    """What all optimizers share: parameters p with gradients g, a learning rate, and buffers for each p."""

    buffer_names: tuple[str, ...] = ()  # of the arrays kept for each parameter

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float, decoupled: bool) -> None:
        if hasattr(parameters, "parameters"):
            raise TypeError("an optimizer takes net.parameters(), given the net")
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("an optimizer needs at least one parameter, given none")
        if not all(isinstance(p, Tensor) and p.requires_grad and p.node is None for p in self.parameters):
            raise ValueError("parameters must be Tensors created with requires_grad=True, as in net.parameters()")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("a parameter was given twice: each step would update it twice")
        if len({(p.dtype, p.device) for p in self.parameters}) > 1:
            raise ValueError("parameters must have one dtype and be on one device; use one optimizer for each")
        check_positive(lr=lr)
        check_nonnegative(weight_decay=weight_decay)
        self.lr, self.weight_decay, self.decoupled = lr, weight_decay, decoupled
        self.steps = np.zeros(len(self.parameters), dtype="int64")  # taken by each parameter
        with backend.device_guard(self.parameters[0].data):
            self.buffers = {
                name: [backend.array_module(p.data).zeros_like(p.data) for p in self.parameters]
                for name in self.buffer_names
            }

    def zero_grad(self) -> None:
        """Clear the gradients, before the next backward pass adds to them."""
        for p in self.parameters:
            p.grad = None

    @on_parameters_device
    def step(self) -> None:
        """Update every parameter that has a gradient, in place."""
        self.check_parameters()
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                self.steps[i] += 1
                buffers = [self.buffers[name][i] for name in self.buffer_names]
                p.data -= self.update(int(self.steps[i]), p.data, p.grad, buffers)

    def update(self, t: int, p: Array, g: Array, buffers: Sequence[Array]) -> Array:
        """What the t-th step subtracts from p, weight decay λ included."""
        if self.weight_decay and not self.decoupled:
            g = g + self.weight_decay * p  # plus the gradient of ½ λ ‖p‖²
        update = self.recurrence(t, g, *buffers)
        return update + self.lr * self.weight_decay * p if self.weight_decay and self.decoupled else update

    def recurrence(self, t: int, g: Array, *buffers: Array) -> Array:
        """What the t-th step subtracts from a parameter, without weight decay; updates the buffers in place."""
        raise NotImplementedError(f"{type(self).__name__} has no recurrence")

    def check_parameters(self) -> None:
        """Raise ValueError if the parameters have changed dtype or device since this optimizer was created."""
        self.lr = float(self.lr)  # a NumPy scalar would turn float32 into float64
        p, buffer = self.parameters[0], next((arrays[0] for arrays in self.buffers.values()), None)
        if buffer is not None and (p.dtype != buffer.dtype or not backend.same_device(p.data, buffer)):
            then, now = (f"{a.dtype} on {backend.device_of(a)}" for a in (buffer, p.data))
            raise ValueError(
                f"this optimizer was created for parameters in {then}, but they are now in {now}; create it afterwards"
            )

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all buffers, the step counts and the learning rate, by name."""
        return {name: np.array(backend.to_host(a)) for name, a in self._arrays().items()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Load a state with the same names and shapes; any other raises ValueError before a value is changed."""
        overwrite(self.match_state_dict(state))
        self.lr = float(state["lr"])

    def match_state_dict(self, state: Mapping[str, Array]) -> list[tuple[Array, Array]]:
        """Pairs of an array of this optimizer and the saved one of its name; raises ValueError if they do not match."""
        pairs = match_state(type(self).__name__, self._arrays(), state)
        if np.min(state["steps"], initial=0) < 0:
            raise ValueError(f"the state of this {type(self).__name__} has a negative number of steps")
        return pairs

    def _arrays(self) -> dict[str, Array]:
        arrays = {f"{name}.{i}": a for name in self.buffer_names for i, a in enumerate(self.buffers[name])}
        return arrays | {"steps": self.steps, "lr": np.array(self.lr)}

    def __repr__(self) -> str:
        settings = {k: v for k, v in vars(self).items() if isinstance(v, int | float | tuple)}
        arguments = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        size, step = sum(p.size for p in self.parameters), int(self.steps.max())
        tensors = f"{len(self.parameters)} Tensors with {size:,} parameters"
        return f"{type(self).__name__}({arguments}): {tensors}, step {step:,}"


class SGD(Optimizer):
    """u ← momentum · u + g,     p ← p − lr · u     (u = g without momentum)"""

    buffer_names = ("u",)

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

    def recurrence(self, t: int, g: Array, *buffers: Array) -> Array:
        (u,) = buffers
        u *= self.momentum
        u += g
        return self.lr * u


class Adam(Optimizer):
    """m ← β₁ m + (1 − β₁) g,     v ← β₂ v + (1 − β₂) g²,     p ← p − lr · m̂ / (√v̂ + ε)

    m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ) correct the bias of m and v, which start at 0.  Weight decay λ adds λ p to
    g; if decoupled, it subtracts lr · λ p from p instead, without the division by √v̂ (AdamW).
    """

    buffer_names = ("m", "v")

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

    def recurrence(self, t: int, g: Array, *buffers: Array) -> Array:
        (m, v), (b1, b2) = buffers, self.betas
        m *= b1
        m += (1 - b1) * g
        v *= b2
        v += (1 - b2) * g * g
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        return self.lr * m_hat / (backend.array_module(g).sqrt(v_hat) + self.eps)
