"""All parameters of an optimizer as one: their buffers are concatenated into one array, and so are their gradients.

On the CPU a step is then a few passes over one long array, in pieces, instead of a dozen small calls for each
parameter.  On a GPU the parameters themselves are concatenated too, and a step of Adam is one kernel launch.
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
from minisets.optim.optimizers import on_parameters_device


@dataclass
class Flat:
    """The buffers of all parameters, concatenated: one array per buffer name, with a view for each parameter."""

    offsets: list[int]  # where each parameter starts, and the end of the last
    buffers: dict[str, Array]
    views: dict[str, list[Array]]  # of the buffers, as the optimizer has them
    parameters: Array | None = None  # on a GPU

    def split(self, flat: Array, like: list[Tensor]) -> list[Array]:
        """A view of each parameter's part of an array, in the parameter's shape."""
        pairs = itertools.pairwise(self.offsets)
        return [flat[a:b].reshape(p.data.shape) for p, (a, b) in zip(like, pairs, strict=True)]


_flat: WeakKeyDictionary[Optimizer, Flat] = WeakKeyDictionary()


def flat_buffers(optimizer: Optimizer) -> Flat:
    """An optimizer's concatenated buffers, rebuilt if it is a copy of another or its arrays were replaced."""
    flat = _flat.get(optimizer)
    if flat is not None and all(
        buffer is view
        for name in optimizer.buffer_names
        for buffer, view in zip(optimizer.buffers[name], flat.views[name], strict=True)
    ):
        return flat
    flat = _flat[optimizer] = Flat(np.cumsum([0, *(p.size for p in optimizer.parameters)]).tolist(), {}, {})
    for name in optimizer.buffer_names:
        flat.buffers[name] = flatten(optimizer.buffers[name])
        flat.views[name] = optimizer.buffers[name] = flat.split(flat.buffers[name], optimizer.parameters)
    return flat


def flatten(arrays: list[Array]) -> Array:
    return array_module(arrays[0]).concatenate([array.reshape(-1) for array in arrays])


def serves(self: Optimizer) -> bool:
    """Whether this is Adam or SGD, and all parameters have a gradient and have taken the same number of steps.

    A user's own recurrence may depend on a whole parameter, such as its norm, so it is not applied to all at once.
    """
    first = self.parameters[0].data
    return (
        type(self) in (Adam, SGD)
        and first.dtype.name in DTYPES
        and all(p.grad is not None for p in self.parameters)
        and bool((self.steps == self.steps[0]).all())
    )


@form_of(Optimizer, "step", serves=serves)
@on_parameters_device
def step(self: Optimizer) -> None:
    self.check_parameters()
    flat = flat_buffers(self)
    self.steps += 1
    t, buffers = int(self.steps[0]), list(flat.buffers.values())
    g = flatten([p.grad for p in self.parameters])
    if on_gpu(g):
        _on_gpu(self, flat, t, g, buffers)
        return
    # Without weight decay p is not read, and any array of its length will do.
    p = flatten([p.data for p in self.parameters]) if self.weight_decay else g
    update = np.empty_like(g)

    def compute(piece: slice) -> None:
        update[piece] = self.update(t, p[piece], g[piece], [array[piece] for array in buffers])

    parallel_map(compute, row_pieces(len(g), 1))
    for parameter, part in zip(self.parameters, flat.split(update, self.parameters), strict=True):
        parameter.data -= part


def _on_gpu(self: Optimizer, flat: Flat, t: int, g: Array, buffers: list[Any]) -> None:
    p = flat_parameters(self, flat)
    if type(self) is Adam:
        (b1, b2), decay = self.betas, self.weight_decay
        decays = (0.0, decay) if self.decoupled else (decay, 0.0)
        adam(p, *buffers, g, self.lr, b1, b2, 1 - b1, 1 - b2, 1 - b1**t, 1 - b2**t, self.eps, *decays)
    else:
        p -= self.update(t, p, g, buffers)


def flat_parameters(optimizer: Optimizer, flat: Flat) -> Array:
    """All parameters in one array, of which each becomes a view.

    If they are elsewhere (an array was assigned to p.data, or network and optimizer were copied), they are concatenated
    again.  Share a parameter's memory only after the first step.
    """
    joined = flat.parameters
    if joined is None or not all(
        p.size == 0 or p.data.data.ptr == joined.data.ptr + start * joined.itemsize
        for p, start in zip(optimizer.parameters, flat.offsets, strict=False)
    ):
        joined = flat.parameters = flatten([p.data for p in optimizer.parameters])
        for p, view in zip(optimizer.parameters, flat.split(joined, optimizer.parameters), strict=True):
            p.data = view
    return joined
