"""The state of the paper's rows as text and Markdown, and the commands for what is missing."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tasks.harness.experiment import NAMES, find_experiment
from tasks.harness.planning import PlannedRun, train_command
from tasks.harness.run_folder import find_runs
from tasks.reproduce.costs import Cost, cost
from tasks.reproduce.plan import planned, same_run
from tasks.reproduce.rows import STATES, RowState, how_reduced


def summary(found: list[RowState]) -> str:
    counts = Counter(one.state for one in found)
    parts = [f"{counts[state]} {'on a ' * state.startswith('synthetic')}{state}" for state in STATES]
    return f"Of the paper's {len(found)} rows, {', '.join(parts)}."


def text(found: list[RowState]) -> str:
    """Every row with its state, ours, the paper's and the distance."""
    lines = [summary(found)]
    for task, rows in itertools.groupby(found, key=lambda one: one.row.task):
        lines += ["", f"{task}: {find_experiment(task).title}"]
        for one in rows:
            lines.append(f"  {one.row!s:38}  {one.state:23}  {'; '.join(_compared(one))}".rstrip())
            if one.run and one.run["deviations"]:
                lines.append(f"  {'':38}    {how_reduced(one.run)}".rstrip())
    return "\n".join(lines)


def markdown(found: list[RowState]) -> str:
    """The page docs/results/rows.md."""
    lines = ["# The paper's rows, one by one", "", summary(found) + " " + _EXPLANATION]
    for task, group in itertools.groupby(found, key=lambda one: one.row.task):
        rows = list(group)
        lines += ["", f"## {find_experiment(task).title}", "", f"All runs: [{task}.md]({task}.md).", ""]
        lines += [
            "| row | state | ours, the paper's, distance | seeds | commit | command |",
            "|---|---|---|---|---|---|",
        ]
        for one in rows:
            reduced = f": {how_reduced(one.run)}" if one.run and one.run["deviations"] else ""
            seeds = len(one.run["seeds"]) if one.run else ""
            commits = ", ".join(commit[:7] for commit in one.run["commits"]) if one.run else ""
            command = f"`{one.run['command']}`" if one.run else ""
            cells = "<br>".join(_compared(one))
            lines.append(f"| {one.row} | {one.state}{reduced} | {cells} | {seeds} | {commits} | {command} |")
    return "\n".join(lines)


_EXPLANATION = (
    "The distance is (ours − paper's) / σ with the standard deviation that the paper prints, called better or worse by "
    "what the number means. One seed has its own spread: a distance below about two says little. *Reduced* rows name "
    "all that was changed; each row can be made again by the command beside it. Of several runs of a row, the one "
    "nearest to the paper's protocol is shown. Runs without a commit were made before results recorded it."
)


def _compared(one: RowState) -> Iterator[str]:
    """LL0 −1.4989 (paper −1.5009 ± 0.0068, 0.3 σ better)"""
    distances = one.distances()
    for metric, cell in (one.row.printed or {}).items():
        cell = cell.replace("-", "−")
        if one.run is None or metric not in one.run["ours"]:
            yield f"{metric}: paper {cell}"
            continue
        ours = f"{one.run['ours'][metric]['mean']:.4f}".replace("-", "−")
        far = distances.get(metric)
        distance = "" if far is None else f", {abs(far):.1f} σ {'better' if far >= 0 else 'worse'}"
        yield f"{metric} {ours} (paper {cell}{distance})"


# ---- what is missing ------------------------------------------------------------------------------------------------


def missing(places: list[Path], out: Path) -> list[PlannedRun]:
    """The runs of the plan that are in none of the folders, in the plan's order."""
    finished: dict[str, list] = {task: [] for task in NAMES}
    for run in find_runs(places):
        if run.manifest()["task"] in NAMES and run.finished():
            finished[run.manifest()["task"]].append(run.options())
    return [
        plan
        for plan in planned(out)
        if not any(same_run(plan.config, other) for other in finished[plan.folder.experiment.name])
    ]


def commands(plans: Iterable[PlannedRun], slowness: float) -> Iterator[str]:
    """A line for every part of the plan: its hours on one core, its memory, its data, and the command."""
    for runs in _alike(plans):
        first, total = runs[0], add([cost(plan, slowness) for plan in runs])
        archs = list(dict.fromkeys(getattr(plan.config, "arch", "") for plan in runs))
        seeds = sorted({plan.config.seed for plan in runs})
        command = train_command(first.folder.experiment, first.preset, first.config, seeds, archs)
        absent = "" if data_is_here(first) else f"   (needs {first.config.data}: see minisets data list)"
        yield f"  {total or 'not measured'!s:16}  {command}{absent}"


def _alike(plans: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """Runs that one command trains: of the same part of the plan and, for each architecture, with the same seeds."""
    parts: dict[Path, dict[str, list[PlannedRun]]] = {}
    for plan in plans:
        archs = parts.setdefault(plan.folder.path.parent, {})
        archs.setdefault(getattr(plan.config, "arch", ""), []).append(plan)
    for archs in parts.values():
        same_seeds: dict[tuple[int, ...], list[PlannedRun]] = {}
        for runs in archs.values():
            same_seeds.setdefault(tuple(plan.config.seed for plan in runs), []).extend(runs)
        yield from same_seeds.values()


def data_is_here(plan: PlannedRun) -> bool:
    return getattr(plan.config, "data_is_present", lambda: True)()


def add(costs: list[Cost | None]) -> Cost | None:
    """The hours of all, the memory of the largest."""
    if None in costs:
        return None
    return Cost(sum(one.hours for one in costs), max(one.gigabytes for one in costs))
