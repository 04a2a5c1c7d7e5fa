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

The SVG is laid out in layers from top to bottom, with the output in the last layer and every other value one layer
above its first use.  A value that is also used further down reserves a position in each layer in between, its column,
so that its edges run between the boxes and not through them.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

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
        return _svg(self.values)

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
    nodes = _oldest_first(output.node)
    leaves = [parent for node in nodes for parent in node.parents if isinstance(parent, Tensor)] if nodes else [output]
    found: list[Node | Tensor] = [*dict.fromkeys(leaves), *nodes]
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


# ---- layout ---------------------------------------------------------------------------------------------------------

Cell = tuple[int, int]  # a value and a layer: that of its box, or one that its column passes through
Links = dict[Cell, dict[Cell, float]]  # the cells each cell is linked to in an adjacent layer, and the link's weight

PATH, COLUMN, LOOSE, LEAF = 1e5, 100.0, 1.0, 0.1  # weights: long paths are kept straight, then columns; leaves yield
BOX, LAYER, GAP, MARGIN = 40.0, 76.0, 18.0, 16.0  # box height, layer to layer, between boxes, around the drawing
LETTER = 8.0  # the width of a letter in _svg's font


def _layers(values: Sequence[Value]) -> list[int]:
    """The layer of each box, counted from the top: one above its first use."""
    heights = [0] * len(values)  # counted from the output up
    for i in reversed(range(len(values))):
        for j in values[i].inputs:
            heights[j] = max(heights[j], heights[i] + 1)
    top = max(heights)
    return [top - height for height in heights]


def _links(values: Sequence[Value], layers: Sequence[int]) -> tuple[Links, Links]:
    """The links of each cell to the layer above it, and to the layer below it."""
    last = list(layers)  # the layer in which each value's column ends: one above its last use
    for value, layer in zip(values, layers, strict=True):
        for i in value.inputs:
            last[i] = max(last[i], layer - 1)
    above: Links = {}
    below: Links = {(i, layer): {} for i in range(len(values)) for layer in range(layers[i], last[i] + 1)}
    for i, layer in below:
        if layer > layers[i]:
            links = {(i, layer - 1): COLUMN if layer > layers[i] + 1 else LOOSE}
        else:
            links = {(j, layer - 1): LEAF if values[j].op == "leaf" else LOOSE for j in values[i].inputs}
            for cell in sorted(links, reverse=True):  # the newest op right above that starts no path yet
                if links[cell] == LOOSE and layers[cell[0]] == cell[1] and PATH not in below[cell].values():
                    links[cell] = PATH
                    break
        above[i, layer] = links
        for cell in links:
            below[cell][i, layer] = links[cell]
    return above, below


def _mean(cell: Cell, links: Mapping[Cell, float], position: Mapping[Cell, float]) -> float:
    """The weighted mean position of the cells a cell is linked to, or its own position if there are none."""
    return sum(position[other] * w for other, w in links.items()) / sum(links.values()) if links else position[cell]


def _ordered(above: Links, below: Links) -> list[list[Cell]]:
    """The cells of each layer from left to right, each near the cells it is linked to, so that few edges cross."""
    rows: list[list[Cell]] = [[] for _ in range(1 + max(layer for _, layer in above))]
    for cell in above:
        rows[cell[1]].append(cell)
    position = {cell: k - len(row) / 2 for row in rows for k, cell in enumerate(row)}
    for links, sweep in [(above, rows), (below, rows[::-1])] * 4:
        for row in sweep:
            row.sort(key={cell: _mean(cell, dict.fromkeys(links[cell], 1.0), position) for cell in row}.__getitem__)
            position |= {cell: k - len(row) / 2 for k, cell in enumerate(row)}
    return rows


def _centers(rows: list[list[Cell]], above: Links, below: Links, widths: Mapping[Cell, float]) -> dict[Cell, float]:
    """The x coordinate of each cell: sweeps up and down move each toward the cells it is linked to."""
    x = dict.fromkeys(above, 0.0)
    for links, others, sweep in [(below, above, rows[::-1]), (above, below, rows)] * 8:
        for row in sweep:
            # The other side has a small weight, otherwise leaves would determine where a path begins.
            near = [{cell: w / 100 for cell, w in others[c].items()} | links[c] for c in row]
            desired = [_mean(cell, n, x) for cell, n in zip(row, near, strict=True)]
            weights = [sum(n.values()) or 1.0 for n in near]
            x |= zip(row, _separate(desired, weights, [widths[cell] for cell in row]), strict=True)
    return x


