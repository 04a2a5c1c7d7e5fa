"""Looking at a function without leaving a trace: its gradients, and its values in another dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autograd.backend import Array
from autograd.tape import Tensor, _newest_first


def gradients(y: Tensor, u: Array) -> dict[Tensor, Array]:
    """Jᵀu for every leaf: backward from y with u as the seed.  The grad of all Tensors is kept."""
    nodes = _newest_first(y.node)
    leaves = {parent: parent.grad for node in nodes for parent in node.parents if isinstance(parent, Tensor)}
    try:
        for leaf in leaves:
            leaf.grad = None
        if nodes:
            y.backward(u)
        return {leaf: leaf.grad for leaf in leaves if leaf.grad is not None}
    finally:
        for leaf, grad in leaves.items():
            leaf.grad = grad


@contextmanager
def in_dtype(module: Any, dtype: str) -> Iterator[tuple[dict[str, Tensor], Callable[[], None]]]:
    """A Module's parameters in a dtype, and a function that resets its random generators; restored at the end."""
    if not hasattr(module, "named_tensors"):  # a plain function
        yield {}, lambda: None
        return
    tensors = [t for _, t in module.named_tensors()]
    before = [t.data for t in tensors]
    generators = [(g, g.bit_generator.state) for _, g in module.named_generators()]

    def rewind() -> None:
        for generator, state in generators:
            generator.bit_generator.state = state

    try:
        for t in tensors:
            t.data = t.data.astype(dtype) if t.dtype.kind == "f" else t.data.copy()
        yield dict(module.named_parameters()), rewind
    finally:
        rewind()
        for t, data in zip(tensors, before, strict=True):
            t.data = data
