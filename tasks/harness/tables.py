"""Tables of results beside the paper's: as text, Markdown or JSON, made from the result.json files of runs.

Runs that differ only in the seed make one row: mean ± standard deviation (of a sample) over the seeds.  A row that does
not follow the paper's protocol carries a mark in the cell of its preset, and a note below lists every deviation.  Rows
of runs on stand-in data say "synthetic stand-in".  Runs of one preset that differ in other options, as those of a sweep
do, are told apart in a column of their own.
"""

from __future__ import annotations

import dataclasses
import json as json_module
import re
import statistics
import textwrap
from collections.abc import Iterable
from typing import Any

from tasks.harness.experiment import NAMES, Experiment, Table
from tasks.harness.options import STAND_IN, Deviation, Settings, data_used, deviations, readable
from tasks.harness.planning import train_command
from tasks.harness.run_folder import RunFolder

Row = dict[str, Any]
Groups = dict[tuple[Settings, tuple[str, ...]], dict[int, dict]]  # protocol, further remarks -> seed -> result


def rows(experiment: Experiment, runs: Iterable[RunFolder]) -> list[Row]:
    """The table as data: references first, then every architecture that was trained or that the paper has."""
    groups: Groups = {}
    for folder in runs:
        if folder.finished():
            options, result = folder.options(), folder.result()
            protocol = dataclasses.replace(options, seed=0, device="cpu")  # a device changes the time, not the task
            remarks = [folder.note()] if folder.note() else []
            if result.get("extended_from"):
                remarks.append(f"extended from {', '.join(map(readable, result['extended_from']))} steps")
            about = {"preset": folder.manifest()["preset"]}
            groups.setdefault((protocol, tuple(remarks)), {})[options.seed] = result | about
    if experiment.table.by:
        return _sections(experiment, groups)
    printed = dict(experiment.table.printed)
    return _references(experiment, printed, groups) + _networks(experiment, printed, groups)


def _sections(experiment: Experiment, groups: Groups) -> list[Row]:
    """All architectures, for each value of the option that the paper's columns are values of; runs or not."""
    table = experiment.table
    (column,) = table.columns
    printed = {int(value) for row in table.printed.values() for value in row}
    found = []
    for value in sorted({getattr(protocol, table.by) for protocol, _ in groups} | printed):
        cells = {label: {column: row[str(value)]} for label, row in table.printed.items() if str(value) in row}
        some = {key: seeds for key, seeds in groups.items() if getattr(key[0], table.by) == value}
        found += [row | {table.by: value} for row in _networks(experiment, cells, some)]
    return found


def _references(experiment: Experiment, printed: dict, groups: Groups) -> list[Row]:
    """Rows without a network, one for each combination of the options that they depend on."""
    table = experiment.table
    known: dict[tuple, tuple[Settings, dict]] = {}
    for (protocol, _), seeds in groups.items():
        key = (data_used(protocol), *(getattr(protocol, name) for name in table.reference_options))
        known.setdefault(key, (protocol, next(iter(seeds.values()))))
    found = []
    for label, columns in table.references.items():
        row = {"label": label, "paper": printed.get(label, {}), "ours": {}, "preset": None}
        measured = []
        for protocol, result in known.values():
            ours = {column: [result["metrics"][name]] for column, name in columns.items() if name in result["metrics"]}
            relevant = ("data", *table.reference_options)
            notes = [_note(table, d) for d in deviations(protocol, also=relevant) if d.name in relevant]
            if ours:
                about = {"ours": _spread(ours), "preset": result["preset"], "deviations": notes}
                measured.append(row | about | _data(protocol))
        found += measured or ([row] if label in printed else [])
    return found


def _networks(experiment: Experiment, printed: dict, groups: Groups) -> list[Row]:
    quoted = [label for label in printed if _quoted(label)]  # rows that the paper took from another paper
    trained: dict[str, list[Row]] = {label: [] for label in (*quoted, *experiment.rows)}
    varied = _varied(experiment, groups)
    for (protocol, remarks), seeds in groups.items():
        results = list(seeds.values())
        metrics = {name: [r["metrics"].get(name) for r in results] for name in experiment.table.columns}
        notes = [*(_note(experiment.table, deviation) for deviation in deviations(protocol)), *remarks]
        row = {
            "ours": _spread({name: values for name, values in metrics.items() if None not in values}),
            "preset": results[0]["preset"],
            "seeds": sorted(seeds),
            "steps": getattr(protocol, "steps", None),
            "seconds": statistics.mean(r["seconds"] for r in results),
            "deviations": notes,
            "commits": sorted({r["source"]["commit"] for r in results if r.get("source")}),
        } | _data(protocol)
        if experiment.name in NAMES:  # one from outside is trained by another name, which no run knows
            row["command"] = train_command(experiment, results[0]["preset"], protocol, sorted(seeds))
        names = varied[_label(experiment, protocol), row["preset"]]
        row |= {"varied": {name: getattr(protocol, name) for name in names}} if names else {}
        trained.setdefault(_label(experiment, protocol), []).append(row)
    table = []
    for label, found in trained.items():
        row = {"label": label, "paper": printed.get(label, {})}
        found.sort(key=lambda one: len(one["deviations"]))  # the paper's protocol first
        table += [row | one for one in found] or [row | {"ours": {}, "preset": None}]
    return table


