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

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from autograd import Tensor, backend, forms, threads
from autograd.backend import Array
from autograd.kernels.adam import adam
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
        # The memories of all parameters lie end to end in one array, so that a step can treat them all at once.
        self.ends = np.cumsum([0, *(p.size for p in self.parameters)]).tolist()
        self.flat = {name: _zeros(self.parameters) for name in self.memories}
        self.memory = {name: self._apart(flat) for name, flat in self.flat.items()}
        self.whole: Array | None = None  # on a GPU: the parameters, end to end as well
        if forms.fused(*(p.data for p in self.parameters)):
            self._end_to_end()

    def zero_grad(self) -> None:
        """Forget the gradients, before the next backward adds its own."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient, in place."""
        self._require_the_same()
        self.lr = float(self.lr)  # a NumPy scalar would turn float32 into float64
        moving = [i for i, p in enumerate(self.parameters) if p.grad is not None]
        self.steps[moving] += 1
        if len(moving) == len(self.parameters) and (self.steps == self.steps[0]).all():
            self._move_together(int(self.steps[0]))
            return
        for i in moving:
            p, memory = self.parameters[i], [self.memory[name][i] for name in self.memories]
            p.data -= self._change(int(self.steps[i]), p.data, p.grad, memory)

    def _move_together(self, t: int) -> None:
        """The t-th step of all parameters, as if they were one, in pieces that fit into the cache."""
        xp, memory = backend.array_module(self.parameters[0].data), list(self.flat.values())
        g = xp.concatenate([p.grad.reshape(-1) for p in self.parameters])
        if forms.fused(g):
            self.move(t, self._end_to_end(), g, *memory)
            return
        # Without weight decay nobody looks at p, and any array of its length will do.
        p = xp.concatenate([p.data.reshape(-1) for p in self.parameters]) if self.weight_decay else g
        change = xp.empty_like(g)

        def move(piece: slice) -> None:
            change[piece] = self._change(t, p[piece], g[piece], [array[piece] for array in memory])

        threads.each(move, forms.row_pieces(len(g), 1) if forms.fast(g) else [slice(None)])
        for parameter, some in zip(self.parameters, self._apart(change), strict=True):
            parameter.data -= some

    def _end_to_end(self) -> Array:
        """All parameters in one array, of which each of them is a view from now on: a step on a GPU is one launch.

        Where they lie elsewhere (an array was assigned to p.data, or network and optimizer were copied), they are laid
        end to end anew.  Whoever shares a parameter's memory should do so after an optimizer has been made.
        """
        if self.whole is None or not all(
            self._lies_there(p, start) for p, start in zip(self.parameters, self.ends, strict=False)
        ):
            self.whole = backend.gpu().concatenate([p.data.reshape(-1) for p in self.parameters])
            for p, view in zip(self.parameters, self._apart(self.whole), strict=True):
                p.data = view
        return self.whole

    def _lies_there(self, p: Tensor, start: int) -> bool:
        """Whether a parameter's memory is that of the numbers from start on."""
        return p.size == 0 or p.data.data.ptr == self.whole.data.ptr + start * self.whole.itemsize

    def _require_the_same(self) -> None:
        """Refuse parameters that have been moved or converted since."""
        p, made = self.parameters[0], next(iter(self.flat.values()), None)
        if made is not None and (p.dtype != made.dtype or not backend.same_device(p.data, made)):
            then, now = (f"{a.dtype} on {backend.device_of(a)}" for a in (made, p.data))
            raise ValueError(
                f"this optimizer was made for parameters in {then}, which are {now} now; make it afterwards"
            )

    def _apart(self, flat: Array) -> list[Array]:
        """Of an array with all parameters end to end, the view that belongs to each."""
        pairs = itertools.pairwise(self.ends)
        return [flat[a:b].reshape(p.shape) for p, (a, b) in zip(self.parameters, pairs, strict=True)]

    def _change(self, t: int, p: Array, g: Array, memory: list[Array]) -> Array:
        """What the t-th step subtracts from p, weight decay included."""
        if self.weight_decay and not self.decoupled:
            g = g + self.weight_decay * p  # the gradient of ½ λ ‖p‖² joins the loss's
        change = self.change(t, g, *memory)
        return change + self.lr * self.weight_decay * p if self.weight_decay and self.decoupled else change

    def change(self, t: int, g: Array, *memory: Array) -> Array:
        """What the t-th step of the recurrence subtracts from a parameter; updates its memory in place."""
        raise NotImplementedError

    def move(self, t: int, p: Array, g: Array, *memory: Array) -> None:
        """The t-th step on a GPU, in place, for parameters that lie end to end."""
        p -= self._change(t, p, g, list(memory))

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

    def change(self, t: int, g: Array, u: Array) -> Array:
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
        _fraction(beta1=betas[0], beta2=betas[1])
        _positive(eps=eps)
        self.betas, self.eps = betas, eps

    def change(self, t: int, g: Array, m: Array, v: Array) -> Array:
        b1, b2 = self.betas
        m *= b1
        m += (1 - b1) * g
        v *= b2
        v += (1 - b2) * g * g
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        return self.lr * m_hat / (backend.array_module(g).sqrt(v_hat) + self.eps)

    def move(self, t: int, p: Array, g: Array, m: Array, v: Array) -> None:
        (b1, b2), decay = self.betas, self.weight_decay
        decays = (0.0, decay) if self.decoupled else (decay, 0.0)
        adam(p, m, v, g, self.lr, b1, b2, 1 - b1, 1 - b2, 1 - b1**t, 1 - b2**t, self.eps, *decays)


def _zeros(parameters: list[Tensor]) -> Array:
    """A zero for each number in the parameters."""
    first = parameters[0]
    if any(p.dtype != first.dtype or p.device != first.device for p in parameters):
        raise ValueError("parameters must have one dtype and be on one device; use an optimizer for each")
    return backend.array_module(first.data).zeros(sum(p.size for p in parameters), dtype=first.dtype)


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
