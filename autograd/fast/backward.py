"""The backward pass without unnecessary copies: many gradients are not shared and can be reused in place.

The plain version (tape.py) allocates a new array for every sum and every leaf, since an op may send one array to
several inputs, as x + w does.  An op whose gradients are newly allocated and not used elsewhere is marked with
new_gradients(compute).  Its gradients can be added to in place, and stored in a leaf without a copy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autograd import tape
from autograd.backend import Array, array_module, device_guard
from autograd.forms import form_of
from autograd.tape import Node, Pull, Tensor
from autograd.threads import single_threaded_blas


def new_gradients(compute: Callable[..., tuple[Array, Pull]]) -> Callable[..., tuple[Array, Pull]]:
    """Mark a function that returns (y, pull): the arrays that pull returns are new and not referenced elsewhere."""

    @functools.wraps(compute)
    def wrapped(*arguments: Any, **settings: Any) -> tuple[Array, Pull]:
        y, pull = compute(*arguments, **settings)
        pull.new = True  # type: ignore[attr-defined]
        return y, pull

    return wrapped


@form_of(Tensor, "backward", serves=lambda self, seed=None: True)
def backward(self: Tensor, seed: Any = None) -> None:
    with device_guard(self.data):
        gradients: dict[Node | Tensor, Array] = {self.node or self: tape._seed(self, seed)}
    owned: set[Node | Tensor] = set()  # receivers whose gradient is not shared
    with single_threaded_blas:
        for node in tape._newest_first(self.node):
            new = getattr(node.pull, "new", False)
            with device_guard(gradients[node]):
                sent = node.pull(gradients.pop(node))
            with device_guard(*sent):
                for parent, gx in zip(node.parents, sent, strict=True):
                    if parent is None:
                        continue
                    fitted = tape._unbroadcast(gx, parent, node.op)
                    if parent not in gradients:
                        gradients[parent] = fitted
                        if new or fitted is not gx:
                            owned.add(parent)
                    elif parent in owned:
                        gradients[parent] += fitted
                    else:
                        gradients[parent] = gradients[parent] + fitted
                        owned.add(parent)
            node.parents, node.pull = [], None
            del sent  # before the next ones are allocated
    leaf: Any
    for leaf, g in gradients.items():
        with device_guard(g):
            if leaf.grad is None:
                xp = array_module(g)
                leaf.grad = xp.asarray(g) if leaf in owned else xp.array(g)
            else:
                leaf.grad += g  # in place: a leaf's gradient is not shared
