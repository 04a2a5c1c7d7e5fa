"""The command `minisets`: train experiments, then look at their tables and figures.

minisets list                                   the experiments, and the runs so far
minisets train clustering --preset quick        also: python -m tasks.clustering --preset quick
mpiexec -n 4 minisets train clustering --distributed     one network, by four processes
minisets sweep clustering --seeds 5 --jobs 2    a grid of runs, several at a time; also under mpiexec
minisets reproduce --hours 8                    the paper's tables, as far as they come; without --hours, the state
minisets table clustering                       our results beside the paper's
minisets figure clustering                      the figures of the runs so far
minisets data list                              the data sets: which are here, fetch, check
minisets bench                                  how long training steps take
minisets selftest --device cuda                 whether everything is right on this machine
minisets check mypackage.net:build --kind invariant     whether a network of your own is a function of sets
minisets play                                   a page to play with: trained networks at work, in your browser

An experiment of your own is named by its module and attribute: minisets train mypackage.median:EXPERIMENT
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import platform
import sys
from pathlib import Path

import numpy as np

import autograd
from autograd import threads
from minisets.distributed import launcher
from tasks.harness import tables
from tasks.harness.errors import UsageError
from tasks.harness.experiment import NAMES, Experiment, find_experiment
from tasks.harness.options import flag, readable
from tasks.harness.parser import Parser, hint
from tasks.harness.planning import RUNS
from tasks.harness.reporting import fail, reported
from tasks.harness.run_folder import RunFolder, find_runs
from tasks.harness.train import save_figures, summary, train

COMMANDS = {
    "list": "the experiments, and the runs so far",
    "train": "train the networks of one experiment",
    "sweep": "train a grid of runs, several at a time",
    "reproduce": "the state of the paper's 64 rows, and the runs that are missing",
    "table": "our results beside the paper's",
    "figure": "plot the figures of an experiment from its runs",
    "data": "list, fetch or check data sets",
    "bench": "time training steps, beside PyTorch where it is installed",
    "selftest": "check every kernel, op and block on this machine's CPU or GPU",
    "check": "check a set network of your own: symmetry, masks, gradients",
    "play": "a page in your browser on which trained networks work live",
}


def main(argv: list[str] | None = None) -> int:
    """The exit code: 0; 1 if a run diverged; 2 for a request that cannot be met; 130 after Ctrl-C."""
    argv = sys.argv[1:] if argv is None else argv
    if sys.stderr is None:  # it was closed; nobody will read what goes there
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        return fail("standard output is closed; redirect it, to /dev/null if nobody is to read it", 2)
    if hasattr(sys.stdout, "reconfigure"):  # a terminal that cannot show ± shows ?
        sys.stdout.reconfigure(errors="replace")
    return reported(lambda: _dispatch(argv), ["minisets", *argv], quiet=launcher.launched_rank() > 0)


def _dispatch(argv: list[str]) -> int:
    threads.count()  # report a bad MINISETS_THREADS before anything starts
    parser = Parser(prog="minisets", description=__doc__)
    versions = f"minisets {autograd.__version__} (Python {platform.python_version()}, NumPy {np.__version__})"
    parser.add_argument("--version", action="version", version=versions)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    command = next((word for word in argv if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS and not argv[0].startswith("-"):
        others = f"the commands are {', '.join(COMMANDS)}"
        if command.replace("-", "_") in NAMES or ":" in command:
            others = f"to train it: minisets train {command}"
        raise UsageError(f"there is no command {command!r}; {hint(command, COMMANDS, others)}")
    if argv and argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version"):
        raise UsageError("the command comes first: minisets COMMAND [options] (see minisets --help)")
    if not argv or argv[0] not in COMMANDS:
        parser.parse_args(argv)  # --help, --version, or an error
    match argv[0]:
        case "train":
            return train(argv[1:])
        case "list" | "table" | "figure":
            return _look(argv[0], argv[1:])
        case other:  # imported on demand: they need more than the rest
            return importlib.import_module(f"tasks.{other}.command").main(argv[1:])


def _look(command: str, argv: list[str]) -> int:
    parser = Parser(prog=f"minisets {command}", description=COMMANDS[command])
    if command != "list":
        parser.add_argument("experiment", metavar="EXPERIMENT", help=f"{', '.join(NAMES)}, or module:ATTRIBUTE")
    text = "folders to search for runs (default: runs)"
    parser.add_argument("--runs", nargs="+", type=Path, metavar="DIR", help=text)
    if command == "table":
        parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    if command == "figure":
        parser.add_argument("--name", action="append", metavar="NAME", help="a figure; may be repeated (default: all)")
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="where to put them (default: the first of --runs, or runs/EXPERIMENT)",
        )
    given = parser.parse_args(argv)
    places = given.runs or ([RUNS] if RUNS.is_dir() else [])  # nothing may have been run yet
    if command == "list":
        return _list(places)
    experiment = find_experiment(given.experiment)
    runs = [folder for folder in find_runs(places, experiment) if folder.finished()]
    if command == "table":
        print(getattr(tables, given.format)(experiment, runs))
    else:
        into = given.out or (given.runs[0] if given.runs else RUNS / experiment.name)
        _figure(experiment, runs, given.name or list(experiment.figures), into)
    return 0


def _figure(experiment: Experiment, runs: list[RunFolder], figures: list[str], into: Path) -> None:
    for name in figures:
        if name not in experiment.figures:
            others = f"it has {', '.join(experiment.figures) or 'none'}"
            raise UsageError(f"{experiment.name} has no figure {name!r}; {hint(name, experiment.figures, others)}")
    if not runs:
        raise UsageError(
            f"no finished run of {experiment.name} was found; minisets train {experiment.name} creates one"
        )
    protocols = [dataclasses.asdict(run.options()) for run in runs]
    for key in protocols[0]:
        values = {options[key] for options in protocols}
        if len(values) > 1 and key not in ("arch", "seed", "device"):
            text = " and ".join(map(readable, sorted(values)))
            raise UsageError(f"these runs do not belong in one figure: {flag(key)} {text}; choose some with --runs")
    folder = RunFolder(into, experiment)
    folder.make()
    save_figures(experiment, figures, runs, folder)


def _list(places: list[Path]) -> int:
    runs = find_runs(places)
    for name in NAMES:
        experiment = find_experiment(name)
        print(f"{name}: {experiment.title}")
        print(f"    presets: {', '.join(experiment.presets)}   figures: {', '.join(experiment.figures)}")
        for label in experiment.rows:
            print(f"    --arch {label!r}")
        _list_runs([run for run in runs if run.manifest()["task"] == name])
    others = [run for run in runs if run.manifest()["task"] not in NAMES]
    if others:
        print("other experiments")
        _list_runs(others)
    return 0


def _list_runs(runs: list[RunFolder]) -> None:
    for run in runs:
        try:
            print(f"    {run.path}: {_state(run)}")
        except UsageError as error:
            print(f"    {run.path}: {error}")


def _state(run: RunFolder) -> str:
    manifest = run.manifest()
    if manifest["task"] not in NAMES:
        state = "finished" if run.finished() else "unfinished"
        return f"{manifest['task']}, {state}"
    label = getattr(run.options(), "arch", run.experiment.title)
    if run.finished():
        return f"{label}, finished: {summary(run.experiment, run.result()['metrics'])}"
    if not run.progress_path.exists():
        return f"{label}, started"
    progress = run.progress()
    return f"{label}, at step {progress.get('saved', progress['step']):,} of {progress['steps']:,}"


if __name__ == "__main__":
    sys.exit(main())
