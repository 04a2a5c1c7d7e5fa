"""Which runs the options of a command ask for, and whether they may start: their folders must be free."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.harness.errors import UsageError
from tasks.harness.experiment import Experiment
from tasks.harness.options import AUTO, Settings, flag, slug
from tasks.harness.parser import hint
from tasks.harness.run_folder import RunFolder

RUNS = Path("runs")


@dataclass(frozen=True)
class PlannedRun:
    """A run to perform: its folder and its options."""

    folder: RunFolder
    preset: str
    config: Settings

    @property
    def title(self) -> str:
        return getattr(self.config, "arch", self.folder.experiment.title)


def require_preset(experiment: Experiment, preset: str) -> None:
    if preset not in experiment.presets:
        others = f"the presets are {', '.join(experiment.presets)}"
        raise UsageError(f"{experiment.name} has no preset {preset!r}; {hint(preset, experiment.presets, others)}")


def configurations(experiment: Experiment, preset: str, given: dict[str, Any], seeds: int) -> list[Settings]:
    """What the options ask for: every architecture with every seed."""
    given = {**experiment.presets[preset], **given}
    labels = given.pop("arch", experiment.rows_of(preset))
    labels = [row for label in labels for row in (experiment.rows if label == "all" else [label])]
    archs = [{"arch": label} for label in labels] or [{}]
    first = given.pop("seed", 0)
    configs = [experiment.config(**given, **arch, seed=first + i) for arch in archs for i in range(seeds)]
    return list(dict.fromkeys(configs))  # a row that was named twice, or in two spellings, is trained once


def train_command(
    experiment: Experiment, preset: str, config: Settings, seeds: Sequence[int], archs: Sequence[str] = ()
) -> str:
    """The command line that trains networks with these options: what the preset does not say is spelled out.

    archs: to train instead of the configuration's own.
    """
    words = ["minisets", "train", experiment.name]
    words += ["--preset", preset] if preset != experiment.default_preset else []
    usual = experiment.config(**experiment.presets.get(preset, {}))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name == "arch":
            words += [word for arch in archs or [value] for word in option_words("arch", arch)]
        elif field.name == "data":  # whose default depends on what is there
            words += option_words("data", value)
        elif field.name not in ("seed", "device") and value != getattr(usual, field.name):
            matters = not field.metadata["bookkeeping"] or field.name == experiment.table.by
            words += option_words(field.name, value) if matters else []
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        words += ["--seed", str(seeds[0])] if seeds[0] else []
        words += ["--seeds", str(len(seeds))] if len(seeds) > 1 else []
        return as_typed(words)
    return " && ".join(as_typed([*words, "--seed", str(seed)]) for seed in seeds)


def as_typed(words: Iterable[str]) -> str:
    """A command line as people type it, with quotes where they are needed."""
    return " ".join(word if re.fullmatch(r"[\w./:=,+-]+", word) else f'"{word}"' for word in words)


def option_words(name: str, value: Any) -> list[str]:
    """An option as words of a command line."""
    if isinstance(value, bool):
        return [flag(name) if value else flag(f"no_{name}")]
    return [flag(name), str(value)]


def run_name(experiment: Experiment, config: Settings) -> str:
    """The name of a run's folder among others of the same experiment and preset."""
    return f"{slug(getattr(config, 'arch', experiment.name))}-seed{config.seed}"


def planned_runs(
    experiment: Experiment, preset: str, given: dict[str, Any], seeds: int, out: Path | None
) -> list[PlannedRun]:
    """The runs that the options of `minisets train` ask for, with their folders."""
    configs = configurations(experiment, preset, given, seeds)
    if len(configs) == 1 and out:
        return [PlannedRun(RunFolder(out, experiment), preset, configs[0])]
    if out and RunFolder(out).files():
        _require_config(RunFolder(out))
        raise UsageError(f"{out} holds a single run; the folders of several runs need another --out")
    root = out or RUNS / experiment.name / preset
    return [
        PlannedRun(RunFolder(root / run_name(experiment, config), experiment), preset, config) for config in configs
    ]


def stored_run(folder: RunFolder, preset: str | None, given: dict[str, Any], seeds: int) -> PlannedRun:
    """The run in the folder, as its config.json has it; options that are given must agree with it, or extend it."""
    if seeds > 1:
        raise UsageError(f"{folder.path} holds a single run; --seeds {seeds} needs another --out")
    _require_same_experiment(folder)
    config, stored = folder.options(), folder.manifest()["preset"]
    if preset and preset != stored:
        raise UsageError(f"{folder.path} holds a run of preset {stored}, not of {preset}; choose another --out")
    if "arch" in given:
        if len(given["arch"]) > 1:
            raise UsageError(f"{folder.path} holds a single run; several --arch need another --out")
        given["arch"] = dataclasses.replace(config, arch=given["arch"][0]).arch
    if given.get("data") == AUTO:  # it continues with the data that it started with
        del given["data"]
    _require_same_options(folder, dataclasses.asdict(config) | given, resume=True)
    more = {key: given[key] for key in ("steps", "device") if key in given}
    return PlannedRun(folder, stored, dataclasses.replace(config, **more))


def refuse_unless_free(plan: PlannedRun, resume: bool, start_over: bool) -> None:
    """A folder is free if it holds no run, or the very run that is to be resumed, or one that is to be deleted."""
    folder = plan.folder
    if start_over:
        return
    if folder.config_path.exists():
        _require_same_experiment(folder)
        _require_same_options(folder, dataclasses.asdict(plan.config), resume)
        if not resume:
            raise UsageError(
                f"{folder.path} already holds this run; --resume continues it, --start-over deletes it, "
                "another --out starts a new one"
            )
    else:
        _require_config(folder)


def _require_config(folder: RunFolder) -> None:
    """Refuse a folder that holds other files of a run alone."""
    if folder.files() and not folder.config_path.exists():
        raise UsageError(
            f"{folder.path} holds {folder.files()[0].name}, but no config.json: put it back, begin again with "
            "--start-over, or choose another --out"
        )


def _require_same_experiment(folder: RunFolder) -> None:
    other = folder.manifest()["task"]
    if other != folder.experiment.name:
        raise UsageError(f"{folder.path} holds a run of {other}, not of {folder.experiment.name}; choose another --out")


def _require_same_options(folder: RunFolder, wanted: dict[str, Any], resume: bool) -> None:
    """Refuse a folder with another configuration; more steps are an extension, and a run may change its device."""
    old = dataclasses.asdict(folder.options())
    names = [name for name in old if old[name] != wanted[name] and not (name == "device" and resume)]
    if names == ["steps"] and wanted["steps"] > old["steps"]:
        if resume:
            return
        raise UsageError(
            f"{folder.path} holds this run with {old['steps']:,} steps; --resume extends it to {wanted['steps']:,}"
        )
    if names:
        differences = "; ".join(f"{flag(name)} {old[name]} there, {wanted[name]} here" for name in names)
        raise UsageError(f"{folder.path} holds a run with another configuration ({differences}); choose another --out")
