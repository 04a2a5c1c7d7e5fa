"""The cells of a sweep: every experiment with every architecture, seed and combination of --set values.

A cell without --set is in the very folder that `minisets train` uses; with --set, every key is part of the folder's
name, in alphabetical order: isab16-pma-seed0-batch10-lr0.001.  The device is not: a run is the same run on each.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tasks.harness import records
from tasks.harness.errors import UsageError
from tasks.harness.experiment import Experiment, find_experiment
from tasks.harness.options import Settings, flag, kind_of
from tasks.harness.parser import hint, reader
from tasks.harness.planning import (
    PlannedRun,
    configurations,
    option_words,
    refuse_unless_free,
    require_preset,
    run_name,
)
from tasks.harness.run_folder import RunFolder
from tasks.sweep.store import Cell

MOST = 10_000  # cells
BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
OWN_OPTIONS = {"seed": "--seed and --seeds choose the seeds", "arch": "--arch chooses the architectures"}


def grid(
    tasks: list[str], preset: str | None, archs: list[str] | None, seed: int, seeds: int, sets: list[str], out: Path
) -> list[Cell]:
    """The cells, each once; a UsageError if one of them could not start."""
    choices = _choices(sets)
    plans: dict[Path, PlannedRun] = {}
    names: dict[Path, str] = {}
    for task in tasks:
        experiment = find_experiment(task)
        for plan in _plans(experiment, preset, archs, seed, seeds, choices, out):
            other = plans.setdefault(plan.folder.path, plan)
            if other.folder.experiment is not experiment:
                raise UsageError(f"{names[plan.folder.path]} and {task} have the same name; sweep one at a time")
            if other.config != plan.config:
                raise UsageError(f"two different cells would have the folder {plan.folder.path}; sweep one at a time")
            names.setdefault(plan.folder.path, task)
    check(plans.values())
    return [cell_of(names[path], plan, out) for path, plan in plans.items()]


def _plans(
    experiment: Experiment,
    preset: str | None,
    archs: list[str] | None,
    seed: int,
    seeds: int,
    choices: Mapping[str, list[str]],
    out: Path,
) -> Iterable[PlannedRun]:
    preset = preset or experiment.default_preset
    require_preset(experiment, preset)
    given: dict[str, Any] = {"seed": seed}
    if archs and "arch" in _fields(experiment):
        given["arch"] = archs
    elif archs and archs != ["all"]:
        raise UsageError(f"{experiment.name} has no architectures to choose from; leave out --arch")
    values = {key: [_read(experiment, key, text) for text in texts] for key, texts in choices.items()}
    if len(values.get("device", ())) > 1:
        raise UsageError("--set device takes one value: a run is the same run on every device")
    if seeds * max(1, len(experiment.rows)) * math.prod(map(len, values.values())) > MOST:
        raise UsageError(f"these are more than {MOST:,} cells; choose fewer seeds or values")
    for combination in itertools.product(*values.values()):
        chosen = dict(zip(values, combination, strict=True))
        suffix = "".join(f"-{key}{_in_a_name(value)}" for key, value in chosen.items() if key != "device")
        for config in configurations(experiment, preset, given | chosen, seeds):
            path = out / experiment.name / preset / f"{run_name(experiment, config)}{suffix}"
            yield PlannedRun(RunFolder(path, experiment), preset, config)


def check(plans: Iterable[PlannedRun]) -> None:
    """Refuse what could not start: data or a device that is not there, a folder with another configuration."""
    seen = set()
    for plan in plans:
        what = {**dataclasses.asdict(plan.config), "seed": 0, "arch": ""}  # these do not change what is needed
        key = plan.folder.experiment.name, tuple(what.values())
        if key not in seen:
            plan.config.check()
            seen.add(key)
        refuse_unless_free(plan, resume=True, start_over=False)


def cell_of(task: str, plan: PlannedRun, out: Path) -> Cell:
    """The cell with all of its options spelled out, so that a preset or a default cannot change them."""
    options = dataclasses.asdict(plan.config)
    words = tuple(words_for(plan.preset, plan.config))
    kind = kind_of_run(plan.folder.experiment.name, options)
    return Cell(task, plan.folder.path.relative_to(out).as_posix(), words, options.get("steps"), kind)


def words_for(preset: str, config: Settings) -> list[str]:
    """The options for minisets train, each as one word, which may hold anything."""
    words = [f"--preset={preset}"]
    for key, value in dataclasses.asdict(config).items():
        words.append(option_words(key, value)[0] if isinstance(value, bool) else f"{flag(key)}={value}")
    return words


def kind_of_run(task: str, options: Mapping[str, Any]) -> str:
    """A digest of all that the time of a step depends on."""
    return records.digest([task, {key: value for key, value in options.items() if key not in ("seed", "steps")}])


# ---- --set key=value,value ------------------------------------------------------------------------------------------


def _choices(sets: list[str]) -> dict[str, list[str]]:
    """Option -> values, as they were typed."""
    found: dict[str, list[str]] = {}
    for text in sets:
        key, equals, values = text.partition("=")
        key = key.strip().lstrip("-").replace("-", "_")
        if not equals or not key:
            raise UsageError(f"--set takes an option and its values, as in --set lr=1e-3,3e-4; given {text!r}")
        if key in OWN_OPTIONS:
            raise UsageError(f"--set {key}: {OWN_OPTIONS[key]}")
        if key in found:
            raise UsageError(f"--set {key} is given twice; write all its values after one --set, with commas")
        found[key] = [value.strip() for value in values.split(",")]
    return dict(sorted(found.items()))


def _fields(experiment: Experiment) -> dict[str, dataclasses.Field]:
    return {field.name: field for field in dataclasses.fields(experiment.config)}


def _read(experiment: Experiment, key: str, text: str) -> Any:
    fields = _fields(experiment)
    if key not in fields:
        others = f"minisets train {experiment.name} --help lists its options"
        raise UsageError(f"--set: {experiment.name} has no option {key!r}; {hint(key, fields, others)}")
    kind = kind_of(fields[key])
    if kind is bool:
        if text.lower() not in BOOLEANS:
            raise UsageError(f"--set {key}: expected true or false, given {text!r}")
        return BOOLEANS[text.lower()]
    try:
        return reader(kind)(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--set {key}: {error}") from None


def _in_a_name(value: Any) -> str:
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", str(value)).strip("-")
