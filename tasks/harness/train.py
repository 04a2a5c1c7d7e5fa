"""The command `minisets train`: reading its options, and running what planning.py says they ask for."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from minisets.distributed import launched_processes
from tasks.harness import distributed, machine, tables
from tasks.harness.errors import Diverged, Interrupted, UsageError
from tasks.harness.experiment import NAMES, Experiment, find_experiment
from tasks.harness.machine import environment
from tasks.harness.metrics_log import digest_of
from tasks.harness.options import Settings, data_used, deviations, flag, readable
from tasks.harness.parser import Parser, add_options, folder_name, hint, reader
from tasks.harness.planning import RUNS, PlannedRun, planned_runs, refuse_unless_free, require_preset, stored_run
from tasks.harness.progress import report
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder


def train(argv: list[str]) -> int:
    """minisets train EXPERIMENT [options], in any order."""
    experiment, given = parse(argv)
    if given.pop("distributed"):
        return distributed.train(experiment, lambda team: _train(experiment, given, team), argv)
    if launched_processes() > 1:
        raise UsageError(
            f"{launched_processes()} processes were started; with --distributed they train one network together, and "
            "minisets sweep shares many runs among them"
        )
    return _train(experiment, given, None)


def _train(experiment: Experiment, given: dict[str, Any], team: distributed.Team | None) -> int:
    preset, seeds, out = (given.pop(key) for key in ("preset", "seeds", "out"))
    resume, start_over = given.pop("resume"), given.pop("start_over")
    if resume and start_over:
        raise UsageError("--resume continues a run and --start-over deletes it; choose one of them")
    if out and out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out takes a folder")
    if seeds < 1:
        raise UsageError(f"--seeds must be at least 1, given {seeds}")
    if resume and out and RunFolder(out).config_path.exists():
        plans = [stored_run(RunFolder(out, experiment), preset, given, seeds)]
    else:
        plans = planned_runs(experiment, preset or experiment.default_preset, given, seeds, out)
        if resume:
            named = {key: value for key, value in given.items() if key not in ("arch", "seed")}
            plans = [
                stored_run(plan.folder, preset, dict(named), 1) if plan.folder.config_path.exists() else plan
                for plan in plans
            ]
    for plan in plans:  # check all of them before the first starts, rather than after an hour
        plan.config.check()
        if team:
            team.check(plan.config)
        refuse_unless_free(plan, resume, start_over)
    machine.keep_memory()
    for i, plan in enumerate(plans, 1):
        prefix = f"[{i}/{len(plans)}] " if len(plans) > 1 else ""
        proceed = _perform(plan, resume, start_over, prefix, team.run if team else Run)
        if i < len(plans) and not proceed:
            raise Interrupted(f"stopped after {i} of {len(plans)} runs")
    if len(plans) > 1:
        folders, together = [plan.folder for plan in plans], RunFolder(out or RUNS / experiment.name / plans[0].preset)
        report(f"\n{tables.text(experiment, folders)}")
        save_figures(experiment, list(experiment.figures), folders, together)
    return 0


# ---- reading the command line ---------------------------------------------------------------------------------------


def parse(argv: list[str]) -> tuple[Experiment, dict[str, Any]]:
    """The experiment and the options given.  The experiment's name may stand anywhere among its options."""
    candidates = [word for word in argv if word.replace("-", "_").lower() in NAMES or (":" in word and word[0] != "-")]
    failure = None
    for word in candidates:
        try:
            experiment = find_experiment(word)
            given = vars(_parser(word, experiment, argv).parse_args(argv))
        except UsageError as error:
            failure = failure or error  # the word may be the value of an option: try the next
            continue
        if given.pop("experiment") == word:
            return experiment, given
    if failure:
        raise failure
    parser = Parser(prog="minisets train", usage="minisets train EXPERIMENT [options]")
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help=f"{', '.join(NAMES)}, or module:ATTRIBUTE; EXPERIMENT --help has more"
    )
    parser.parse_known_args(argv)  # --help, or nothing that could be a name
    words = [word for word in argv if not word.startswith("-")]
    find_experiment(next((word for word in words if hint(word, NAMES)), words[0]))  # which raises
    raise UsageError("expected the name of an experiment (see minisets train --help)")


def _parser(word: str, experiment: Experiment, argv: list[str]) -> Parser:
    """The parser of one experiment; its help shows the values of the preset that argv chooses."""
    chosen = Parser(prog="minisets train", add_help=False)
    chosen.add_argument("--preset", default=experiment.default_preset)
    preset = chosen.parse_known_args(argv)[0].preset
    require_preset(experiment, preset)
    parser = Parser(prog=f"minisets train {word}", description=experiment.description)
    parser.add_argument("experiment", metavar="EXPERIMENT", help=argparse.SUPPRESS)
    presets = {name: ", ".join(f"{flag(key)} {readable(value)}" for key, value in values.items())
               for name, values in experiment.presets.items()}  # fmt: skip
    about = "; ".join(f"{name}: {values or 'the defaults of every option'}" for name, values in presets.items())
    text = f"{about} (default: {experiment.default_preset}; the values below are those of {preset})"
    parser.add_argument("--preset", choices=tuple(presets), help=text.replace("%", "%%"))
    text = "number of seeds, starting at --seed (default: 1)"
    parser.add_argument("--seeds", type=reader(int), default=1, metavar="COUNT", help=text)
    text = f"folder of the run, or the parent folder of several runs (default: runs/{experiment.name}/PRESET)"
    parser.add_argument("--out", type=folder_name, metavar="DIR", help=text)
    text = "resume the run in the same folder; with a larger --steps, extend it; with another --device, move it"
    parser.add_argument("--resume", action="store_true", help=text)
    text = "train together with the other processes that mpiexec started: mpiexec -n 4 minisets train ... --distributed"
    parser.add_argument("--distributed", action="store_true", help=text)
    text = "delete the run in the same folder, whatever state it is in, and begin again"
    parser.add_argument("--start-over", action="store_true", help=text)
    rows = ", ".join(map(repr, experiment.rows_of(preset)))
    add_options(
        parser, experiment.config, {**experiment.presets[preset], "arch": rows}, in_paper=experiment.name in NAMES
    )
    return parser


