"""Tables of results beside the paper's: as text, Markdown or JSON, made from the result.json files of runs.

Runs that differ in nothing but the seed make one row: mean ± standard deviation (of a sample) over the seeds.  A row
that is not the paper's protocol carries a mark, and a note below says where it departs.
"""

from __future__ import annotations

import json as json_module
import statistics
from typing import Any

from tasks import paper
from tasks.folder import Folder, read_json
from tasks.options import UsageError, plain
from tasks.registry import find_task


def rows(task: str, runs: list[Folder]) -> list[dict[str, Any]]:
    """The table as data: references first, then every architecture that was trained or that the paper has."""
    module, printed = find_task(task), paper.TABLES.get(task, {})
    groups: dict[str, list[dict]] = {}
    for folder in runs:
        if folder.result.exists():
            result = _result(folder)
            key = {name: value for name, value in result["options"].items() if name not in ("seed", "device")}
            groups.setdefault(json_module.dumps(key, sort_keys=True), []).append(result)

    table = []
    for label, metrics in module.REFERENCES.items():
        found = {r["preset"]: {column: [r["metrics"][name]] for column, name in metrics.items() if name in r["metrics"]}
                 for group in groups.values() for r in group}  # fmt: skip
        shown = [(preset, _spread(values)) for preset, values in found.items() if values] or [(None, {})]
        for preset, ours in shown:
            if ours or label in printed:
                table.append({"label": label, "ours": ours, "paper": printed.get(label, {}), "preset": preset})
    trained = {label: [] for label in module.LABELS}
    for group in groups.values():
        trained.setdefault(group[0]["options"].get("arch", task), []).append(group)
    for label, found in trained.items():
        row = {"label": label, "paper": printed.get(label, {})}
        table += [row | _row(group, list(module.COLUMNS)) for group in found] or [row | {"ours": {}, "preset": None}]
    return table


def _row(group: list[dict], columns: list[str]) -> dict[str, Any]:
    first, together = group[0], {name: [r["metrics"].get(name) for r in group] for name in columns}
    return {
        "ours": _spread({name: values for name, values in together.items() if None not in values}),
        "preset": first["preset"],
        "seeds": sorted(r["options"]["seed"] for r in group),
        "steps": first["options"].get("steps"),
        "seconds": statistics.mean(r["seconds"] for r in group),
        "departures": first["departures"],
    }


def _spread(metrics: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"mean": statistics.mean(values)} | ({"std": statistics.stdev(values)} if len(values) > 1 else {})
        for name, values in metrics.items()
    }


def _result(folder: Folder) -> dict[str, Any]:
    result = read_json(folder.result)
    expected = {"task", "preset", "options", "metrics", "seconds", "departures"}
    if not isinstance(result, dict) or not expected <= result.keys():
        raise UsageError(f"{folder.result} is not the result of a run")
    return result


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
    head = ["architecture"]
    for name, heading in module.COLUMNS.items():
        head += [heading, "paper"] if any(name in row["paper"] for row in table) else [heading]
    head += ["seeds", "steps", "preset", "seconds"]
    notes, body = {}, []
    for row in table:
        departures = row.get("departures") or {}
        mark = ""
        if departures:
            said = ", ".join(
                f"{name} {plain(ours)} (paper: {plain(theirs)})" for name, (ours, theirs) in departures.items()
            )
            mark = " " + notes.setdefault(said, "*" * (len(notes) + 1))
        line = [row["label"] + mark]
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
