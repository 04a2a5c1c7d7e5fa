"""Backward without needless copies: what a gradient is added to, and what a leaf keeps, is often nobody else's.

The plain walk (tape.py) makes a new array for every sum and for every leaf, since an op may send one array to several
inputs, as x + w does.  An op whose gradients are all new arrays, which it lets go of, says so: new_gradients(compute).
What such an op sends first may be added to in place, and kept by a leaf as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autograd import backend, tape
from autograd.backend import Array
from autograd.forms import form_of
from autograd.tape import Node, Pull, Tensor
from autograd.threads import single_threaded_blas


def new_gradients(compute: Callable[..., tuple[Array, Pull]]) -> Callable[..., tuple[Array, Pull]]:
    """Say of a function that returns (y, pull) that nobody else has what pull returns."""

    @functools.wraps(compute)
    def marked(*arguments: Any, **settings: Any) -> tuple[Array, Pull]:
        y, pull = compute(*arguments, **settings)
        pull.new = True  # type: ignore[attr-defined]
        return y, pull

    return marked


@form_of(Tensor, "backward", serves=lambda self, seed=None: True)
def backward(self: Tensor, seed: Any = None) -> None:
    gradients: dict[Node | Tensor, Array] = {self.node or self: tape._seed(self, seed)}
    ours: set[Node | Tensor] = set()  # whose gradient nobody else has
    with single_threaded_blas:
        for node in tape._youngest_first(self.node):
            new = getattr(node.pull, "new", False)
            for parent, gx in zip(node.parents, node.pull(gradients.pop(node)), strict=True):
                if parent is None:
                    continue
                fitted = tape._fitted(gx, parent, node.op)
                if parent not in gradients:
                    gradients[parent] = fitted
                    if new or fitted is not gx:
                        ours.add(parent)
                elif parent in ours:
                    gradients[parent] += fitted
                else:
                    gradients[parent] = gradients[parent] + fitted
                    ours.add(parent)
            node.parents, node.pull = [], None
    leaf: Any
    for leaf, g in gradients.items():
        if leaf.grad is None:
            xp = backend.array_module(g)
            leaf.grad = xp.asarray(g) if leaf in ours else xp.array(g)
        else:
            leaf.grad += g  # in place: a leaf's gradient is its own
