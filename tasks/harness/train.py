"""From options to finished runs: which runs are asked for, whether their folders are free, and one after the other."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tasks.harness import machine, tables
from tasks.harness.experiment import TASKS, find_task, task_name
from tasks.harness.options import (
    AUTO,
    Parser,
    Settings,
    UsageError,
    add_options,
    data_used,
    departures,
    flag,
    plain,
    printed_label,
    reader,
    slug,
)
from tasks.harness.run import Interrupted, Run, say
from tasks.harness.run_folder import Folder, environment

RUNS = Path("runs")


@dataclass(frozen=True)
class Plan:
    """One run: what is to be trained, and where it goes."""

    folder: Folder
    preset: str
    config: Settings


def train(argv: list[str]) -> int:
    """The command `minisets train TASK [options]`."""
    if not argv or argv[0].startswith("-"):
        parser = Parser(prog="minisets train", usage="minisets train TASK [options]")
        parser.add_argument("task", metavar="TASK", help=f"{', '.join(TASKS)}; TASK --help has its options")
        argv = [parser.parse_args(argv).task]
    name, task = task_name(argv[0]), find_task(argv[0])
    given = vars(_parser(name, task).parse_args(argv[1:]))
    preset, seeds, out, resume = (given.pop(key) for key in ("preset", "seeds", "out", "resume"))
    if out and out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out takes a folder")
    if seeds < 1:
        raise UsageError(f"--seeds must be at least 1, given {seeds}")
    if resume and out and Folder(out).config.exists():
        plans = [_stored(name, task, Folder(out), preset, given, seeds)]
    else:
        plans = _asked_for(name, task, preset or "quick", given, seeds, out)
    for plan in plans:  # all of them before the first: better now than after an hour
        plan.config.check()
        _refuse_unless_free(name, plan, resume)
    machine.keep_memory()
    for i, plan in enumerate(plans, 1):
        go_on = _perform(name, task, plan, resume, f"[{i}/{len(plans)}] " if len(plans) > 1 else "")
        if i < len(plans) and not go_on:
            raise Interrupted(f"stopped after {i} of {len(plans)} runs")
    if len(plans) > 1:
        folders, together = [plan.folder for plan in plans], Folder(out or RUNS / name / plans[0].preset)
        say(f"\n{tables.text(name, folders)}")
        draw(task, list(task.FIGURES), folders, together)
    return 0


def _parser(name: str, task: ModuleType) -> Parser:
    presets = {}
    for preset, values in task.PRESETS.items():
        said = ", ".join(f"{key} {plain(value)}" for key, value in values.items())
        presets[preset] = f"{preset}: {said or 'the protocol of the paper'}"
    look = {"description": task.__doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = Parser(prog=f"minisets train {name}", allow_abbrev=False, **look)
    parser.add_argument("--preset", choices=tuple(presets), help="; ".join(presets.values()) + " (default: quick)")
    many = "so many seeds, from --seed on (default: 1)"
    parser.add_argument("--seeds", type=reader(int), default=1, metavar="COUNT", help=many)
    where = f"folder of the run, or of several runs the folder that holds theirs (default: runs/{name}/PRESET)"
    parser.add_argument("--out", type=_folder, metavar="DIR", help=where)
    parser.add_argument("--resume", action="store_true", help="go on where a run in the same folder stopped")
    add_options(parser, task.Config)
    return parser


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a folder, given an empty one")
    return Path(text)


# ---- what is to be run, and may it ----------------------------------------------------------------------------------


def _asked_for(
    name: str, task: ModuleType, preset: str, given: dict[str, Any], seeds: int, out: Path | None
) -> list[Plan]:
    """The runs that the options ask for: every architecture with every seed."""
    given = task.PRESETS[preset] | given
    labels = given.pop("arch", task.LABELS if preset == "paper" else task.QUICK_LABELS)
    labels = [row for label in labels for row in (task.LABELS if label == "all" else [printed_label(label)])]
    archs = [{"arch": label} for label in dict.fromkeys(labels)] or [{}]
    first = given.pop("seed", 0)
    configs = [task.Config(**given, **arch, seed=first + i) for arch in archs for i in range(seeds)]
    if len(configs) == 1 and out:
        return [Plan(Folder(out), preset, configs[0])]
    if out and Folder(out).files():
        raise UsageError(f"{out} holds a single run; the folders of several runs need another --out")
    root = out or RUNS / name / preset
    return [Plan(Folder(root / f"{slug(getattr(c, 'arch', name))}-seed{c.seed}"), preset, c) for c in configs]


def _stored(name: str, task: ModuleType, folder: Folder, preset: str | None, given: dict[str, Any], seeds: int) -> Plan:
    """The run in the folder, as its config.json says; options may repeat that, and not ask for something else."""
    if seeds > 1:
        raise UsageError(f"{folder.path} holds a single run; --seeds {seeds} needs another --out")
    _same_task(name, folder)
    config = folder.options()
    wanted = dataclasses.asdict(config)
    if preset:
        kept = {key: wanted[key] for key in ("arch", "seed", "data") if key in wanted}
        wanted = dataclasses.asdict(task.Config(**task.PRESETS[preset])) | kept
    if "arch" in given:
        given["arch"] = " and ".join(map(printed_label, given["arch"]))
    if given.get("data") == AUTO:  # it goes on with what it began with
        del given["data"]
    _same_options(folder, wanted | given)
    return Plan(folder, folder.about()["preset"], config)


def _refuse_unless_free(name: str, plan: Plan, resume: bool) -> None:
    """A folder is free if nobody ran there, or if it holds the very run that is to be resumed."""
    folder = plan.folder
    if folder.config.exists():
        _same_task(name, folder)
        _same_options(folder, dataclasses.asdict(plan.config))
        if not resume:
            raise UsageError(
                f"{folder.path} holds this run already; --resume goes on with it, another --out begins anew"
            )
    elif folder.files():
        raise UsageError(f"{folder.path} holds {folder.files()[0].name}, but no config.json; choose another --out")


def _same_task(name: str, folder: Folder) -> None:
    other = folder.about()["task"]
    if other != name:
        raise UsageError(f"{folder.path} holds a run of {other}, not of {name}; choose another --out")


def _same_options(folder: Folder, wanted: dict[str, Any]) -> None:
    old = dataclasses.asdict(folder.options())
    names = [name for name in old if old[name] != wanted[name]]
    if names:
        said = "; ".join(f"{flag(name)} {old[name]} there, {wanted[name]} here" for name in names)
        raise UsageError(f"{folder.path} holds a run with another configuration ({said}); choose another --out")


# ---- running --------------------------------------------------------------------------------------------------------


def _perform(name: str, task: ModuleType, plan: Plan, resume: bool, which: str) -> bool:
    """One run, from wherever it is to its result and its figures; False if it was asked to stop at its end."""
    folder, config = plan.folder, plan.config
    title = getattr(config, "arch", task.TITLE)
    folder.make()
    data = f", data: {data_used(config)}" if data_used(config) else ""
    say(f"{which}{name}: {title}, seed {config.seed}, preset {plan.preset}{data} -> {folder.path}")
    with folder.held():
        _refuse_unless_free(name, plan, resume)  # another process may have been here since
        if folder.result.exists():
            say(f"  finished already: {summary(task, folder.outcome()['metrics'])}")
            left = [figure for figure in task.FIGURES if not (folder.path / f"{figure}.png").exists()]
            draw(task, left, [folder], folder)  # it may have been killed while it drew
            return True
        if folder.config.exists():
            _warn_of_changes(folder.about())
        else:
            if resume:
                say("  nothing to resume here: it begins anew")
            folder.begin(name, plan.preset, config)
        run = Run(folder, config, title)
        with np.errstate(over="ignore", invalid="ignore"):  # the run itself looks out for nan
            metrics = task.train(config, run)
        result = {"task": name, "preset": plan.preset, "options": dataclasses.asdict(config), "metrics": metrics}
        result |= {"data": data_used(config)} if data_used(config) else {}
        result |= {"seconds": round(run.seconds, 1), "departures": departures(config)}
        folder.write(folder.result, result | environment())
        say(f"  {summary(task, metrics)}")
        draw(task, list(task.FIGURES), [folder], folder)
    return not run.asked_to_stop


def _warn_of_changes(about: dict[str, Any]) -> None:
    """Say what a resumed run finds changed and its last bits may depend on."""
    for what, now in environment().items():
        then = about.get(what)
        if then != now:
            print(f"  {what} then: {then}\n  {what} now: {now}\n  the last bits may differ", file=sys.stderr)


def summary(task: ModuleType, metrics: dict[str, Any]) -> str:
    """The metrics of a result in one line."""
    names = [*task.COLUMNS, *(name for columns in task.REFERENCES.values() for name in columns.values())]
    return "  ".join(f"{name} {metrics[name]:.4f}" for name in names if isinstance(metrics.get(name), float))


def draw(task: ModuleType, names: list[str], runs: list[Folder], into: Folder) -> None:
    """Draw figures of the runs into a folder and say where they are."""
    for name in names:
        figure = task.FIGURES[name](runs)
        if figure is None:  # it needs a kind of network that is not among them, or a checkpoint that was not kept
            say(f"  no figure {name}: none of these runs has what it shows")
        else:
            say(f"  figure: {into.draw(name, figure)}")
