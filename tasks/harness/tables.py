"""Tables of results beside the paper's: as text, Markdown or JSON, made from the result.json files of runs.

Runs that differ in nothing but the seed make one row: mean ± standard deviation (of a sample) over the seeds.  A row
that is not the paper's protocol carries a mark, and a note below says where it departs.  Rows of runs that were not on
the real data say "synthetic stand-in".
"""

from __future__ import annotations

import dataclasses
import json as json_module
import re
import statistics
from types import ModuleType
from typing import Any

from tasks.harness import paper
from tasks.harness.experiment import find_task
from tasks.harness.options import STAND_IN, Settings, data_used, departures, plain
from tasks.harness.run_folder import Folder


def rows(task: str, runs: list[Folder]) -> list[dict[str, Any]]:
    """The table as data: references first, then every architecture that was trained or that the paper has."""
    module, printed = find_task(task), paper.TABLES.get(task, {})
    groups: dict[Settings, dict[int, dict]] = {}  # protocol and architecture -> seed -> result
    for folder in runs:
        if folder.result.exists():
            options = folder.options()
            protocol = dataclasses.replace(options, seed=0, device="cpu")  # a device changes the time, not the task
            groups.setdefault(protocol, {})[options.seed] = folder.outcome() | {"preset": folder.about()["preset"]}
    if _by(module):
        return _parts(task, module, printed, groups)
    return _references(module, printed, groups) + _networks(task, module, printed, groups)


def _by(module: ModuleType) -> str | None:
    """The option whose values are the columns of the paper's table, where a task has one: ours has rows for each."""
    return getattr(module, "TABLE_BY", None)


def _parts(task: str, module: ModuleType, printed: dict, groups: dict) -> list[dict[str, Any]]:
    """All architectures for each value of the option that was run; for each that the paper has, if none was."""
    name, (column,), table = _by(module), module.COLUMNS, []
    theirs = {re.sub(r" \([^()]*, \d{4}\)$", "", label): row for label, row in printed.items()}  # less the citations
    ours = {getattr(protocol, name) for protocol in groups}
    for value in sorted(ours or {int(value) for row in theirs.values() for value in row}):
        cells = {label: {column: row[str(value)]} for label, row in theirs.items() if str(value) in row}
        some = {protocol: seeds for protocol, seeds in groups.items() if getattr(protocol, name) == value}
        table += [row | {name: value} for row in _networks(task, module, cells, some)]
    return table


def _references(module: ModuleType, printed: dict, groups: dict[Settings, dict[int, dict]]) -> list[dict[str, Any]]:
    """What no network has a part in, once for each choice of the options that it depends on."""
    known: dict[tuple, tuple[Settings, dict]] = {}
    for protocol, seeds in groups.items():
        key = (data_used(protocol), *(getattr(protocol, name) for name in module.REFERENCE_OPTIONS))
        known.setdefault(key, (protocol, next(iter(seeds.values()))))
    table = []
    for label, columns in module.REFERENCES.items():
        row = {"label": label, "paper": printed.get(label, {}), "ours": {}, "preset": None}
        found = []
        for protocol, result in known.values():
            ours = {column: [result["metrics"][name]] for column, name in columns.items() if name in result["metrics"]}
            strange = {k: v for k, v in departures(protocol).items() if k in ("data", *module.REFERENCE_OPTIONS)}
            if ours:
                one = {"ours": _spread(ours), "preset": result["preset"], "departures": strange}
                found.append(row | one | _data(protocol))
        table += found or ([row] if label in printed else [])
    return table


def _networks(task: str, module: ModuleType, printed: dict, groups: dict) -> list[dict[str, Any]]:
    trained: dict[str, list] = {label: [] for label in module.LABELS}
    for protocol, seeds in groups.items():
        results = list(seeds.values())
        metrics = {name: [r["metrics"].get(name) for r in results] for name in module.COLUMNS}
        row = {
            "ours": _spread({name: values for name, values in metrics.items() if None not in values}),
            "preset": results[0]["preset"],
            "seeds": sorted(seeds),
            "steps": getattr(protocol, "steps", None),
            "seconds": statistics.mean(r["seconds"] for r in results),
            "departures": departures(protocol),
        } | _data(protocol)
        trained.setdefault(getattr(protocol, "arch", task), []).append(row)
    table = []
    for label, found in trained.items():
        row = {"label": label, "paper": printed.get(label, {})}
        found.sort(key=lambda one: len(one["departures"]))  # the paper's protocol first
        table += [row | one for one in found] or [row | {"ours": {}, "preset": None}]
    return table


def _data(protocol: Settings) -> dict[str, str]:
    return {"data": data_used(protocol)} if data_used(protocol) else {}


def _spread(metrics: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"mean": statistics.mean(values)} | ({"std": statistics.stdev(values)} if len(values) > 1 else {})
        for name, values in metrics.items()
    }


# ---- the three forms ----------------------------------------------------------------------------------------------


def json(task: str, runs: list[Folder]) -> str:
    return json_module.dumps({"task": task, "rows": rows(task, runs)}, indent=2, ensure_ascii=False)


def text(task: str, runs: list[Folder]) -> str:
    head, body, notes = _cells(task, runs)
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in [head, *body]]
    rule = "-" * sum(widths, 2 * len(widths) - 2)
    return "\n".join([find_task(task).TITLE, "", lines[0], rule, *lines[1:], "", *notes])


def markdown(task: str, runs: list[Folder]) -> str:
    head, body, notes = _cells(task, runs)
    lines = [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body]]
    return "\n".join([f"**{find_task(task).TITLE}**", "", *lines, "", *(f"{note}  " for note in notes)]).rstrip()


def _cells(task: str, runs: list[Folder]) -> tuple[list[str], list[list[str]], list[str]]:
    module, table = find_task(task), rows(task, runs)
    head = ["architecture", *filter(None, [_by(module)])]
    for name, heading in module.COLUMNS.items():
        head += [heading, "paper"] if any(name in row["paper"] for row in table) else [heading]
    head += ["seeds", "steps", "preset", "seconds"]
    notes, body = {}, []
    for row in table:
        strange, mark = row.get("departures"), ""
        if strange:
            said = ", ".join(
                f"{name} {plain(ours)} (paper: {plain(theirs)})" for name, (ours, theirs) in strange.items()
            )
            mark = " " + notes.setdefault(said, f"[{len(notes) + 1}]")
        line = [row["label"] + (f", {STAND_IN}" if row.get("data") == STAND_IN else "") + mark]
        if _by(module):
            line.append(plain(row[_by(module)]))
        for name in module.COLUMNS:
            line.append(_number(row["ours"].get(name)))
            if any(name in other["paper"] for other in table):
                line.append(row["paper"].get(name, "–").replace("-", "−"))
        seeds, steps, seconds = row.get("seeds"), row.get("steps"), row.get("seconds")
        line += [str(len(seeds)) if seeds else "", f"{steps:,}" if steps else "", row["preset"] or ""]
        body.append([*line, f"{seconds:,.0f}" if seconds is not None else ""])
    explained = [f"{mark} not the paper's protocol: {said}" for said, mark in notes.items()]
    return head, body, [*explained, *module.NOTES]


def _number(value: dict[str, float] | None) -> str:
    if value is None:
        return "–"
    spread = f" ± {value['std']:.4f}" if "std" in value else ""
    return f"{value['mean']:.4f}{spread}".replace("-", "−")
