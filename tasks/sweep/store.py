"""A sweep on disk: cells are run folders below OUT, and what they do not say themselves is in OUT/sweeps.

OUT/clustering/quick/isab16-pma-seed0/              a cell: the folder of an ordinary run
OUT/sweeps/cells/clustering/quick/….json            a note on a cell that was started and has not ended well
OUT/sweeps/DIGEST/request.json                      a sweep: its command, its cells, and who runs it
OUT/sweeps/costs.json                               seconds per step, as measured before

A note is written before a cell starts, says why if it fails, and is removed when the cell ends well.  A finished run
that still has its note was killed while its figures were plotted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.harness import records
from tasks.harness.errors import UsageError
from tasks.harness.lock import FolderLock
from tasks.harness.records import COUNT, SECONDS, TEXT, TEXTS, Kind, Schema, read_json, write_json
from tasks.harness.run_folder import RunFolder

STARTED, DIVERGED, FAILED = "started", "diverged", "failed"  # what a note says of its cell


@dataclass(frozen=True)
class Cell:
    """One run of a sweep, in words and numbers that can be stored and sent to another process."""

    task: str  # as it was named: clustering, or module:ATTRIBUTE
    name: str  # the folder, below --out: clustering/quick/isab16-pma-seed0
    options: tuple[str, ...]  # for minisets train
    steps: int | None  # None: an experiment without training steps
    kind: str  # cells of one kind differ in their seed and number of steps alone, so their steps take the same time


def _is_below(value: Any) -> bool:
    """Whether this is the name of a folder below another, on any system."""
    try:
        parts = value.split("/")
        return all(part not in ("", ".", "..") and "\0" not in part and len(part.encode()) < 256 for part in parts)
    except (AttributeError, UnicodeEncodeError):
        return False


def _are_cells(value: Any) -> bool:
    return isinstance(value, list) and not any(records.mismatch(cell, CELL) for cell in value)


CELL: Schema = {
    "task": TEXT,
    "name": Kind("a folder", _is_below),
    "options": TEXTS,
    "steps": COUNT.or_absent(),
    "kind": TEXT,
}
NOTE: Schema = {"state": TEXT, "sentence": TEXT.or_absent(), "time": TEXT}
COSTS: Schema = {records.MORE: SECONDS}
REQUEST: Schema = {
    "command": TEXTS,
    "cells": Kind("a list of cells", _are_cells),
    "workers": COUNT,
    "process": COUNT,
    "host": TEXT,
    "started": TEXT,
}


@dataclass(frozen=True)
class Note:
    state: str
    sentence: str


class Store:
    """The folder --out."""

    def __init__(self, root: Path) -> None:
        self.root, self.own = root, root / "sweeps"

    # ---- cells -----------------------------------------------------------------------------------------------------

    def folder(self, cell: Cell) -> RunFolder:
        return RunFolder(self.root / cell.name)

    def finished(self, cell: Cell) -> bool:
        """Whether the run has its result.  A damaged file is for the run to report, when it is resumed."""
        folder = self.folder(cell)
        with contextlib.suppress(UsageError):
            return folder.finished() and folder.manifest()["options"].get("steps") == cell.steps
        return False

    def done(self, cell: Cell) -> bool:
        """Whether nothing is left to do: the run has its result, and its figures."""
        return self.finished(cell) and self.note(cell) is None

    def running(self, cell: Cell) -> bool:
        return self.folder(cell).lock.is_held()

    def progress(self, cell: Cell) -> dict[str, Any] | None:
        with contextlib.suppress(UsageError):
            return self.folder(cell).progress()
        return None

    # ---- notes -----------------------------------------------------------------------------------------------------

    def _note_path(self, cell: Cell) -> Path:
        return self.own / "cells" / f"{cell.name}.json"

    def note(self, cell: Cell) -> Note | None:
        path = self._note_path(cell)
        if not path.exists():
            return None
        try:
            note = read_json(path, NOTE, "a note on a cell")
        except UsageError:  # a damaged note still says that the cell did not end well
            return Note(STARTED, "")
        return Note(note["state"], note.get("sentence", ""))

    def write_note(self, cell: Cell, state: str, sentence: str = "") -> None:
        """On a full disk there is none: what it would say is printed anyway."""
        path = self._note_path(cell)
        with contextlib.suppress(UsageError, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"state": state, "sentence": sentence, "time": _now()})

    def remove_note(self, cell: Cell) -> None:
        with contextlib.suppress(OSError):
            self._note_path(cell).unlink(missing_ok=True)

    # ---- sweeps ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def sweeping(self, command: list[str], cells: list[Cell], workers: int) -> Iterator[None]:
        """Let others see this sweep; within the block they see that it is alive."""
        folder = RunFolder(self.own / records.digest(sorted(cell.name for cell in cells)))
        folder.make()
        about = {"command": command, "cells": [_as_json(cell) for cell in cells], "workers": workers}
        about |= {"process": os.getpid(), "host": socket.gethostname(), "started": _now()}
        path = folder.path / "request.json"
        try:
            write_json(path, about)
        except UsageError:
            if not path.exists():  # the same command, given twice at the same moment, writes the same
                raise
        with folder.lock.held(shared=True):
            yield

    def requests(self) -> list[Path]:
        return sorted(self.own.glob("*/request.json"), key=lambda path: path.stat().st_mtime)

    # ---- costs -----------------------------------------------------------------------------------------------------

    def read_costs(self) -> dict[str, float]:
        with contextlib.suppress(UsageError):
            return read_json(self.own / "costs.json", COSTS, "a list of costs")
        return {}

    def write_costs(self, costs: dict[str, float]) -> None:
        with contextlib.suppress(UsageError):
            write_json(self.own / "costs.json", self.read_costs() | costs)


@dataclass(frozen=True)
class Request:
    """A sweep as request.json describes it."""

    command: list[str]
    cells: list[Cell]
    workers: int
    process: int
    host: str
    started: str
    alive: bool

    @classmethod
    def read(cls, path: Path) -> Request:
        about = read_json(path, REQUEST, "the request of a sweep")
        cells = [
            Cell(cell["task"], cell["name"], tuple(cell["options"]), cell.get("steps"), cell["kind"])
            for cell in about["cells"]
        ]
        alive = FolderLock(path.parent).is_held()
        return cls(cells=cells, alive=alive, **{name: about[name] for name in REQUEST if name != "cells"})


def _as_json(cell: Cell) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(cell).items() if value is not None}


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")