# ---- running --------------------------------------------------------------------------------------------------------


def _perform(plan: PlannedRun, resume: bool, start_over: bool, prefix: str, make_run: Callable[..., Run]) -> bool:
    """One run, from wherever it is to its result and its figures; False if it was asked to stop at its end."""
    folder, config, experiment = plan.folder, plan.config, plan.folder.experiment
    is_new = not folder.path.exists()
    folder.make()
    data = f", data: {data_used(config)}" if data_used(config) else ""
    report(f"{prefix}{experiment.name}: {plan.title}, seed {config.seed}, preset {plan.preset}{data} -> {folder.path}")
    with folder.locked():
        refuse_unless_free(plan, resume, start_over)  # another process may have been here since
        if start_over:
            folder.clear()
        begun = folder.config_path.exists()
        if begun:
            if config != folder.options():
                _report_changes(folder.options(), config)  # config.json follows when the run's files prove to be whole
            elif folder.finished():
                report(f"  already finished: {summary(experiment, folder.result()['metrics'])}")
                left = [name for name in experiment.figures if not (folder.path / f"{name}.png").exists()]
                save_figures(experiment, left, [folder], folder)  # it may have been killed while plotting
                return True
            _warn_of_changes(folder.manifest(), config.device)
        else:
            if resume:
                report("  nothing to resume here: starting from scratch")
            folder.begin(plan.preset, config)
        run = make_run(folder, config, plan.title)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the run itself checks for nan
                metrics = experiment.train(config, run)
        except Exception as error:
            if not begun and run.done == 0 and not isinstance(error, Diverged | Interrupted):
                _undo(folder, is_new)  # nothing was computed: the same command may be tried again
            raise
        run.adopt_options()  # of a run without steps
        folder.write(folder.result_path, _result(plan, metrics, run.seconds))
        report(f"  {summary(experiment, metrics)}")
        save_figures(experiment, list(experiment.figures), [folder], folder)
    return not run.asked_to_stop


def _report_changes(old: Settings, new: Settings) -> None:
    if old.device != new.device:
        report(f"  moved from {old.device} to {new.device}: the last bits may differ")
    if getattr(old, "steps", None) != getattr(new, "steps", None):
        report(f"  extended from {old.steps:,} to {new.steps:,} steps")


def _undo(folder: RunFolder, is_new: bool) -> None:
    """Leave nothing of a run that failed before its first step."""
    with contextlib.suppress(UsageError, OSError):  # the failure itself is what matters
        folder.clear()
        if is_new:
            folder.path.rmdir()


def _result(plan: PlannedRun, metrics: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The content of result.json."""
    config, manifest = plan.config, plan.folder.manifest()
    about = {"run": manifest["run"], "task": manifest["task"], "preset": plan.preset}
    about |= {"options": dataclasses.asdict(config), "metrics": metrics, "log": digest_of(plan.folder.metrics())}
    about |= {"data": data_used(config)} if data_used(config) else {}
    about |= {key: manifest[key] for key in ("extended_from", "devices") if key in manifest}
    about |= {"seconds": round(seconds, 1), "deviations": {d.name: [d.ours, d.protocol] for d in deviations(config)}}
    return about | environment(config.device)


def _warn_of_changes(manifest: dict[str, Any], device: str) -> None:
    """Report what changed since the run started and may affect its last bits."""
    for what, now in environment(device).items():
        then = manifest.get(what)
        if then != now and then is not None:
            print(f"  {what} then: {then}\n  {what} now: {now}\n  the last bits may differ", file=sys.stderr)


def summary(experiment: Experiment, metrics: dict[str, Any]) -> str:
    """The metrics of a result in one line."""
    table = experiment.table
    names = {**table.columns, **{name: name for row in table.references.values() for name in row.values()}}
    return "; ".join(
        f"{text} {metrics[name]:.4f}" for name, text in names.items() if isinstance(metrics.get(name), float)
    )


def save_figures(experiment: Experiment, names: list[str], runs: list[RunFolder], into: RunFolder) -> None:
    """Plot figures of the runs into a folder and report where they are."""
    for name in names:
        figure = experiment.figures[name](runs)
        if figure is None:  # it needs a kind of network that is not among them, or weights that were not kept
            report(f"  no figure {name}: none of these runs has what it shows")
        else:
            report(f"  figure: {into.save_figure(name, figure)}")
