"""The command `minisets`: train, then look at tables and figures.

minisets list                                   what there is to train, and the runs so far
minisets train clustering --preset quick        also: python -m tasks.clustering --preset quick
minisets table clustering                       our results beside the paper's
minisets figure clustering                      the figures of the runs so far
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from types import ModuleType

from autograd.backend import DeviceError
from minisets.checkpoint import CheckpointError
from tasks import tables
from tasks.folder import Folder, find, read_json
from tasks.options import Parser, UsageError
from tasks.registry import TASKS, find_task
from tasks.run import Interrupted, Stopped
from tasks.train import RUNS, draw, summary, train


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0; 1 for a run that broke down; 2 for a request that cannot be met; 130 after Ctrl-C."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        return train(argv[1:]) if argv[:1] == ["train"] else _look(argv)
    except (UsageError, CheckpointError, DeviceError) as error:
        return _say(error, 2)
    except Stopped as error:
        return _say(error, 1)
    except Interrupted as error:
        again = ["minisets", *(part for part in argv if part != "--resume"), "--resume"]
        return _say(f"{error}; to go on: {shlex.join(again)}", 130)
    except KeyboardInterrupt:
        return _say("interrupted; a run that was under way goes on after its last checkpoint with --resume", 130)
    except BrokenPipeError:  # the reader of our output, head for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _say(sentence: object, code: int) -> int:
    print(f"minisets: {sentence}", file=sys.stderr)
    return code


def _look(argv: list[str]) -> int:
    parser = Parser(prog="minisets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("train", help="train networks of one experiment")  # in tasks/train.py
    listing = commands.add_parser("list", help="what there is to train, and the runs so far")
    table = commands.add_parser("table", help="our results beside the paper's")
    figure = commands.add_parser("figure", help="draw the figures of an experiment from its runs")
    for sub in (table, figure):
        sub.add_argument("task", metavar="TASK", help=", ".join(TASKS))
    for sub in (listing, table, figure):
        text = "folders to look for runs in (default: runs)"
        sub.add_argument("--runs", nargs="+", type=Path, default=[RUNS], metavar="DIR", help=text)
    table.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    figure.add_argument("--name", action="append", metavar="NAME", help="a figure; may be repeated (default: all)")
    figure.add_argument("--out", type=Path, metavar="DIR", help="where to put them (default: runs/TASK)")
    arguments = parser.parse_args(argv)
    places = [place for place in arguments.runs if place.is_dir() or place != RUNS]  # nothing may have been run yet
    if arguments.command == "list":
        return _list(places)
    name, task = arguments.task.replace("-", "_"), find_task(arguments.task)
    runs = [folder for folder in find(places, name) if folder.result.exists()]
    if arguments.command == "table":
        print(getattr(tables, arguments.format)(name, runs))
    else:
        _figure(name, task, runs, arguments.name or list(task.FIGURES), Folder(arguments.out or RUNS / name))
    return 0


def _figure(name: str, task: ModuleType, runs: list[Folder], figures: list[str], into: Folder) -> None:
    for figure in figures:
        if figure not in task.FIGURES:
            raise UsageError(f"{name} has no figure {figure!r}; it has {', '.join(task.FIGURES)}")
    if not runs:
        raise UsageError(f"there is no finished run of {name} there; minisets train {name} makes one")
    into.make()
    draw(task, figures, runs, into)


def _list(places: list[Path]) -> int:
    for name in TASKS:
        task = find_task(name)
        print(f"{name}: {task.TITLE}")
        print(f"    presets: {', '.join(task.PRESETS)}   figures: {', '.join(task.FIGURES)}")
        for label in task.LABELS:
            print(f"    --arch {label!r}")
        for folder in find(places, name):
            print(f"    {folder.path}: {_state(task, folder)}")
    return 0


def _state(task: ModuleType, folder: Folder) -> str:
    label = folder.about()["options"].get("arch", task.TITLE)
    if folder.result.exists():
        return f"{label}, finished: {summary(task, read_json(folder.result)['metrics'])}"
    if folder.progress.exists():
        progress = read_json(folder.progress)
        return f"{label}, at step {progress['step']:,} of {progress['steps']:,}"
    return f"{label}, begun"


if __name__ == "__main__":
    sys.exit(main())
