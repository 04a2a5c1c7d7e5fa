"""The course of a sweep: which cell runs next, what is written when one ends, and how all of it stops."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait

from tasks.harness.errors import UsageError
from tasks.harness.experiment import find_experiment
from tasks.harness.progress import Signals
from tasks.harness.run_folder import RunFolder
from tasks.harness.train import summary
from tasks.sweep import costs, store
from tasks.sweep.child import BUSY, DIVERGED, INTERRUPTED
from tasks.sweep.store import Cell, Store
from tasks.sweep.view import Line, Snapshot, View
from tasks.sweep.worker import CHILDREN, run_child

TICK, POLL = 0.1, 1.0  # seconds between looks at the workers, and at cells that run elsewhere
REHEARSAL = 60.0  # seconds, the longest that measuring a kind of cell may take, loading its data included


class Manager:
    """Gives cells to workers until all have ended, the time is over, or a signal asks to stop."""

    def __init__(
        self,
        store: Store,
        cells: list[Cell],
        workers: int,
        threads: int,
        hours: float | None,
        view: View,
        executor: Executor | None,
        keep_order: bool = False,
    ) -> None:
        self.keep_order = keep_order  # otherwise the longest cells come first
        self.store, self.cells, self.workers, self.threads, self.view = store, cells, workers, threads, view
        self.executor, self.remote = executor or ThreadPoolExecutor(workers), executor is not None
        self.deadline = None if hours is None else time.monotonic() + 3600 * hours
        self.asked_to_stop = self.told = False
        self.waiting: list[Cell] = []
        self.running: dict[Future, tuple[Cell, int]] = {}  # with the number of its worker
        self.elsewhere: list[Cell] = []
        self.done: list[Cell] = []
        self.failed: dict[Cell, str] = {}
        self.polled = 0.0

    # ---- the loop --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Afterwards `done`, `failed` and `waiting` say how far it came; what is waiting can be gone on with."""
        with Signals(self):
            try:
                self._sort()
                self._measure()
                self._loop()
            except KeyboardInterrupt:  # the second signal
                CHILDREN.stop(at_once=True)
                self._loop()
            except BaseException:
                CHILDREN.stop()  # or the error would be shown only when they have ended by themselves
                raise
            finally:
                self.view.end()
                self.executor.shutdown(cancel_futures=True)
                CHILDREN.welcome()

    def _sort(self) -> None:
        """Divide the cells into finished, diverged and others, which are put in order."""
        for cell in self.cells:
            note = self.store.note(cell)
            if self.store.done(cell):
                self.done.append(cell)
            elif note and note.state == store.DIVERGED:
                self.failed[cell] = note.sentence
            else:
                self.waiting.append(cell)
        self.costs = costs.Costs(self.store, self.cells)
        if not self.keep_order:
            self.waiting = self.costs.longest_first(self.waiting)

    def _measure(self) -> None:
        """Take a few steps of each kind of cell that was never timed, if it decides which cell comes first."""
        unknown = self.costs.unknown(self.waiting) if len(self.waiting) > self.workers else []
        if not unknown or self.keep_order:
            return
        self.view.event(f"timing a few steps of {len(unknown)} kinds of cells, to start with the longest")
        kinds = {}
        for i, cell in enumerate(unknown):
            words = ["rehearse", cell.task, *cell.options]
            kinds[self.executor.submit(run_child, words, self.threads, i % self.workers, REHEARSAL)] = cell.kind
        pending = set(kinds)
        while pending:
            _, pending = wait(pending, timeout=TICK)
            self._show("timing a few steps of each kind first")
            if self._ending():
                pending -= {future for future in pending if future.cancel()}
                CHILDREN.stop()
        self.costs.learn(dict(_measured(kinds)))
        self.waiting = self.costs.longest_first(self.waiting)

    def _loop(self) -> None:
        while self.running or (not self._ending() and (self.waiting or self.elsewhere)):
            if self._ending():
                self._stop()
            else:
                self._start_more()
            if self.running:
                for future in wait(self.running, timeout=TICK, return_when=FIRST_COMPLETED).done:
                    self._end_of(future)
            elif self.elsewhere:
                time.sleep(TICK)
            self._look_elsewhere()
            self._show()

    def _ending(self) -> bool:
        return self.asked_to_stop or self._time_is_over()

    def _time_is_over(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _stop(self) -> None:
        """Ask what runs here to save and end; under mpiexec the ranks go, and their children do the same."""
        if self.asked_to_stop and self.remote:
            self.view.end()
            print(f"minisets: {stopped(self)}", file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)
        if self.asked_to_stop and not self.told:
            self.told = True
            CHILDREN.stop()

    # ---- one cell --------------------------------------------------------------------------------------------------

    def _start_more(self) -> None:
        while self.waiting and len(self.running) < self.workers:
            cell = self.waiting.pop(0)
            note = self.store.note(cell)
            if self.store.running(cell):
                self.view.event(f"running elsewhere: {cell.name}")
                self.elsewhere.append(cell)
            elif self.store.done(cell):  # another sweep was here
                self._count(cell)
            elif note and note.state == store.DIVERGED:
                self._fail(cell, note.sentence)
            else:
                self._start(cell)

    def _start(self, cell: Cell) -> None:
        self.store.write_note(cell, store.STARTED)
        slot = min(set(range(self.workers)) - {slot for _, slot in self.running.values()})
        words = ["train", cell.task, *cell.options, "--resume", f"--out={self.store.root / cell.name}"]
        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        self.running[self.executor.submit(run_child, words, self.threads, slot, left)] = cell, slot
        self.view.event(f"started: {cell.name}")

    def _end_of(self, future: Future) -> None:
        cell, _ = self.running.pop(future)
        error = future.exception()
        code, sentence = (1, f"its process could not be run: {error}") if error else future.result()
        if code == 0:
            self.store.remove_note(cell)
            self._count(cell)
        elif code == BUSY:
            self.elsewhere.append(cell)
        elif self._ending() and (code == INTERRUPTED or code < 0):
            self.waiting.insert(0, cell)
        else:
            self.store.write_note(cell, store.DIVERGED if code == DIVERGED else store.FAILED, sentence)
            self._fail(cell, sentence)

    def _count(self, cell: Cell) -> None:
        self.done.append(cell)
        self.view.event(f"finished: {cell.name}{self._metrics(cell)}")

    def _fail(self, cell: Cell, sentence: str) -> None:
        self.failed[cell] = sentence
        self.view.event(f"failed: {cell.name}: {sentence}")

    def _metrics(self, cell: Cell) -> str:
        with contextlib.suppress(UsageError):
            experiment = find_experiment(cell.task)
            result = RunFolder(self.store.root / cell.name, experiment).result()
            return f" ({summary(experiment, result['metrics'])})"
        return ""

    def _look_elsewhere(self) -> None:
        """Count cells that another process has finished, and take over those that it left unfinished."""
        if not self.elsewhere or time.monotonic() < self.polled + POLL:
            return
        self.polled = time.monotonic()
        free = [cell for cell in self.elsewhere if not self.store.running(cell)]
        self.elsewhere = [cell for cell in self.elsewhere if cell not in free]
        self.waiting += free  # where a finished one is noticed

    # ---- what is shown ---------------------------------------------------------------------------------------------

    def _show(self, doing: str = "") -> None:
        if self.view.due():
            doing = "stopping, everything is being saved" if self._ending() else doing
            running = [cell for cell, _ in self.running.values()]
            self.view.show(
                snapshot(self.costs, self.workers, len(self.cells), len(self.done), running, self.elsewhere,
                         self.waiting, {cell.name: text for cell, text in self.failed.items()}, doing)
            )  # fmt: skip


def _measured(kinds: dict[Future, str]) -> Iterable[tuple[str, float]]:
    """What the rehearsals that went well have measured."""
    for future, kind in kinds.items():
        if not future.cancelled() and not future.exception():
            code, text = future.result()
            with contextlib.suppress(ValueError, IndexError):
                if code == 0:
                    yield kind, float(text.split()[0])


def snapshot(
    costs_: costs.Costs,
    workers: int,
    count: int,
    done: int,
    running: list[Cell],
    elsewhere: list[Cell],
    waiting: list[Cell],
    failed: dict[str, str],
    doing: str = "",
) -> Snapshot:
    """A sweep at this moment, from the files of its cells."""

    def line(cell: Cell) -> Line:
        progress = costs_.store.progress(cell) or {}
        return Line(cell.name, progress.get("step"), cell.steps, progress.get("loss"), costs_.left(cell, running=True))

    here, there = [line(cell) for cell in running], [line(cell) for cell in elsewhere]
    left, exact = costs.total(workers, [one.left for one in here], [costs_.left(cell) for cell in waiting])
    left = max([left, *(one.left or 0.0 for one in there)])
    exact = exact and all(one.left is not None for one in there)
    return Snapshot(count, done, len(waiting), left, exact, here, there, failed, doing)


def stopped(manager: Manager) -> str:
    return (
        f"stopped with everything saved, {len(manager.done)} of {len(manager.cells)} cells are finished; "
        "the same command goes on"
    )
