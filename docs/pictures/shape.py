"""The place and size of something that was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Shape:
    """Where something was drawn: its center and size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2

    def at(self, dx: float, dy: float) -> Point:
        """A point of the shape: at(0, 0) is its center, at(1, 0) the middle of its right side, at(-1, -1) a corner."""
        return self.x + dx * self.width / 2, self.y + dy * self.height / 2

    def cell(self, row: int, column: int, rows: int, columns: int) -> Shape:
        """One cell of a grid that was drawn by cells()."""
        width, height = self.width / columns, self.height / rows
        return Shape(self.left + (column + 0.5) * width, self.top + (row + 0.5) * height, width, height)

    def border(self, toward: Point, gap: float = 2.0) -> Point:
        """Where a line from the center to a point leaves the shape, and a small gap further on."""
        dx, dy = toward[0] - self.x, toward[1] - self.y
        length = math.hypot(dx, dy) or 1.0
        scale = min(
            self.width / 2 / abs(dx) if dx else math.inf,
            self.height / 2 / abs(dy) if dy else math.inf,
            1.0,
        )
        return self.x + dx * scale + gap * dx / length, self.y + dy * scale + gap * dy / length
