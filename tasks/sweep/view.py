"""What a sweep shows: a block of lines that is drawn again and again on a terminal, quiet lines anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass, field

from tqdm import tqdm

from minisets.distributed import launched_processes
from tasks.harness.errors import printable
from tasks.harness.progress import report
from tasks.sweep import ranks

LONGEST = 3600.0 * 9_999  # seconds that are shown: whatever was measured, it is a number
QUIET = 300.0  # seconds between summaries when the output is not a terminal


@dataclass(frozen=True)
class Line:
    """A cell that is running, here or elsewhere."""

    name: str
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    left: float | None = None

    def numbers(self) -> str:
        parts = [] if self.step is None or self.steps is None else [f"step {self.step:,}/{self.steps:,}"]
        parts += [] if self.loss is None else [f"loss {self.loss:.4g}"]
        parts += [] if self.left is None else [f"{interval(self.left)} left"]
        return "  ".join(parts) or "starting"


@dataclass(frozen=True)
class Snapshot:
    """A sweep at one moment."""

    total: int
    done: int
    waiting: int
    left: float
    exact: bool  # False: some cells were never timed, and the rest takes at least so long
    running: list[Line] = field(default_factory=list)
    elsewhere: list[Line] = field(default_factory=list)  # in another process, of another sweep perhaps
    failed: dict[str, str] = field(default_factory=dict)  # name -> sentence
    doing: str = ""  # instead of the time left

    def summary(self) -> str:
        counts = {"running": self.running, "running elsewhere": self.elsewhere, "failed": self.failed}
        parts = [f"{self.done} of {self.total} cells done"]
        parts += [f"{len(some)} {what}" for what, some in counts.items() if some]
        parts += [f"{self.waiting} waiting"] if self.waiting else []
        if self.doing:
            parts.append(self.doing)
        elif self.left > 0:
            parts.append(f"{'about' if self.exact else 'at least'} {interval(self.left)} left")
        return ", ".join(parts)


def interval(seconds: float) -> str:
    return tqdm.format_interval(int(min(seconds, LONGEST)))


def lines(snapshot: Snapshot, width: int, height: int) -> list[str]:
    """The block: a summary, then the running cells, then the failed ones; it fits the terminal."""
    active = [("running", line) for line in snapshot.running] + [("elsewhere", line) for line in snapshot.elsewhere]
    longest = max((len(line.name) for _, line in active), default=0)
    numbers = max((len(line.numbers()) for _, line in active), default=0)
    room = max(12, min(longest, width - 15 - numbers))  # for the names, beside the rest of a line
    body = [f"  {what:9} {_short(line.name, room):{room}}  {line.numbers()}" for what, line in active]
    for name, sentence in snapshot.failed.items():
        body.append(f"  {'failed':9} {_short(name, max(12, width // 2))}: {printable(sentence, 2_000)}")
    if len(body) > height - 2:
        kept = max(0, height - 3)
        body = [*body[:kept], f"  … and {len(body) - kept} more"]
    return [_start_of(line, width - 1) for line in [snapshot.summary(), *body]]


def _start_of(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _short(name: str, width: int) -> str:
    """A folder's name, without its parents if it does not fit."""
    return name if len(name) <= width else _start_of(f"…/{name.rpartition('/')[2]}", width)


class View:
    """Where the output is a file or a pipe: a line when something happens, and a summary now and then."""

    every = QUIET

    def __init__(self) -> None:
        self.shown = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to show the state again."""
        return time.monotonic() >= self.shown + self.every

    def show(self, snapshot: Snapshot) -> None:
        self.shown = time.monotonic()
        report(f"  {snapshot.summary()}")

    def event(self, text: str) -> None:
        report(f"  {text}")

    def end(self) -> None:
        pass


class TerminalView(View):
    """The block; what happens can be seen there."""

    every = 0.5

    def __init__(self, size: os.terminal_size | None = None) -> None:
        self.shown, self.height, self.size = 0.0, 0, size

    def show(self, snapshot: Snapshot) -> None:
        self.shown = time.monotonic()
        size = self.size or shutil.get_terminal_size()
        self._draw(lines(snapshot, size.columns, size.lines))

    def _draw(self, block: list[str]) -> None:
        back = f"\x1b[{self.height}F" if self.height else ""  # to the first line of the block before
        report(back + "".join(f"{line}\x1b[K\n" for line in block) + "\x1b[J\x1b[1A")
        self.height = len(block)

    def event(self, text: str) -> None:
        pass

    def end(self) -> None:
        """Leave the terminal as it was: what is printed from now on takes the place of the block."""
        self._draw([])


def view() -> View:
    """The view that fits the output; under mpiexec every output looks like a terminal, so its own is asked for."""
    if launched_processes() > 1:
        size = ranks.terminal_size()
        return TerminalView(size) if size else View()
    return TerminalView() if sys.stdout.isatty() else View()