def _label(experiment: Experiment, protocol: Settings) -> str:
    return getattr(protocol, "arch", experiment.name)


def _varied(experiment: Experiment, groups: Groups) -> dict[tuple[str, str], list[str]]:
    """Label and preset -> the options in which their rows differ, but for those that the table shows anyway."""
    together: dict[tuple[str, str], list[dict]] = {}
    for (protocol, _), seeds in groups.items():
        preset = next(iter(seeds.values()))["preset"]
        together.setdefault((_label(experiment, protocol), preset), []).append(dataclasses.asdict(protocol))
    shown = ("steps", "data", experiment.table.by)
    return {
        key: [name for name in some[0] if name not in shown and len({options[name] for options in some}) > 1]
        for key, some in together.items()
    }


def _note(table: Table, deviation: Deviation) -> str:
    """The deviation as text; an experiment that is in no paper has only defaults to deviate from."""
    if table.printed or deviation.stated:
        return str(deviation)
    return f"{deviation.name} {readable(deviation.ours)} (default: {readable(deviation.protocol)})"


def _quoted(label: str) -> bool:
    """Whether a label ends with a citation: "rFF + Pooling (Zaheer et al., 2017)"."""
    return bool(re.search(r"\([^()]*, \d{4}\)$", label))


def _data(protocol: Settings) -> dict[str, str]:
    return {"data": data_used(protocol)} if data_used(protocol) else {}


def _spread(metrics: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"mean": statistics.mean(values)} | ({"std": statistics.stdev(values)} if len(values) > 1 else {})
        for name, values in metrics.items()
    }


# ---- as text, Markdown and JSON -------------------------------------------------------------------------------------


def json(experiment: Experiment, runs: list[RunFolder]) -> str:
    about = {"task": experiment.name, "rows": rows(experiment, runs)}
    return json_module.dumps(about, indent=2, ensure_ascii=False)


def text(experiment: Experiment, runs: list[RunFolder]) -> str:
    head, body, notes = _cells(experiment, runs)
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in [head, *body]]
    rule = "-" * sum(widths, 2 * len(widths) - 2)
    wrapped = [line for note in notes for line in textwrap.wrap(note, 120)]
    return "\n".join([experiment.title, "", lines[0], rule, *lines[1:], "", *wrapped])


def markdown(experiment: Experiment, runs: list[RunFolder]) -> str:
    head, body, notes = _cells(experiment, runs)
    lines = [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *body]]
    return "\n".join([f"**{experiment.title}**", "", *lines, "", *(f"{note}  " for note in notes)]).rstrip()


def _cells(experiment: Experiment, runs: list[RunFolder]) -> tuple[list[str], list[list[str]], list[str]]:
    """The head, the lines and the notes below them."""
    columns, by, table = experiment.table.columns, experiment.table.by, rows(experiment, runs)
    compared = {name for name in columns if any(name in row["paper"] for row in table)}
    several = any("varied" in row for row in table)
    head = ["architecture", *([by] if by else []), *(["options"] if several else [])]
    for name, heading in columns.items():
        head += [heading, "paper"] if name in compared else [heading]
    head += ["seeds", "steps", "preset", "seconds"]
    marks: dict[str, str] = {}
    body = []
    for row in table:
        line = [row["label"] + (f", {STAND_IN}" if row.get("data") == STAND_IN else "")]
        line += [readable(row[by])] if by else []
        line += [", ".join(f"{k} {readable(v)}" for k, v in row.get("varied", {}).items())] if several else []
        for name in columns:
            line.append(_number(row["ours"].get(name)))
            if name in compared:
                cell = row["paper"].get(name, "-")  # the paper prints a dash where it has no number
                line.append("–" if cell == "-" else cell.replace("-", "−"))
        mark = ""
        if row.get("deviations"):
            mark = " " + marks.setdefault(", ".join(row["deviations"]), f"[{len(marks) + 1}]")
        seeds, steps, seconds = row.get("seeds"), row.get("steps"), row.get("seconds")
        line += [str(len(seeds)) if seeds else "", f"{steps:,}" if steps else ""]
        line += [(row["preset"] or "") + mark, f"{seconds:,.0f}" if seconds is not None else ""]
        body.append(line)
    protocol = "the paper's protocol" if experiment.table.printed else "the default"
    explained = [f"{mark} not {protocol}: {notes}" for notes, mark in marks.items()]
    return head, body, [*explained, *filter(None, [experiment.table.notes])]


def _number(value: dict[str, float] | None) -> str:
    if value is None:
        return "–"
    spread = f" ± {value['std']:.4f}" if "std" in value else ""
    return f"{value['mean']:.4f}{spread}".replace("-", "−")
