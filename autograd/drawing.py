"""Drawings of a graph: what was computed from what, as text, as DOT for Graphviz, or as SVG.

>>> import numpy as np
>>> from autograd import Tensor, linear
>>> from autograd.drawing import graph
>>> x = np.ones((5, 3))
>>> W, b, y = (Tensor(np.ones(shape), requires_grad=True) for shape in [(3, 4), (4,), (5, 4)])
>>> graph((linear(x, W, b).relu() * y).sum(), {"W": W, "b": b})
W       leaf      (3, 4)
b       leaf      (4,)
leaf 1  leaf      (5, 4)
0       linear    (5, 4)  <- W, b
1       relu      (5, 4)  <- 0
2       multiply  (5, 4)  <- 1, leaf 1
3       sum       ()      <- 2

In a notebook the last line shows the SVG instead, and graph(loss).save("loss.svg") writes it to a file.  An input that
requires no gradient, such as x, is not part of the graph and is not drawn.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograd.drawing_svg import svg
from autograd.tape import Node, Tensor


@dataclass(frozen=True)
class Value:
    """What a box represents: a leaf, or the result of an op."""

    name: str  # the given name, otherwise "leaf 1" and so on for a leaf, and a number for the result of an op
    op: str  # "leaf" for a leaf
    shape: str  # followed by the dtype if it differs from the output's
    label: str  # the text in the box, above the shape
    inputs: tuple[int, ...]  # the indices of its inputs in Graph.values


@dataclass(frozen=True, repr=False)
class Graph:
    """The drawing of a graph.  It holds only text: it keeps no array alive, and backward does not change it."""

    values: tuple[Value, ...]  # leaves in order of first use, then results in creation order; the output is last

    @property
    def text(self) -> str:
        """One line per value: its name, op, shape and inputs."""
        return "\n".join(_lines(self.values))

    @property
    def dot(self) -> str:
        """DOT source for Graphviz."""
        return _dot(self.values)

    @property
    def svg(self) -> str:
        """A complete SVG file, which needs no other program."""
        return svg(self.values, _lines(self.values))

    def save(self, path: str | Path) -> None:
        """Write the drawing to a file whose name ends in .svg, .dot or .txt."""
        suffix = Path(path).suffix.lower()
        kinds = {".svg": "svg", ".dot": "dot", ".txt": "text"}
        if suffix not in kinds:
            raise ValueError(f"a graph is saved to a .svg, .dot or .txt file; given {str(path)!r}; change its suffix")
        Path(path).write_text(getattr(self, kinds[suffix]) + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg


# ---- from a Tensor to its values ------------------------------------------------------------------------------------


def graph(output: Tensor, names: Mapping[str, Tensor] | Any = None, limit: int = 500) -> Graph:
    """The drawing of everything the output was computed from.

    names  a dictionary from names to Tensors, or a Module for the names of its parameters; the result of an op can be
           named too, and Tensors that are not in the graph are ignored
    limit  the maximum number of boxes
    """
    if not isinstance(output, Tensor):
        raise TypeError(f"graph draws what a Tensor was computed from, given {type(output).__name__}; pass a Tensor")
    if not output.requires_grad:
        raise ValueError(
            f"graph of a constant of shape {output.shape}, which has none: it was computed under no_grad(), or from "
            "inputs none of which has requires_grad=True"
        )
    found = members(output)
    if len(found) > limit:
        raise ValueError(
            f"a graph of {len(found)} nodes is above the limit of {limit}: draw the graph of a part of the "
            f"computation, or pass limit={len(found)}"
        )
    given = _by_tensor(names)
    taken = set(given.values())
    leaf_names = (name for i in itertools.count(1) if (name := f"leaf {i}") not in taken)
    result_names = (name for i in itertools.count() if (name := str(i)) not in taken)
    index = {x: i for i, x in enumerate(found)}
    values = []
    for x in found:
        shape = str(x.shape) if x.dtype == output.dtype else f"{x.shape} {x.dtype}"
        if isinstance(x, Tensor):
            name = given.get(x) or next(leaf_names)
            values.append(Value(name, "leaf", shape, name, ()))
        else:
            label = f"{given[x]} = {x.op}" if given.get(x) else x.op
            inputs = tuple(index[parent] for parent in x.parents if parent is not None)
            values.append(Value(given.get(x) or next(result_names), x.op, shape, label, inputs))
    return Graph(tuple(values))


def members(output: Tensor) -> list[Node | Tensor]:
    """What the boxes of a drawing represent, in the order of Graph.values: leaves, then Nodes."""
    nodes = _oldest_first(output.node)
    leaves = [parent for node in nodes for parent in node.parents if isinstance(parent, Tensor)] if nodes else [output]
    return [*dict.fromkeys(leaves), *nodes]


def _oldest_first(root: Node | None) -> list[Node]:
    """The root and every Node it was computed from, each after the Nodes it was itself computed from."""
    pending = [root] if root is not None else []  # a loop, not recursion: graphs can be deeper than Python's stack
    found = set(pending)
    while pending:
        node = pending.pop()
        if node.pull is None:
            raise RuntimeError(f"graph of {node.op}, which backward has freed; draw it before backward")
        new = {parent for parent in node.parents if isinstance(parent, Node)} - found
        found |= new
        pending += new
    return sorted(found, key=lambda node: node.order)


def _by_tensor(names: Mapping[str, Tensor] | Any) -> dict[Node | Tensor, str]:
    """The given names by leaf, or by the Node of an op's result."""
    if hasattr(names, "named_parameters"):
        names = names.named_parameters()
    elif names is None or isinstance(names, Mapping):
        names = (names or {}).items()
    else:
        raise TypeError(
            f"names must be a dictionary from names to Tensors, or a Module, given {type(names).__name__}; "
            "pass for example {'W': W}"
        )
    given: dict[Node | Tensor, str] = {}
    for name, x in names:
        if not isinstance(x, Tensor):
            raise TypeError(f"only Tensors have names in a graph, given {type(x).__name__} as {name!r}; remove it")
        name = str(name)
        name = name if name.isprintable() else repr(name)[1:-1]  # line breaks would break the text, NUL the SVG
        key = x.node or x
        given[key] = f"{given[key]} = {name}" if key in given else name  # tied parameters have several names
    return given


# ---- text and DOT ---------------------------------------------------------------------------------------------------


def _lines(values: Sequence[Value]) -> list[str]:
    name, op, shape = (max(len(getattr(v, column)) for v in values) for column in ("name", "op", "shape"))
    inputs = ["<- " + ", ".join(values[i].name for i in v.inputs) if v.inputs else "" for v in values]
    rows = zip(values, inputs, strict=True)
    return [f"{v.name:{name}}  {v.op:{op}}  {v.shape:{shape}}  {arrow}".rstrip() for v, arrow in rows]


def _dot(values: Sequence[Value]) -> str:
    lines = ["digraph {", '  node [shape=box, fontname="monospace"];']
    for i, value in enumerate(values):
        label = f"{value.label}\n{value.shape}".replace("&", "&amp;")  # DOT understands HTML entities and JSON escapes
        label = json.dumps(label, ensure_ascii=False)
        shape = ", shape=ellipse" if value.op == "leaf" else ""
        lines.append(f"  {i} [label={label}{shape}{', penwidth=3' if i == len(values) - 1 else ''}];")
    lines += [f"  {i} -> {j};" for j, value in enumerate(values) for i in value.inputs]
    return "\n".join([*lines, "}"])
