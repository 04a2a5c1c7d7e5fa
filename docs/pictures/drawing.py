"""Drawings for the book: SVG as on a blackboard, exact, and readable on light and dark pages.

A picture is a function without arguments that returns a Drawing; `python -m docs.pictures` finds it by its decorator
and writes docs/pictures/mab.svg:

    from docs.pictures.drawing import Drawing, picture

    @picture
    def mab() -> Drawing:
        d = Drawing(560, 200, "A multihead attention block: X and Y enter, H leaves")
        x = d.box(80, 100, "X", below="n × d")  # centered at (80, 100), as wide as its text
        a = d.box(280, 100, "Multihead", kind="op")
        h = d.box(480, 100, "H", below="n × d", kind="result")
        d.arrow(x, a, label="queries")  # from border to border
        d.arrow(a, h, bend=30)  # curved: 30 to the left of its direction
        d.route((a.x, 40), (a.x, a.top))  # a path of straight pieces, arrowhead at the end
        d.brace((60, 150), (500, 150), "one block")
        return d

Coordinates are pixels, x to the right and y down; a picture is at most 700 wide, and legible on a phone at half that
size if its text is not set smaller.  Text may hold sub- and superscripts, _{...} and ^{...}, and *italics*:
d.text(100, 50, "softmax(*Q K*^{⊤} / √*d*_{k})").

A shape that has been drawn knows its place: x, y (its center), left, right, top, bottom, width, height, and
at(dx, dy), a point with dx and dy between -1 and 1: box.at(1, 0) is the middle of its right side.

Colors are names, not values, so that the picture follows the page: "ink" (text and lines), "faint" (secondary),
"paper" (the background), and six hues: "blue", "orange", "green", "red", "purple", "gray".  A box's kind picks its
colors: "value" (blue), "op" (gray), "result" (green), "parameter" (orange: what is learned), "plain" (no fill), or a
hue.  cells(..., values=...) paints numbers by value: 0 is paper, 1 is full blue, negative ones are orange.

Every picture has a title, which a screen reader reads.  Data plots are Matplotlib figures: see docs/pictures/plot.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.sax.saxutils import escape

from docs.pictures.shape import Point, Shape
from docs.pictures.style import HUES, STYLE
from docs.pictures.words import number as _n
from docs.pictures.words import spans, text_width

PICTURES: dict[str, Callable[[], Any]] = {}  # name -> a function that returns something with .svg()

KINDS = {"value": "blue", "op": "gray", "result": "green", "parameter": "orange", "plain": "plain"}
SIZE = 15.0  # of the text, in pixels


def picture(function: Callable[[], Any]) -> Callable[[], Any]:
    """Register a picture: docs/pictures/NAME.svg, with the function's name (_ becomes -)."""
    name = function.__name__.replace("_", "-")
    if name in PICTURES and PICTURES[name].__module__ != function.__module__:
        raise ValueError(f"two pictures are called {name!r}: in {PICTURES[name].__module__} and {function.__module__}")
    PICTURES[name] = function
    return function