def _separate(desired: Sequence[float], weights: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The centers closest to the desired ones, in least squares, that keep the boxes in order and a gap apart.

    Boxes that would come too close are merged into a group, at the weighted average of its members' desired positions.
    """
    offsets = [0.0, *itertools.accumulate((a + b) / 2 + GAP for a, b in itertools.pairwise(widths))]
    groups: list[tuple[float, float, int]] = []  # implied position of the row's first box, weight, size
    for center, offset, weight in zip(desired, offsets, weights, strict=True):
        start, members = center - offset, 1
        while groups and groups[-1][0] > start:
            other, w, n = groups.pop()
            start, weight, members = (other * w + start * weight) / (w + weight), w + weight, n + members
        groups.append((start, weight, members))
    starts = [start for start, _, members in groups for _ in range(members)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


# ---- SVG ------------------------------------------------------------------------------------------------------------


def _svg(values: Sequence[Value]) -> str:
    layers = _layers(values)
    above, below = _links(values, layers)
    rows = _ordered(above, below)
    boxes = [LETTER * max(len(value.label), len(value.shape)) + 20 for value in values]
    widths = {(i, layer): boxes[i] if layer == layers[i] else 0.0 for i, layer in above}
    x = _centers(rows, above, below, widths)
    left = min(x[cell] - widths[cell] / 2 for cell in x) - MARGIN
    x = {cell: center - left for cell, center in x.items()}
    width = math.ceil(max(x[cell] + widths[cell] / 2 for cell in x) + MARGIN)
    height = math.ceil(_top(len(rows) - 1) + BOX + MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="ui-monospace, Menlo, Consolas, monospace" '
            'font-size="13" text-anchor="middle">',
            f"<title>graph of {escape(values[-1].label)}</title>",
            '<marker id="autograd-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',  # the page may be dark
            '<g fill="none" stroke="#6b7280" stroke-width="1.4">',
            *_edges(values, layers, boxes, x),
            "</g>",
            *_boxes(values, layers, boxes, x),
            "</svg>",
        ]
    )


def _top(layer: int) -> float:
    return MARGIN + LAYER * layer


def _boxes(
    values: Sequence[Value], layers: Sequence[int], boxes: Sequence[float], x: Mapping[Cell, float]
) -> Iterator[str]:
    for i, (value, line) in enumerate(zip(values, _lines(values), strict=True)):
        center, top, width = x[i, layers[i]], _top(layers[i]), boxes[i]
        fill, outline, radius = ("#fff4d6", "#c98f1b", BOX / 2) if value.op == "leaf" else ("#e6effa", "#5b84b1", 5)
        color = "#111827"
        if i == len(values) - 1:
            fill, outline, color = "#1d4e89", "#1d4e89", "#ffffff"
        yield (
            f'<g data-value="{i}"><title>{escape(line)}</title>'
            f'<rect x="{center - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{BOX:.1f}" '
            f'rx="{radius}" fill="{fill}" stroke="{outline}" stroke-width="1.4"/>'
            f'<text x="{center:.1f}" y="{top + 17:.1f}" fill="{color}" font-weight="bold">{escape(value.label)}</text>'
            f'<text x="{center:.1f}" y="{top + 32:.1f}" fill="{color}">{escape(value.shape)}</text></g>'
        )


def _edges(
    values: Sequence[Value], layers: Sequence[int], boxes: Sequence[float], x: Mapping[Cell, float]
) -> Iterator[str]:
    columns: dict[int, str] = {}
    for i, layer in x:
        if layer > layers[i]:
            piece = _line(x[i, layer - 1], x[i, layer], layer) + f"V{_top(layer) + BOX:.1f}"
            columns[i] = columns.get(i, "") + piece
    for i, line in columns.items():
        yield f'<path data-from="{i}" d="{line}"/>'
    for j, value in enumerate(values):
        center, layer = x[j, layers[j]], layers[j]
        cells = sorted(((i, layer - 1) for i in value.inputs), key=x.__getitem__)
        # Arrows end side by side, around the middle of the box or around the one that comes straight from above.
        straight = [k for k, cell in enumerate(cells) if abs(x[cell] - center) < 2]
        middle = straight[0] if len(straight) == 1 else (len(cells) - 1) / 2
        spacing = min(16.0, (boxes[j] / 2 - 8) / max(middle, len(cells) - 1 - middle, 1))
        for k, cell in enumerate(cells):
            line = _line(x[cell], center + (k - middle) * spacing, layer)
            yield f'<path data-from="{cell[0]}" data-to="{j}" d="{line}" marker-end="url(#autograd-arrow)"/>'


def _line(start: float, end: float, layer: int) -> str:
    """From the bottom of the layer above to the top of this one; the end is straight, for the arrowhead."""
    top, bottom = _top(layer - 1) + BOX, _top(layer)
    middle = (top + bottom - 8) / 2
    curve = f"C{start:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {bottom - 8:.1f}"
    return f"M{start:.1f} {top:.1f}{curve}V{bottom:.1f}"
