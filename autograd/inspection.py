"""Looking at a function without leaving a trace: its gradients, its values in another dtype, what its Nodes hold."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from autograd.backend import Array
from autograd.tape import Node, Pull, Tensor, _newest_first

_watching = threading.Lock()


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


@contextmanager
def keep_values() -> Iterator[dict[Node, Array]]:
    """Within the block, the result of every op that this thread records, by Node: the tape itself keeps none.

    Another thread that asks for the same waits until the block ends.
    """
    values: dict[Node, Array] = {}
    thread = threading.get_ident()

    def recording(self: Node, op: str, y: Array, parents: list[Any], pull: Pull) -> None:
        record(self, op, y, parents, pull)
        if threading.get_ident() == thread:
            values[self] = y

    with _watching:
        record = Node.__init__
        Node.__init__ = recording  # type: ignore[method-assign]
        try:
            yield values
        finally:
            Node.__init__ = record  # type: ignore[method-assign]


@contextmanager
def keep_gradients(nodes: Iterable[Node | Tensor]) -> Iterator[dict[Node, Array]]:
    """Within the block, backward also keeps the gradients that these Nodes receive."""
    gradients: dict[Node, Array] = {}

    def keeping(node: Node, pull: Pull) -> Pull:
        def keep(g: Array) -> Any:
            gradients[node] = g
            return pull(g)

        return keep

    for node in nodes:
        if isinstance(node, Node) and node.pull is not None:
            node.pull = keeping(node, node.pull)
    yield gradients
