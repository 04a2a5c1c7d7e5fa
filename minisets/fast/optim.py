"""All parameters of an optimizer as one: their memories lie end to end in one array, and so do their gradients.

On the CPU a step is then a few passes over one long array, in pieces, instead of a dozen small calls for each
parameter.  On a GPU the parameters themselves lie end to end as well, and a step of Adam is one launch.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from autograd import Tensor
from autograd.backend import Array, array_module, on_gpu
from autograd.fast.pieces import row_pieces
from autograd.forms import form_of
from autograd.kernels.adam import adam
from autograd.kernels.registry import DTYPES
from autograd.threads import parallel_map
from minisets.optim import SGD, Adam, Optimizer


@dataclass
class Flat:
    """What belongs to all parameters, end to end: for each memory an array, of which each parameter's is a view."""

    ends: list[int]  # where each parameter ends
    memory: dict[str, Array]
    views: dict[str, list[Array]]  # of the memories, as the optimizer has them
    parameters: Array | None = None  # on a GPU

    def apart(self, flat: Array, like: list[Tensor]) -> list[Array]:
        """Of an array with all parameters end to end, the view that belongs to each."""
        pairs = itertools.pairwise(self.ends)
        return [flat[a:b].reshape(p.data.shape) for p, (a, b) in zip(like, pairs, strict=True)]


_flat: WeakKeyDictionary[Optimizer, Flat] = WeakKeyDictionary()


def flat_memory(optimizer: Optimizer) -> Flat:
    """The memories of an optimizer end to end, laid so anew if it is a copy of another or was given other arrays."""
    flat = _flat.get(optimizer)
    if flat is not None and all(
        mine is view
        for name in optimizer.memories
        for mine, view in zip(optimizer.memory[name], flat.views[name], strict=True)
    ):
        return flat
    flat = _flat[optimizer] = Flat(np.cumsum([0, *(p.size for p in optimizer.parameters)]).tolist(), {}, {})
    for name in optimizer.memories:
        flat.memory[name] = end_to_end(optimizer.memory[name])
        flat.views[name] = optimizer.memory[name] = flat.apart(flat.memory[name], optimizer.parameters)
    return flat


def end_to_end(arrays: list[Array]) -> Array:
    return array_module(arrays[0]).concatenate([array.reshape(-1) for array in arrays])


def serves(self: Optimizer) -> bool:
    """Adam and SGD, where all parameters have a gradient and have taken the same number of steps: they move as one.

    A recurrence of a user's own may treat a parameter as a whole, by its norm for example.
    """
    first = self.parameters[0].data
    return (
        type(self) in (Adam, SGD)
        and first.dtype.name in DTYPES
        and all(p.grad is not None for p in self.parameters)
        and bool((self.steps == self.steps[0]).all())
    )


@form_of(Optimizer, "step", serves=serves)
def step(self: Optimizer) -> None:
    self.check()
    flat = flat_memory(self)
    self.steps += 1
    t, memory = int(self.steps[0]), list(flat.memory.values())
    g = end_to_end([p.grad for p in self.parameters])
    if on_gpu(g):
        _on_gpu(self, flat, t, g, memory)
        return
    # Without weight decay nobody looks at p, and any array of its length will do.
    p = end_to_end([p.data for p in self.parameters]) if self.weight_decay else g
    change = np.empty_like(g)

    def move(piece: slice) -> None:
        change[piece] = self.change(t, p[piece], g[piece], [array[piece] for array in memory])

    parallel_map(move, row_pieces(len(g), 1))
    for parameter, part in zip(self.parameters, flat.apart(change, self.parameters), strict=True):
        parameter.data -= part


def _on_gpu(self: Optimizer, flat: Flat, t: int, g: Array, memory: list[Any]) -> None:
    p = flat_parameters(self, flat)
    if type(self) is Adam:
        (b1, b2), decay = self.betas, self.weight_decay
        decays = (0.0, decay) if self.decoupled else (decay, 0.0)
        adam(p, *memory, g, self.lr, b1, b2, 1 - b1, 1 - b2, 1 - b1**t, 1 - b2**t, self.eps, *decays)
    else:
        p -= self.change(t, p, g, memory)


def flat_parameters(optimizer: Optimizer, flat: Flat) -> Array:
    """All parameters in one array, of which each of them is a view from now on.

    Where they lie elsewhere (an array was assigned to p.data, or network and optimizer were copied), they are laid end
    to end anew.  Whoever shares a parameter's memory should do so after the first step.
    """
    whole = flat.parameters
    if whole is None or not all(
        p.size == 0 or p.data.data.ptr == whole.data.ptr + start * whole.itemsize
        for p, start in zip(optimizer.parameters, flat.ends, strict=False)
    ):
        whole = flat.parameters = end_to_end([p.data for p in optimizer.parameters])
        for p, view in zip(optimizer.parameters, flat.apart(whole, optimizer.parameters), strict=True):
            p.data = view
    return whole
