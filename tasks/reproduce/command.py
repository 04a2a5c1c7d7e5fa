"""The command `minisets reproduce`: how far your runs reproduce the paper, and what is missing.

minisets reproduce                  the state of the paper's 64 rows; commands, hours and memory for what is missing
minisets reproduce --hours 8        start the most valuable runs that fit into eight hours; again, to go on

What is started are the runs of minisets train, in OUT/TASK/..., several at a time as by minisets sweep: killed at any
moment, the same command goes on.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from tasks.harness import machine
from tasks.harness.errors import UsageError
from tasks.harness.parser import Parser, folder_name, reader
from tasks.harness.planning import RUNS, PlannedRun
from tasks.harness.progress import report as say
from tasks.reproduce import costs, report
from tasks.reproduce.rows import states
from tasks.sweep.command import Sweep, cores, perform
from tasks.sweep.grid import cell_of, check
from tasks.sweep.store import Store


def main(argv: list[str]) -> int:
    given = parse(argv)
    places = given.runs or ([given.out] if given.out.is_dir() else [])
    if given.hours is not None:
        return start(argv, given, places)
    found = states(places)
    print(getattr(report, given.format)(found))
    if given.format == "text":
        plans = report.missing(places, given.out)
        print("\nMissing, the most valuable first: hours of one core of this machine, and memory (both estimated)")
        print("\n".join(report.commands(plans, costs.slowness())) if plans else "  nothing")
    return 0


def start(argv: list[str], given: argparse.Namespace, places: list[Path]) -> int:
    """Run what fits."""
    jobs = given.jobs or cores()
    plans = fitting(report.missing(places, given.out), given.hours * jobs, jobs, Store(given.out))
    if not plans:
        raise UsageError(f"no run that is missing fits into {given.hours:g} hours; minisets reproduce lists them all")
    check(plans)
    cells = [cell_of(plan.folder.experiment.name, plan, given.out) for plan in plans]
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    options = {"jobs": jobs, "threads": 1, "hours": given.hours, "retry": False, "out": given.out, "tasks": tasks}
    return perform(Sweep(["reproduce", *argv], argparse.Namespace(**options), cells, keep_order=True))


def fitting(plans: list[PlannedRun], hours: float, jobs: int, store: Store) -> list[PlannedRun]:
    """The first runs that fit into so many hours of one core; those too long, too large or without data left out."""
    slowness, chosen = costs.slowness(), []
    for plan in plans:
        name = f"{plan.folder.experiment.name}, {plan.title}, seed {plan.config.seed}"
        cost = costs.cost(plan, slowness)
        if not report.data_is_here(plan):
            say(f"  left out, {plan.config.data} is not here: {name}")
        elif cost is not None and cost.gigabytes * jobs * 1e9 > machine.memory():
            say(f"  left out, needs about {cost.gigabytes:.0f} GB: {name}")
        elif cost is not None and cost.hours * _left(plan) <= hours:
            hours -= cost.hours * _left(plan)
            chosen.append(plan)
    return chosen


def _left(plan: PlannedRun) -> float:
    """The fraction of a run's steps that it still has to take."""
    try:
        progress = plan.folder.progress()
    except UsageError:  # it was not begun
        return 1.0
    return 1 - progress.get("saved", 0) / max(progress["steps"], 1)


def parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="minisets reproduce", description=__doc__)
    text = "folders to search for runs (default: the folder --out)"
    parser.add_argument("--runs", nargs="+", type=Path, metavar="DIR", help=text)
    parser.add_argument("--format", choices=("text", "markdown"), default="text", help="default: text")
    text = "start the most valuable missing runs that fit into so many hours"
    parser.add_argument("--hours", type=reader(float), metavar="HOURS", help=text)
    text = "runs at a time (default: one for every core)"
    parser.add_argument("--jobs", type=reader(int), metavar="COUNT", help=text)
    parser.add_argument("--out", type=folder_name, default=RUNS, metavar="DIR", help=f"default: {RUNS}")
    given = parser.parse_args(argv)
    if given.hours is not None and not (given.hours > 0 and math.isfinite(given.hours)):
        raise UsageError(f"--hours must be a positive number, given {given.hours:g}")
    if given.jobs is not None and given.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, given {given.jobs}")
    return given
