"""The SVG of a graph: where its boxes go, and the picture.

The SVG is laid out in layers from top to bottom, with the output in the last layer and every other value one layer
above its first use.  A value that is also used further down reserves a position in each layer in between, its column,
so that its edges run between the boxes and not through them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from autograd.drawing import Value

# ---- layout ---------------------------------------------------------------------------------------------------------

Cell = tuple[int, int]  # a value and a layer: that of its box, or one that its column passes through
Links = dict[Cell, dict[Cell, float]]  # the cells each cell is linked to in an adjacent layer, and the link's weight

PATH, COLUMN, LOOSE, LEAF = 1e5, 100.0, 1.0, 0.1  # weights: long paths are kept straight, then columns; leaves yield
BOX, LAYER, GAP, MARGIN = 40.0, 76.0, 18.0, 16.0  # box height, layer to layer, between boxes, around the drawing
LETTER = 8.0  # the width of a letter in the font


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


def svg(values: Sequence[Value], lines: Sequence[str]) -> str:
    """The drawing of all values; lines are what a pointer on a box shows."""
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
            *_boxes(values, lines, layers, boxes, x),
            "</svg>",
        ]
    )


def _top(layer: int) -> float:
    return MARGIN + LAYER * layer


def _boxes(
    values: Sequence[Value],
    lines: Sequence[str],
    layers: Sequence[int],
    boxes: Sequence[float],
    x: Mapping[Cell, float],
) -> Iterator[str]:
    for i, (value, line) in enumerate(zip(values, lines, strict=True)):
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
    values: Sequence[Value],
    layers: Sequence[int],
    boxes: Sequence[float],
    x: Mapping[Cell, float],
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
