"""How long the cells of a sweep will take: the steps that are left, times the measured seconds of a step.

The longest cells start first, so that the last ones to run are short and all workers end at about the same time.  Costs
decide the order and what is displayed, nothing else; an unknown cost comes first.
"""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Iterable
from typing import Any

from tasks.harness.errors import UsageError
from tasks.harness.run_folder import RunFolder
from tasks.sweep.grid import kind_of_run
from tasks.sweep.store import Cell, Store


class Costs:
    """Seconds per step of each kind of cell, from runs in the same folders and from earlier rehearsals."""

    def __init__(self, store: Store, cells: Iterable[Cell]) -> None:
        self.store, self.per_step = store, store.read_costs()
        for place in sorted({(store.root / cell.name).parent for cell in cells}):
            for path in place.iterdir() if place.is_dir() else ():
                with contextlib.suppress(UsageError):
                    folder = RunFolder(path)
                    progress, manifest = folder.progress(), folder.manifest()
                    self._observe(kind_of_run(manifest["task"], manifest["options"]), progress)

    def _observe(self, kind: str, progress: dict[str, Any]) -> None:
        if progress["step"]:
            self.per_step[kind] = progress["seconds"] / progress["step"]

    def learn(self, measured: dict[str, float]) -> None:
        """Remember what rehearsals have measured."""
        self.per_step |= measured
        if measured:
            self.store.write_costs(measured)

    def left(self, cell: Cell, *, running: bool = False) -> float | None:
        """The seconds that a cell still needs; None if they are unknown."""
        progress = self.store.progress(cell)
        if progress:
            self._observe(cell.kind, progress)
        pace = self.per_step.get(cell.kind)
        if cell.steps is None or pace is None:
            return None
        reached = 0 if progress is None else progress["step"] if running else progress.get("saved", progress["step"])
        return max(0, cell.steps - reached) * pace

    def longest_first(self, cells: Iterable[Cell]) -> list[Cell]:
        def cost(cell: Cell) -> float:
            left = self.left(cell)
            return math.inf if left is None else left

        return sorted(cells, key=cost, reverse=True)  # equal ones stay in their order

    def unknown(self, cells: list[Cell]) -> list[Cell]:
        """A cell of each kind whose steps were never timed, if that matters for the order."""
        timed = [cell for cell in cells if cell.steps is not None]
        if len({(cell.kind, cell.steps) for cell in timed}) < 2:
            return []
        return list({cell.kind: cell for cell in timed if cell.kind not in self.per_step}.values())


def total(workers: int, running: Iterable[float | None], waiting: Iterable[float | None]) -> tuple[float, bool]:
    """Seconds until all is done if each worker takes the next waiting cell when it is free; False if some are unknown.

    Unknown cells count as nothing, so that the number is then a lower bound.
    """
    running, waiting = list(running), list(waiting)
    ends = sorted(seconds or 0.0 for seconds in running)
    ends += [0.0] * (max(1, min(workers, len(running) + len(waiting))) - len(ends))
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + (seconds or 0.0))
    return max(ends), None not in (*running, *waiting)
