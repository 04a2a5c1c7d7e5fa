"""The command `minisets sweep`: a grid of runs, several at a time.

minisets sweep clustering --arch all --seeds 5                  every architecture with five seeds
minisets sweep max_regression --set lr=1e-3,3e-4 --jobs 2       two learning rates, two runs at a time
mpiexec -n 9 minisets sweep clustering --seeds 8                the same on eight workers, also of several machines
minisets sweep --status                                         how far it is, from another terminal

The runs are those of minisets train, in the same folders: what is finished is not run again.  Killed at any moment, the
same command goes on where each run stood.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from concurrent.futures import Executor
from dataclasses import dataclass

from autograd.threads import MOST as MOST_THREADS
from minisets.distributed import launched_processes
from tasks.harness.errors import UsageError
from tasks.harness.experiment import NAMES
from tasks.harness.parser import Parser, folder_name, reader
from tasks.harness.planning import RUNS
from tasks.harness.progress import report
from tasks.sweep import ranks, store
from tasks.sweep.grid import MOST, grid
from tasks.sweep.manager import Manager, stopped
from tasks.sweep.status import status
from tasks.sweep.store import Cell, Store
from tasks.sweep.view import view
from tasks.sweep.worker import gpus


@dataclass(frozen=True)
class Sweep:
    """What a command line asks for."""

    argv: list[str]
    given: argparse.Namespace
    cells: list[Cell]
    keep_order: bool = False  # the cells are in the order in which they are to run


def main(argv: list[str]) -> int:
    """0 if all cells are finished or the time is over, 1 if some failed, 2 for a bad request, 130 after Ctrl-C."""

    def prepared() -> Sweep | int:
        return prepare(argv)

    if launched_processes() > 1:
        return ranks.spread(prepared, perform)
    sweep = prepared()
    return sweep if isinstance(sweep, int) else perform(sweep)


def prepare(argv: list[str]) -> Sweep | int:
    """The sweep, if everything it needs is there; or the exit code of --status."""
    given = parse(argv)
    if given.status:
        return status(given.out)
    cells = grid(given.tasks, given.preset, given.arch, given.seed, given.seeds, given.set, given.out)
    return Sweep(["sweep", *argv], given, cells)


def perform(sweep: Sweep, executor: Executor | None = None, workers: int = 0) -> int:
    """Run the cells on this machine, or with the executor's workers."""
    given, cells, place = sweep.given, sweep.cells, Store(sweep.given.out)
    workers = workers or min(given.jobs or _room(cells, given.threads), len(cells))
    if given.retry:
        for cell in cells:
            if not place.finished(cell):
                place.remove_note(cell)
    with place.sweeping(sweep.argv, cells, workers):
        on = _count(workers, "rank") if executor else _count(workers, "process", "processes")
        report(f"sweep of {_count(len(cells), 'cell')} on {on}, {_count(given.threads, 'thread')} each -> {place.root}")
        manager = Manager(place, cells, workers, given.threads, given.hours, view(), executor, sweep.keep_order)
        manager.run()
    return _conclude(manager, given)


def _conclude(manager: Manager, given: argparse.Namespace) -> int:
    """Print what became of the cells."""
    done, total = len(manager.done), len(manager.cells)
    if manager.failed:
        report(f"{len(manager.failed)} of {total} cells failed:")
        for cell, sentence in manager.failed.items():
            report(f"  {cell.name}: {sentence}")
        diverged = [cell for cell in manager.failed if _diverged(manager.store, cell)]
        again = "the same command tries them again"
        if diverged:
            rest = "; it tries the others again" if len(diverged) < len(manager.failed) else ""
            again = f"--retry tries diverged cells again, the same command without it does not{rest}"
        report(f"  {again}")
    if manager.asked_to_stop and done + len(manager.failed) < total:
        print(f"minisets: {stopped(manager)}", file=sys.stderr)
        return 130
    if done + len(manager.failed) < total:
        report(f"the {given.hours:g} hours are over: {stopped(manager)}")
    else:
        where = "" if given.out == RUNS else f" --runs {given.out}"
        tables = "; ".join(f"minisets table {task}{where}" for task in dict.fromkeys(given.tasks))
        report(f"{done} of {total} cells are finished: {tables}")
    return 1 if manager.failed else 0


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def _diverged(place: Store, cell: Cell) -> bool:
    note = place.note(cell)
    return note is not None and note.state == store.DIVERGED


def _room(cells: list[Cell], threads: int) -> int:
    """How many runs this machine has room for: one on each GPU, or on as many cores as it has threads."""
    if any("--device=cuda" in cell.options for cell in cells):
        return max(1, len(gpus()))
    return max(1, cores() // threads)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---- reading the command line ---------------------------------------------------------------------------------------


def parse(argv: list[str]) -> argparse.Namespace:
    """The options, checked; tasks and options may come in any order."""
    parser = _parser()
    given, others = parser.parse_known_args(argv)
    if any(word.startswith("-") for word in others):
        parser.parse_args(argv)  # raises
    given.tasks += others
    if given.status and given.tasks:
        raise UsageError("--status shows all sweeps in the folder --out; leave out the experiments")
    if not given.tasks and not given.status:
        raise UsageError("expected the name of an experiment, or --status (see minisets sweep --help)")
    for name, least, most in (("seeds", 1, MOST), ("jobs", 1, MOST), ("threads", 1, MOST_THREADS), ("seed", 0, None)):
        value = getattr(given, name)
        if value is not None and value < least:
            raise UsageError(f"--{name} must be at least {least}, given {value}")
        if value is not None and most is not None and value > most:
            raise UsageError(f"--{name} must be at most {most:,}, given {value}")
    if given.hours is not None and not (given.hours > 0 and math.isfinite(given.hours)):
        raise UsageError(f"--hours must be a positive number, given {given.hours:g}")
    if given.out.exists() and not given.out.is_dir():
        raise UsageError(f"{given.out} is a file; --out takes a folder")
    return given


def _parser() -> Parser:
    parser = Parser(prog="minisets sweep", usage="minisets sweep TASK... [options]", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"{', '.join(NAMES)}, or module:ATTRIBUTE")
    text = "an architecture, or all; may be repeated (default: those of the preset)"
    parser.add_argument("--arch", action="append", metavar="LABEL", help=text)
    text = "number of seeds, starting at --seed (default: 1)"
    parser.add_argument("--seeds", type=reader(int), default=1, metavar="COUNT", help=text)
    parser.add_argument("--seed", type=reader(int), default=0, metavar="SEED", help="the first seed (default: 0)")
    parser.add_argument("--preset", metavar="NAME", help="preset of every experiment (default: its first)")
    text = "values of an option of minisets train; may be repeated, which makes a grid of all combinations"
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE,...", help=text)
    text = "runs at a time (default: one for every core, or GPU); under mpiexec, every rank but the first runs one"
    parser.add_argument("--jobs", type=reader(int), metavar="COUNT", help=text)
    parser.add_argument("--threads", type=reader(int), default=1, metavar="COUNT", help="of each run (default: 1)")
    text = "stop after so many hours, with everything saved; the same command goes on"
    parser.add_argument("--hours", type=reader(float), metavar="HOURS", help=text)
    text = "run diverged cells again as well; cells that failed for other reasons are always tried again"
    parser.add_argument("--retry", action="store_true", help=text)
    text = "show the sweeps in the folder, from another terminal for example, and change nothing"
    parser.add_argument("--status", action="store_true", help=text)
    parser.add_argument("--out", type=folder_name, default=RUNS, metavar="DIR", help=f"default: {RUNS}")
    return parser
