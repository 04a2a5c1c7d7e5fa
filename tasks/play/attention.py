"""Making attention visible: the weights between the elements of a set and the queries of one layer.

A layer that looks at a set has queries, and a weight for each pair of a query and an element: inducing points that
attend to the elements (the first half of an ISAB), elements that attend to inducing points (its second half), elements
that attend to each other (SAB), seeds that attend to elements (PMA, and the one query of Dotprod).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minisets import ISAB, PMA, SAB, Dotprod, record_attention
from minisets.nn import Module
from tasks.play.library import Library
from tasks.play.messages import MOST_POINTS, BadMessage, Message, text, whole

MOST_PAIRED = 1_000  # elements of which SAB's weights are shown: there is one for each pair


@dataclass(frozen=True)
class Layer:
    """A layer whose weights can be shown."""

    name: str  # the path of its attention in the network
    title: str
    kind: str  # "to elements", "from elements" or "between elements"
    queries: int  # inducing points or seeds; 0 if the elements themselves are the queries
    heads: int
    attention: Module

    def describe(self) -> dict[str, Any]:
        about = {"name": self.name, "title": self.title, "kind": self.kind}
        return about | {"queries": self.queries, "heads": self.heads}


def layers(net: Any) -> list[Layer]:
    """The layers of a network that see the elements, the first one first."""
    found = []

    def add(name: str, title: str, kind: str, queries: int, attention: Any) -> None:
        found.append(Layer(name, title, kind, queries, getattr(attention, "heads", 1), attention))

    for i, block in enumerate(net.encoder):
        name = f"encoder.{i}"
        if isinstance(block, ISAB):
            m = len(block.I.data)
            add(f"{name}.mab0", f"ISAB {i + 1}: inducing → set", "to elements", m, block.mab0.attention)
            add(f"{name}.mab1", f"ISAB {i + 1}: set → inducing", "from elements", m, block.mab1.attention)
        elif isinstance(block, SAB):
            add(f"{name}.mab", f"SAB {i + 1}: set → set", "between elements", 0, block.mab.attention)
    for i, block in enumerate(net.decoder):
        if isinstance(block, PMA):
            add(f"decoder.{i}.mab", "PMA: seeds → set", "to elements", block.k, block.mab.attention)
        elif isinstance(block, Dotprod):
            add(f"decoder.{i}", "Dotprod: query → set", "to elements", 1, block)
    return found


@contextlib.contextmanager
def recorded(layer: Layer | None) -> Iterator[list[np.ndarray]]:
    """The weights of one layer, (h, queries, keys) for a single set, once the network has run; [] without a layer."""
    if layer is None:
        yield []
        return
    with record_attention(layer.attention) as seen:
        yield seen[""]


def chosen(message: Message, net: Any, n: int) -> Layer | None:
    """The layer that a message names; None if it names none."""
    if message.get("layer") is None:
        return None
    name, available = text(message, "layer"), layers(net)
    layer = next((layer for layer in available if layer.name == name), None)
    if layer is None:
        known = ", ".join(layer.name for layer in available) or "none: this network has no attention"
        raise BadMessage(f"there is no attention layer {name!r}; there are {known}")
    if layer.kind == "between elements" and n > MOST_PAIRED:
        raise BadMessage(
            f"the weights between pairs are shown for at most {MOST_PAIRED:,} points, given {n:,}; "
            "choose another layer, or fewer points"
        )
    return layer


def shown(message: Message, layer: Layer | None, weights: list[np.ndarray], order: np.ndarray) -> dict[str, Any] | None:
    """What the page shows of a layer's weights: those of one head, or their mean.

    "weights" is (queries, n), times the number of keys, so that 1 is a uniform weight.  Between elements, of all pairs
    only those with the element in focus are sent: whom it attends to, and who attends to it.  order: the place of each
    element in the set that the network saw.
    """
    if layer is None:
        return None
    head = whole(message, "head", 0, layer.heads - 1) if message.get("head") is not None else None
    focus = whole(message, "focus", 0, MOST_POINTS) if message.get("focus") is not None else None
    W = weights[0][0] if weights[0].ndim == 4 else weights[0]  # (h, queries, keys); Dotprod has no heads
    W = W.mean(axis=0) if head is None else W[head]
    W = np.round(W * W.shape[-1], 3)
    if layer.kind == "from elements":
        return {"weights": W.T[:, order]}
    if layer.kind == "to elements":
        return {"weights": W[:, order]}
    if focus is None or focus >= len(order):
        return {}
    return {"to": W[order[focus]][order], "from": W[:, order[focus]][order]}


def described(library: Library, message: Message) -> dict[str, Any]:
    """The attention layers of a network that look at the elements of its set."""
    model = library.get(text(message, "model"), text(message, "page"))
    with model.opened() as net:
        return {"layers": [layer.describe() for layer in layers(getattr(net, "network", net))]}
