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

from autograd import backend
from tasks import tables
from tasks.folder import Folder, environment, read_json
from tasks.options import Parser, Settings, UsageError, add_options, departures, flag, plain, slug
from tasks.registry import TASKS, find_task
from tasks.run import Interrupted, Run

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
    name, task = argv[0].replace("-", "_"), find_task(argv[0])
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
        plan.config.check_device()
        _refuse_unless_free(name, plan, resume)
    backend.keep_memory()
    for i, plan in enumerate(plans, 1):
        _perform(name, task, plan, f"[{i}/{len(plans)}] " if len(plans) > 1 else "")
    if len(plans) > 1:
        folders, together = [plan.folder for plan in plans], Folder(out or RUNS / name / plans[0].preset)
        print(f"\n{tables.text(name, folders)}")
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
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="COUNT", help="so many seeds, from --seed on (default: 1)"
    )
    where = f"folder of the run, or of several runs the folder that holds theirs (default: runs/{name}/PRESET)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=where)
    parser.add_argument("--resume", action="store_true", help="go on where a run in the same folder stopped")
    add_options(parser, task.Config)
    return parser


def _asked_for(
    name: str, task: ModuleType, preset: str, given: dict[str, Any], seeds: int, out: Path | None
) -> list[Plan]:
    """The runs that the options ask for: every architecture with every seed."""
    given = task.PRESETS[preset] | given
    labels = given.pop("arch", task.LABELS if preset == "paper" else task.QUICK_LABELS)
    labels = task.LABELS if "all" in labels else tuple(dict.fromkeys(labels))
    archs = [{"arch": label} for label in labels] or [{}]
    first = given.pop("seed", 0)
    configs = [task.Config(**given, **arch, seed=first + i) for arch in archs for i in range(seeds)]
    if len(configs) == 1 and out:
        return [Plan(Folder(out), preset, configs[0])]
    root = out or RUNS / name / preset
    return [Plan(Folder(root / f"{slug(getattr(c, 'arch', name))}-seed{c.seed}"), preset, c) for c in configs]


def _stored(name: str, task: ModuleType, folder: Folder, preset: str | None, given: dict[str, Any], seeds: int) -> Plan:
    """The run in the folder, as its config.json says; options may repeat that, and not ask for something else."""
    about = folder.about()
    _same_task(name, folder, about)
    config = folder.options(task.Config)
    old = dataclasses.asdict(config)
    if preset:
        given = (
            dataclasses.asdict(task.Config(**task.PRESETS[preset]))
            | {k: old[k] for k in ("arch", "seed") if k in old}
            | given
        )
    if "arch" in given and isinstance(given["arch"], list):
        given["arch"] = " and ".join(given["arch"])
    if seeds > 1:
        raise UsageError(f"{folder.path} holds a single run; --seeds {seeds} needs another --out")
    _same_options(folder, old, old | given)
    return Plan(folder, about["preset"], config)


def _refuse_unless_free(name: str, plan: Plan, resume: bool) -> None:
    """A folder is free if nobody ran there, or if it holds the very run that is to be resumed."""
    folder = plan.folder
    if folder.config.exists():
        about = folder.about()
        _same_task(name, folder, about)
        _same_options(folder, about["options"], dataclasses.asdict(plan.config))
        if not resume:
            raise UsageError(
                f"{folder.path} holds this run already; --resume goes on with it, another --out begins anew"
            )


def _same_task(name: str, folder: Folder, about: dict[str, Any]) -> None:
    if about["task"] != name:
        raise UsageError(f"{folder.path} holds a run of {about['task']}, not of {name}; choose another --out")


def _same_options(folder: Folder, old: dict[str, Any], new: dict[str, Any]) -> None:
    if old != new:
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        said = "; ".join(f"{flag(name)} {old.get(name)} there, {new.get(name)} here" for name in names)
        raise UsageError(f"{folder.path} holds a run with another configuration ({said}); choose another --out")


def _perform(name: str, task: ModuleType, plan: Plan, which: str) -> None:
    """One run, from wherever it is to its result and its figures."""
    folder, config = plan.folder, plan.config
    title = getattr(config, "arch", task.TITLE)
    print(f"{which}{name}: {title}, seed {config.seed}, preset {plan.preset} -> {folder.path}", flush=True)
    if folder.result.exists():
        print(f"  finished already: {summary(task, read_json(folder.result)['metrics'])}")
        with folder.held():  # killed while it drew, it has figures left to draw
            draw(task, [name for name in task.FIGURES if not (folder.path / f"{name}.png").exists()], [folder], folder)
        return
    if folder.config.exists():
        then, now = folder.about().get("versions"), environment()["versions"]
        if then != now:
            print(f"  begun with {then}, now {now}: the last bits may differ", file=sys.stderr)
    else:
        folder.begin(name, plan.preset, config)
    with folder.held():
        run = Run(folder, config, title)
        with np.errstate(over="ignore", invalid="ignore"):  # the run itself looks out for nan
            metrics = task.train(config, run)
        result = {"task": name, "preset": plan.preset, "options": dataclasses.asdict(config), "metrics": metrics}
        result |= {"seconds": round(run.seconds, 1), "departures": departures(config)}
        folder.write(folder.result, result | environment())
        print(f"  {summary(task, metrics)}")
        draw(task, list(task.FIGURES), [folder], folder)
        if run.asked_to_stop:  # in its very last step
            raise Interrupted("this run is finished; others may be left")


def summary(task: ModuleType, metrics: dict[str, Any]) -> str:
    """The metrics of a result in one line."""
    names = [*task.COLUMNS, *(name for columns in task.REFERENCES.values() for name in columns.values())]
    return "  ".join(f"{name} {metrics[name]:.4f}" for name in names if name in metrics)


def draw(task: ModuleType, names: list[str], runs: list[Folder], into: Folder) -> None:
    """Draw figures of the runs into a folder and say where they are."""
    for name in names:
        figure = task.FIGURES[name](runs)
        if figure is None:  # it needs a kind of network that is not among them, or a checkpoint that was not kept
            print(f"  no figure {name}: none of these runs has what it shows")
        else:
            print(f"  figure: {into.draw(name, figure)}")
