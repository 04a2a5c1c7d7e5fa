"""The command `minisets`: train, then look at tables and figures.

minisets list                                   what there is to train, and the runs so far
minisets train clustering --preset quick        also: python -m tasks.clustering --preset quick
minisets table clustering                       our results beside the paper's
minisets figure clustering                      the figures of the runs so far
minisets data list                              the data sets: which are here, fetch, check
minisets bench                                  how long training steps take
minisets selftest --device cuda                 whether everything is right on this machine
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shlex
import sys
from pathlib import Path
from types import ModuleType

from autograd import threads
from autograd.backend import DeviceError
from minisets.checkpoint import CheckpointError
from tasks.harness import tables
from tasks.harness.experiment import TASKS, find_task, task_name
from tasks.harness.options import Parser, UsageError, flag, plain
from tasks.harness.run import Interrupted, Stopped, mute
from tasks.harness.run_folder import Folder, find, read_json
from tasks.harness.train import RUNS, draw, summary, train


def data(argv: list[str]) -> int:
    """The command `minisets data`, imported when it is wanted."""
    from tasks.data.command import main

    return main(argv)


def bench(argv: list[str]) -> int:
    """The command `minisets bench`, imported when it is wanted: it measures memory as Linux and macOS tell it."""
    from tasks.bench.command import main

    return main(argv)


def selftest(argv: list[str]) -> int:
    """The command `minisets selftest`, imported when it is wanted: it makes every case there is."""
    from tasks.selftest.command import main

    return main(argv)


COMMANDS = {"train": train, "data": data, "bench": bench, "selftest": selftest}  # with parsers of their own


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0; 1 for a run that broke down; 2 for a request that cannot be met; 130 after Ctrl-C."""
    argv = sys.argv[1:] if argv is None else argv
    if hasattr(sys.stdout, "reconfigure"):  # a terminal that cannot show ± shows ?
        sys.stdout.reconfigure(errors="replace")
    try:
        threads.count()  # a bad MINISETS_THREADS should be told before anything begins
        code = COMMANDS.get(argv[0] if argv else "", lambda _: _look(argv))(argv[1:])
        sys.stdout.flush()
        return code
    except (UsageError, CheckpointError, DeviceError, threads.SettingError) as error:
        return _say(error, 2)
    except Stopped as error:
        return _say(error, 1)
    except Interrupted as error:
        again = ["minisets", *(part for part in argv if part != "--resume"), "--resume"]
        return _say(f"{error}; to go on: {shlex.join(again)}", 130)
    except KeyboardInterrupt:
        return _say("interrupted; with --resume a run goes on from what it had saved", 130)
    except MemoryError as error:
        return _say(f"there is not enough memory ({error}); try a smaller --batch, or smaller sets", 1)
    except BrokenPipeError:  # the reader of our output, head for example, has seen enough
        mute()
        return 0
    except OSError as error:
        mute()
        return _say(f"{error.filename or 'the output'}: {error.strerror or error}", 2)


def _say(sentence: object, code: int) -> int:
    print(f"minisets: {sentence}", file=sys.stderr)
    return code


def _look(argv: list[str]) -> int:
    parser = Parser(prog="minisets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("train", help="train networks of one experiment")  # in tasks/harness/train.py
    commands.add_parser("data", help="list, fetch or check data sets")  # in tasks/data/command.py
    commands.add_parser(
        "bench", help="time training steps, beside PyTorch where it is installed"
    )  # in tasks/bench/command.py
    text = "check every kernel, op and block on this machine's CPU or GPU"
    commands.add_parser("selftest", help=text)  # in tasks/selftest/command.py
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
    name, task = task_name(arguments.task), find_task(arguments.task)
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
    protocols = [dataclasses.asdict(run.options()) for run in runs]
    for key in protocols[0]:
        values = {options[key] for options in protocols}
        if len(values) > 1 and key not in ("arch", "seed", "device"):
            said = " and ".join(map(plain, sorted(values)))
            raise UsageError(f"these runs do not belong in one figure: {flag(key)} {said}; choose some by --runs")
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
            try:
                print(f"    {folder.path}: {_state(task, folder)}")
            except UsageError as error:
                print(f"    {folder.path}: {error}")
    return 0


def _state(task: ModuleType, folder: Folder) -> str:
    label = getattr(folder.options(), "arch", task.TITLE)
    if folder.result.exists():
        return f"{label}, finished: {summary(task, folder.outcome()['metrics'])}"
    with contextlib.suppress(UsageError, KeyError, TypeError, ValueError):  # not there yet, or damaged
        progress = read_json(folder.progress)
        return f"{label}, at step {progress['step']:,} of {progress['steps']:,}"
    return f"{label}, begun"


if __name__ == "__main__":
    sys.exit(main())
