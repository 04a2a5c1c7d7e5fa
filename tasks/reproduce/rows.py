"""The rows of the paper's tables, and how far some runs reproduce each of them.

A row is a network of one table; point clouds have one for each number of points.  Of several runs of a row, the one
nearest to the paper's protocol counts: at its protocol before reduced ones, of which the one with the most steps, and
synthetic stand-ins last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.harness import tables
from tasks.harness.experiment import NAMES, Experiment, find_experiment
from tasks.harness.options import STAND_IN
from tasks.harness.run_folder import find_runs

PROTOCOL, REDUCED, NOT_RUN = "at the paper's protocol", "reduced", "not run"
STATES = (PROTOCOL, REDUCED, STAND_IN, NOT_RUN)


@dataclass(frozen=True)
class PaperRow:
    """A row of a table in the paper."""

    task: str
    label: str
    value: int | None = None  # of the option that the table's columns are values of: the number of points
    printed: Mapping[str, str] | None = None  # metric -> "mean ± standard deviation"

    @property
    def experiment(self) -> Experiment:
        return find_experiment(self.task)

    def __str__(self) -> str:
        return self.label if self.value is None else f"{self.label}, {self.value:,} {self.experiment.table.by}"


@dataclass(frozen=True)
class RowState:
    """How far a row is reproduced."""

    row: PaperRow
    state: str
    run: tables.Row | None  # as tables.rows has it

    def distances(self) -> dict[str, float]:
        """Metric -> (ours − paper) / σ, with the paper's σ; positive if ours is better.  Stand-ins have none."""
        if self.run is None or self.state == STAND_IN:
            return {}
        sign = -1 if self.row.experiment.table.lower_is_better else 1
        found = {}
        for metric, cell in (self.row.printed or {}).items():
            mean, spread = mean_and_spread(cell)
            if metric in self.run["ours"] and spread:
                found[metric] = sign * (self.run["ours"][metric]["mean"] - mean) / spread
        return found


def mean_and_spread(cell: str) -> tuple[float, float | None]:
    """ "-1.5009 ± 0.0068" -> (-1.5009, 0.0068)"""
    mean, _, spread = cell.partition("±")
    return float(mean), float(spread) if spread else None


def paper_rows() -> list[PaperRow]:
    """All rows, in the order of the experiments and tables; those that the paper quotes from others left out."""
    found = []
    for task in NAMES:
        table, labels = find_experiment(task).table, find_experiment(task).rows
        for label in (label for label in labels if label in table.printed):
            cells = table.printed[label]
            if table.by is None:
                found.append(PaperRow(task, label, None, cells))
            else:
                (metric,) = table.columns
                found += [PaperRow(task, label, int(value), {metric: cell}) for value, cell in cells.items()]
    return found


def states(places: list[Path]) -> list[RowState]:
    """The state of every row, by the runs in these folders."""
    made: dict[tuple, list[tables.Row]] = {}
    for task in NAMES:
        experiment = find_experiment(task)
        runs = [run for run in find_runs(places, experiment) if run.finished()]
        for row in tables.rows(experiment, runs):
            if row["ours"]:
                made.setdefault((task, row["label"], row.get(experiment.table.by)), []).append(row)
    found = []
    for row in paper_rows():
        runs = sorted(made.get((row.task, row.label, row.value), []), key=_nearness)
        found.append(RowState(row, state_of(runs[0]) if runs else NOT_RUN, runs[0] if runs else None))
    return found


def state_of(run: Mapping[str, Any]) -> str:
    if run.get("data") == STAND_IN:
        return STAND_IN
    return REDUCED if run["deviations"] else PROTOCOL


def _nearness(run: Mapping[str, Any]) -> tuple:
    """What sorts the run that counts to the front."""
    return STATES.index(state_of(run)), -(run["steps"] or 0), -len(run["seeds"]), len(run["deviations"])


def how_reduced(run: Mapping[str, Any]) -> str:
    """The deviations in few words: "steps 10,000 of 200,000; lr 0.001 instead of 0.0001"."""
    found = []
    for text in run["deviations"]:
        match = re.fullmatch(r"(\w+) (.+) \((?:paper|not in the paper; default): (.+)\)", text)
        if match and match[1] != "data":
            joint = "of" if match[1] == "steps" else "instead of"
            found.append(f"{match[1]} {match[2]} {joint} {match[3]}")
        elif not match:
            found.append(text)
    return "; ".join(found)