class Drawing:
    """A picture in the making.  Later shapes cover earlier ones."""

    def __init__(self, width: float, height: float, title: str) -> None:
        if not title:
            raise ValueError("a picture needs a title that says what it shows, for readers who cannot see it")
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    # ---- text and boxes

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SIZE,
        color: str = "ink",
        anchor: str = "middle",
        bold: bool = False,
        mono: bool = False,
    ) -> Shape:
        """Text centered at (x, y); anchor "start" or "end" puts its left or right end at x.  \\n starts a line."""
        lines = text.split("\n")
        width = max(text_width(line, size, mono) for line in lines)
        classes = f"t-{color}" + (" bold" if bold else "") + (" mono" if mono else "")
        for i, line in enumerate(lines):
            middle = y + (i - (len(lines) - 1) / 2) * size * 1.35
            self._add(
                f'<text class="{classes}" x="{_n(x)}" y="{_n(middle + 0.35 * size)}" font-size="{_n(size)}" '
                f'text-anchor="{anchor}">{spans(line, size)}</text>'
            )
        center = x + {"start": width / 2, "middle": 0.0, "end": -width / 2}[anchor]
        return Shape(center, y, width, size * 1.35 * len(lines))

    def box(
        self,
        x: float,
        y: float,
        label: str,
        *,
        below: str = "",
        kind: str = "value",
        width: float | None = None,
        height: float | None = None,
        size: float = SIZE,
        round: float = 5.0,
        dashed: bool = False,
    ) -> Shape:
        """A box with a label, and a second, smaller line for a shape; without a width it is as wide as its text."""
        small = 0.8 * size
        lines = label.split("\n")
        natural = max([text_width(line, size) for line in lines] + [text_width(below, small)]) + 1.4 * size
        tall = size * (1.35 * len(lines) + 0.8) + (1.3 * small if below else 0)
        shape = Shape(x, y, natural if width is None else width, tall if height is None else height)
        self.rect(shape, kind=kind, round=round, dashed=dashed)
        drop = 0.62 * small if below else 0.0
        self.text(x, y - drop, label, size=size)
        if below:
            low = y - drop + 0.675 * len(lines) * size + 0.6 * small
            self.text(x, low, below, size=small, color="faint")
        return shape

    def rect(self, shape: Shape, *, kind: str = "plain", round: float = 5.0, dashed: bool = False) -> Shape:
        """A box without text: a frame around others, for example."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._add(
            f'<rect class="b-{KINDS.get(kind, kind)}" x="{_n(shape.left)}" y="{_n(shape.top)}" '
            f'width="{_n(shape.width)}" height="{_n(shape.height)}" rx="{_n(round)}"{dash}/>'
        )
        return shape

    def circle(self, x: float, y: float, radius: float, label: str = "", *, kind: str = "value") -> Shape:
        """A circle, with a short label in it: an element of a set, or an operation such as +."""
        self._add(f'<circle class="b-{KINDS.get(kind, kind)}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>')
        if label:
            self.text(x, y, label, size=min(SIZE, 1.25 * radius))
        return Shape(x, y, 2 * radius, 2 * radius)

    def dot(self, x: float, y: float, radius: float = 3.0, *, color: str = "blue", opacity: float = 1.0) -> Shape:
        """A filled point of a data plot."""
        self._add(f'<circle class="f-{color}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"{_opacity(opacity)}/>')
        return Shape(x, y, 2 * radius, 2 * radius)

    # ---- lines

    def line(self, *points: Point, color: str = "ink", width: float = 1.4, dashed: bool = False) -> None:
        """Straight pieces through the points."""
        self._path("M" + " L".join(f"{_n(x)} {_n(y)}" for x, y in points), color, width, dashed, head=False)

    def route(self, *points: Point, color: str = "ink", width: float = 1.4, dashed: bool = False) -> None:
        """An arrow of straight pieces through the points: orthogonal, if they are."""
        self._path("M" + " L".join(f"{_n(x)} {_n(y)}" for x, y in points), color, width, dashed, head=True)

    def arrow(
        self,
        start: Shape | Point,
        end: Shape | Point,
        *,
        bend: float = 0.0,
        label: str = "",
        color: str = "ink",
        width: float = 1.4,
        dashed: bool = False,
        head: bool = True,
    ) -> None:
        """An arrow between two shapes (from border to border) or points; bend curves it to the left of its direction.

        The label stands beside the middle of the arrow, on the side to which it bends (above, if it is straight).
        """
        (x0, y0), (x1, y1) = _center(start), _center(end)
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        left = ((y1 - y0) / length, -(x1 - x0) / length)  # the unit vector to the left, on a page with y down
        control = ((x0 + x1) / 2 + 2 * bend * left[0], (y0 + y1) / 2 + 2 * bend * left[1])
        if isinstance(start, Shape):
            x0, y0 = start.border(control if bend else (x1, y1))
        if isinstance(end, Shape):
            x1, y1 = end.border(control if bend else (x0, y0))
        curve = f"Q{_n(control[0])} {_n(control[1])} {_n(x1)} {_n(y1)}" if bend else f"L{_n(x1)} {_n(y1)}"
        self._path(f"M{_n(x0)} {_n(y0)} {curve}", color, width, dashed, head)
        if label:
            x, y = (x0 + 2 * control[0] + x1) / 4, (y0 + 2 * control[1] + y1) / 4
            if not bend:
                x, y = (x0 + x1) / 2, (y0 + y1) / 2
            right = (-left[0], -left[1])
            side = left if bend > 0 or (bend == 0 and left[1] <= 0) else right
            small = 0.87 * SIZE
            away = 0.75 * small + abs(side[0]) * text_width(label, small) / 2
            self.text(x + away * side[0], y + away * side[1], label, size=small, color=color)

    def brace(self, start: Point, end: Point, label: str = "", *, depth: float = 9.0, color: str = "ink") -> None:
        """A curly brace from start to end; its tip and label are to the right of that direction."""
        (x0, y0), (x1, y1) = start, end
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        px, py = -uy, ux  # to the right of the direction, on a page with y down

        def at(along: float, out: float) -> str:
            return f"{_n(x0 + along * ux + out * px)} {_n(y0 + along * uy + out * py)}"

        half, r = length / 2, min(depth, length / 4)
        path = (
            f"M{at(0, 0)} Q{at(0, depth / 2)} {at(r, depth / 2)} L{at(half - r, depth / 2)} "
            f"Q{at(half, depth / 2)} {at(half, depth)} Q{at(half, depth / 2)} {at(half + r, depth / 2)} "
            f"L{at(length - r, depth / 2)} Q{at(length, depth / 2)} {at(length, 0)}"
        )
        self._path(path, color, 1.4, False, head=False)
        if label:
            small = 0.93 * SIZE
            out = depth + 0.8 * small + abs(px) * text_width(label, small) / 2
            self.text(x0 + half * ux + out * px, y0 + half * uy + out * py, label, size=small, color=color)

    # ---- matrices

    def cells(
        self,
        left: float,
        top: float,
        rows: int,
        columns: int,
        *,
        size: float = 24.0,
        values: Sequence[Sequence[float]] | None = None,
        labels: Sequence[Sequence[str]] | None = None,
        scale: float = 1.0,
        color: str = "blue",
        crossed: Callable[[int, int], bool] = lambda row, column: False,
    ) -> Shape:
        """A matrix of square cells.

        values paint them: 0 is paper, ±scale is full color (negative ones in orange); labels are written in them;
        crossed cells are those that a mask takes out.
        """
        shape = Shape(left + columns * size / 2, top + rows * size / 2, columns * size, rows * size)
        for i in range(rows):
            for j in range(columns):
                cell = shape.cell(i, j, rows, columns)
                place = f'x="{_n(cell.left)}" y="{_n(cell.top)}" width="{_n(size)}" height="{_n(size)}"'
                self._add(f'<rect class="cell" {place}/>')
                value = 0.0 if values is None else float(values[i][j]) / scale
                strength = min(abs(value), 1.0)
                if round(strength, 2):
                    hue = color if value > 0 else "orange"
                    self._add(f'<rect class="f-{hue}" {place}{_opacity(0.9 * strength)}/>')
                if crossed(i, j):
                    self._path(_cross(cell, 0.3), "faint", 1.2, False, head=False)
                elif labels is not None:
                    ink = "paper" if strength > 0.6 else "ink"
                    self.text(cell.x, cell.y, labels[i][j], size=min(0.5 * size, SIZE), color=ink)
        return shape

    # ---- the rest

    @contextmanager
    def group(self, *, x: float = 0.0, y: float = 0.0, opacity: float = 1.0) -> Iterator[None]:
        """What is drawn inside moves by (x, y), and may be faded."""
        self._add(f'<g transform="translate({_n(x)} {_n(y)})"{_opacity(opacity)}>')
        yield
        self._add("</g>")

    def raw(self, svg: str) -> None:
        """SVG as it is, for what this library cannot draw; use its classes for colors."""
        self._add(svg)

    def svg(self) -> str:
        """The whole file."""
        return "\n".join([_opening(self.width, self.height, self.title), *self._parts, "</svg>", ""])

    def _add(self, part: str) -> None:
        self._parts.append(part)

    def _path(self, path: str, color: str, width: float, dashed: bool, head: bool) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        marker = f' marker-end="url(#arrow-{color})"' if head else ""
        self._add(f'<path class="l-{color}" d="{path}" stroke-width="{_n(width)}"{dash}{marker}/>')


def _center(place: Shape | Point) -> Point:
    return (place.x, place.y) if isinstance(place, Shape) else place


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{_n(opacity)}"'


def _cross(cell: Shape, part: float) -> str:
    (a, b), (c, d) = cell.at(-part, -part), cell.at(part, part)
    return f"M{_n(a)} {_n(b)} L{_n(c)} {_n(d)} M{_n(a)} {_n(d)} L{_n(c)} {_n(b)}"


def _opening(width: float, height: float, title: str) -> str:
    """The first lines of a file: its size, title, colors, and the arrowheads (8 pixels long)."""
    heads = "".join(
        f'<marker id="arrow-{color}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="f-{color}" d="M0 0.5L8 4L0 7.5z"/></marker>'
        for color in ("ink", "faint", *HUES)
    )
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" {size}>\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n<defs>{heads}</defs>\n"
        f'<rect class="back" width="{_n(width)}" height="{_n(height)}" rx="6"/>'
    )
