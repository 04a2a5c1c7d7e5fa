"""The command `minisets`: train, then look at tables and figures.

minisets list                                   what there is to train, and the runs so far
minisets train clustering --preset quick        also: python -m tasks.clustering --preset quick
minisets table clustering                       our results beside the paper's
minisets figure clustering                      the figures of the runs so far
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from autograd.backend import DeviceError
from minisets.checkpoint import CheckpointError
from tasks import tables
from tasks.folder import Folder, differences, environment, find, read_json
from tasks.options import Parser, Settings, UsageError, add_options, departures, slug
from tasks.registry import TASKS, find_task
from tasks.run import Interrupted, Run, Stopped

RUNS = Path("runs")


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0, 1 for a run that broke down, 2 for a request that cannot be met."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        return _dispatch(argv)
    except (UsageError, CheckpointError, DeviceError) as error:
        print(f"minisets: {error}", file=sys.stderr)
        return 2
    except Stopped as error:
        print(f"minisets: {error}", file=sys.stderr)
        return 1
    except Interrupted as error:
        again = ["minisets", *(part for part in argv if part != "--resume"), "--resume"]
        print(f"minisets: {error}; to go on: {shlex.join(again)}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("minisets: interrupted; a run that had begun goes on after its last checkpoint with --resume", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output, head for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(argv: list[str]) -> int:
    parser = Parser(prog="minisets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser, required=True)
    listing = commands.add_parser("list", help="what there is to train, and the runs so far")
    commands.add_parser("train", help="train networks of one experiment", add_help=False)
    table = commands.add_parser("table", help="our results beside the paper's")
    table.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    figure = commands.add_parser("figure", help="draw the figures of an experiment from its runs")
    figure.add_argument("--name", action="append", metavar="NAME", help="one of the figures; may be repeated (default: all)")
    figure.add_argument("--out", type=Path, metavar="DIR", help="where to put them (default: runs/TASK)")
    for sub in (table, figure):
        sub.add_argument("task", metavar="TASK", help=", ".join(TASKS))
    for sub in (listing, table, figure):
        sub.add_argument("--runs", nargs="+", type=Path, default=[RUNS], metavar="DIR",
                         help="folders to look for runs in (default: runs)")  # fmt: skip
    if argv[:1] == ["train"]:  # its options depend on the task
        return _train(argv[1:])
    arguments = parser.parse_args(argv)
    return {"list": _list, "table": _table, "figure": _figure}[arguments.command](arguments)


# ---- train ------------------------------------------------------------------------------------------------------------


def _train(argv: list[str]) -> int:
    if not argv or argv[0].startswith("-"):
        parser = Parser(prog="minisets train", usage="minisets train TASK [options]")
        parser.add_argument("task", metavar="TASK", help=f"{', '.join(TASKS)}; minisets train TASK --help has its options")
        argv = [parser.parse_args(argv).task]
    name, task = argv[0].replace("-", "_"), find_task(argv[0])
    parser = Parser(prog=f"minisets train {name}", description=task.__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--preset", choices=tuple(task.PRESETS), help=_presets_help(task))
    parser.add_argument("--seeds", type=int, metavar="COUNT", help="run so many seeds, from --seed on")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"the run's folder, or for several runs the folder that "
                        f"holds theirs (default: runs/{name}/PRESET)")  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="go on where a run in the same folder stopped")
    add_options(parser, task.Config)
    given = vars(parser.parse_args(argv[1:]))
    preset, seeds, out, resume = (given.pop(key) for key in ("preset", "seeds", "out", "resume"))
    if seeds is not None and seeds < 1:
        raise UsageError(f"--seeds must be at least 1, given {seeds}")

    if resume and out and Folder(out).config.exists():
        plans = [(Folder(out), *_continued(name, task, Folder(out), preset, given, seeds))]
    else:
        plans = _planned(name, task, preset or "quick", given, seeds or 1, out)
    for folder, _, config in plans:
        config.check_device()
        _refuse_unless_free(folder, name, config, resume)
    for i, (folder, preset, config) in enumerate(plans):
        _perform(name, task, preset, folder, config, f"[{i + 1}/{len(plans)}] " if len(plans) > 1 else "")
    folders = [folder for folder, _, _ in plans]
    if len(plans) > 1:
        print(tables.text(name, folders))
        for path in _draw(task, list(task.FIGURES), folders, Folder(out or RUNS / name / preset)):
            print(f"figure: {path}")
    return 0


def _presets_help(task: ModuleType) -> str:
    parts = []
    for name, values in task.PRESETS.items():
        values = ", ".join(f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}" for key, value in values.items())
        parts.append(f"{name}: {values}" if values else f"{name}: the paper's protocol")
    return "; ".join(parts).replace("%", "%%") + " (default: quick)"


def _planned(
    name: str, task: ModuleType, preset: str, given: dict[str, Any], seeds: int, out: Path | None
) -> list[tuple[Folder, str, Settings]]:
    """The runs that the options ask for, each with its folder, preset and configuration."""
    given = dict(given)
    default = task.LABELS if preset == "paper" else task.QUICK_LABELS
    labels = given.pop("arch", list(default)) if task.LABELS else [None]
    if any(label == "all" for label in labels):
        labels = list(task.LABELS)
    first = given.pop("seed", 0)
    configs = []
    for label in labels:
        for seed in range(first, first + seeds):
            arch = {"arch": label} if label else {}
            configs.append(task.Config(**task.PRESETS[preset] | given | arch | {"seed": seed}))
    if len(configs) == 1 and out:
        return [(Folder(out), preset, configs[0])]
    root = out or RUNS / name / preset
    return [(Folder(root / (slug(getattr(c, "arch", name)) + f"-seed{c.seed}")), preset, c) for c in configs]


def _continued(
    name: str, task: ModuleType, folder: Folder, preset: str | None, given: dict[str, Any], seeds: int | None
) -> tuple[str, Settings]:
    """The configuration of the run in the folder, unless the options ask for something else."""
    about, config = folder.about(), folder.options(task.Config) if folder.about()["task"] == name else None
    if config is None:
        raise UsageError(f"{folder.path} holds a run of {about['task']}, not of {name}; choose another --out")
    given = dict(given)
    if "arch" in given:
        given["arch"] = given["arch"][0] if len(given["arch"]) == 1 else given["arch"]
    wanted = (task.PRESETS[preset] if preset else {}) | given
    old = dataclasses.asdict(config)
    if (seeds or 1) > 1 or any(old[key] != value for key, value in wanted.items()):
        raise UsageError(f"{folder.path} holds a run with another configuration ({differences(old, old | wanted)}); choose another --out")
    return about["preset"], config


def _refuse_unless_free(folder: Folder, name: str, config: Settings, resume: bool) -> None:
    """A folder is free if nobody ran there, or the very same run, that is to be resumed."""
    if folder.path.exists() and not folder.path.is_dir():
        raise UsageError(f"{folder.path} is a file; --out takes a folder")
    if not folder.config.exists():
        return
    about = folder.about()
    if about["task"] != name:
        raise UsageError(f"{folder.path} holds a run of {about['task']}, not of {name}; choose another --out")
    old, new = about["options"], dataclasses.asdict(config)
    if old != new:
        raise UsageError(f"{folder.path} holds a run with another configuration ({differences(old, new)}); choose another --out")
    if not resume:
        raise UsageError(f"{folder.path} holds this run already; --resume goes on with it, another --out begins anew")


def _perform(name: str, task: ModuleType, preset: str, folder: Folder, config: Settings, which: str) -> None:
    """One run from where it is to its result and its figures."""
    title = getattr(config, "arch", task.TITLE)
    print(f"{which}{name}: {title}, seed {config.seed}, preset {preset} -> {folder.path}", flush=True)
    if folder.result.exists():
        print(f"  finished: {_summary(task, read_json(folder.result)['metrics'])}")
        return
    if folder.config.exists():
        then, now = folder.about().get("versions"), environment()["versions"]
        if then != now:
            print(f"  begun with {then}, now {now}: the last bits may differ", file=sys.stderr)
    else:
        folder.begin(name, preset, config)
    with folder.held():
        run = Run(folder, config, title)
        metrics = task.train(config, run)
        result = {
            "task": name, "preset": preset, "options": dataclasses.asdict(config), "metrics": metrics,
            "seconds": round(run.seconds, 1), "departures": {k: list(v) for k, v in departures(config).items()},
            **environment(),
        }  # fmt: skip
        folder.write(folder.result, result)
        print(f"  {_summary(task, metrics)}")
        for path in _draw(task, list(task.FIGURES), [folder], folder):
            print(f"  figure: {path}")


def _summary(task: ModuleType, metrics: dict[str, Any]) -> str:
    names = [*task.COLUMNS, *(name for columns in task.REFERENCES.values() for name in columns.values())]
    return "  ".join(f"{key} {metrics[key]:.4f}" for key in names if key in metrics)


# ---- look -------------------------------------------------------------------------------------------------------------


def _draw(task: ModuleType, names: list[str], runs: list[Folder], into: Folder) -> list[Path]:
    import matplotlib.pyplot as plt

    paths = []
    for name in names:
        figure = task.FIGURES[name](runs)
        if figure is not None:  # some figures need a network of a certain kind
            paths.append(into.draw(name, figure))
            plt.close(figure)
    return paths


def _figure(arguments: argparse.Namespace) -> int:
    name, task = arguments.task.replace("-", "_"), find_task(arguments.task)
    wanted = arguments.name or list(task.FIGURES)
    unknown = [figure for figure in wanted if figure not in task.FIGURES]
    if unknown:
        raise UsageError(f"{name} has no figure {unknown[0]!r}; it has {', '.join(task.FIGURES)}")
    runs = [folder for folder in find(arguments.runs, name) if folder.result.exists()]
    if not runs:
        raise UsageError(f"no finished run of {name} in {', '.join(map(str, arguments.runs))}; minisets train {name} makes one")
    into = Folder(arguments.out or RUNS / name)
    into.make()
    for path in _draw(task, wanted, runs, into):
        print(path)
    return 0


def _table(arguments: argparse.Namespace) -> int:
    name, _ = arguments.task.replace("-", "_"), find_task(arguments.task)
    runs = find(arguments.runs, name) if arguments.runs != [RUNS] or RUNS.is_dir() else []
    print(getattr(tables, arguments.format)(name, runs))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    for name in TASKS:
        task = find_task(name)
        print(f"{name}: {task.TITLE}")
        for label in task.LABELS:
            print(f"    --arch {label!r}")
        print(f"    presets: {', '.join(task.PRESETS)}   figures: {', '.join(task.FIGURES)}")
        for folder in find([place for place in arguments.runs if place.is_dir()], name):
            print(f"    {folder.path}: {_state(task, folder)}")
    return 0


def _state(task: ModuleType, folder: Folder) -> str:
    label = folder.about()["options"].get("arch", "")
    if folder.result.exists():
        return f"{label}  finished  {_summary(task, read_json(folder.result)['metrics'])}"
    if folder.progress.exists():
        progress = read_json(folder.progress)
        return f"{label}  at step {progress['step']:,} of {progress['steps']:,}"
    return f"{label}  begun"


if __name__ == "__main__":
    sys.exit(main())
