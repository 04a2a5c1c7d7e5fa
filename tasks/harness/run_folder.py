"""A run on disk: one folder of plain files, complete at any moment; metrics.jsonl grows by whole lines.

config.json       what was asked for, the run's name, and the versions and the machine it ran on
metrics.jsonl     one line per logged step: the loss, and what was evaluated
checkpoint.npz    model, optimizer and random generators, to resume from
best.npz          the model with the smallest validation error, where a trainer selects by that
progress.json     the step reached, and the seconds spent so far: for people, nothing depends on it
result.json       the end: metrics on the test sets
examples.npz      what the figures show of a trained network, so that they can be plotted without its checkpoint
*.png, *.svg      figures
note.txt          written by people, here or in the folder above: how a run deviates beyond its options

A run's name is a random id and a digest of what was asked for.  Every file carries it, so that a file of another run,
or a configuration that was edited, is noticed.  The checkpoint and the result carry a digest of the log as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from minisets import checkpoint
from minisets.checkpoint import Checkpoint
from minisets.files import atomic_write, sync_folder
from minisets.nn import Module
from tasks.harness import records
from tasks.harness.errors import UsageError, as_usage_error
from tasks.harness.examples import Examples, packed
from tasks.harness.experiment import NAMES, Experiment, find_experiment
from tasks.harness.lock import FolderLock
from tasks.harness.machine import environment
from tasks.harness.metrics_log import Line, MetricsLog, digest_of
from tasks.harness.options import Settings, from_json
from tasks.harness.records import read_json, write_json

ASKED_FOR = ("task", "preset", "options", "continues", "extended_from", "devices")  # entries of config.json
START_OVER = "put the right file back, or begin again with --start-over"


class RunFolder:
    """The files of one run.  The experiment may be left out if it is one of the paper's."""

    def __init__(self, path: str | PathLike, experiment: Experiment | None = None) -> None:
        self.path, self._experiment = Path(path), experiment
        self.config_path, self.metrics_path = self.path / "config.json", self.path / "metrics.jsonl"
        self.checkpoint_path, self.best_path = self.path / "checkpoint.npz", self.path / "best.npz"
        self.progress_path, self.result_path = self.path / "progress.json", self.path / "result.json"
        self.examples_path = self.path / "examples.npz"
        self.log, self.lock = MetricsLog(self.metrics_path), FolderLock(self.path)

    # ---- reading ---------------------------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Any]:
        """config.json: the task, the preset, the options, the run's name and the versions."""
        manifest = read_json(self.config_path, records.CONFIG, "the configuration of a run")
        if "run" in manifest and manifest["run"].partition("-")[2] != _digest_of_request(manifest):
            raise UsageError(f"{self.config_path} was changed after the run began; restore the original")
        return manifest

    @property
    def experiment(self) -> Experiment:
        if self._experiment is None:
            name = self.manifest()["task"]
            if name not in NAMES:
                raise UsageError(f"{self.path} holds a run of {name}, which is not one of the paper's experiments")
            self._experiment = find_experiment(name)
        return self._experiment

    def options(self) -> Settings:
        """The options in config.json, as the experiment's own Config."""
        return from_json(self.experiment.config, self.manifest()["options"], str(self.config_path))

    def name(self) -> str:
        """The name of the run, which all its files carry; runs of earlier versions, which had none, are only read."""
        name = self.manifest().get("run")
        if name is None:
            raise UsageError(
                f"{self.path} holds a run of an earlier version, which cannot be resumed; choose another --out"
            )
        return name

    def require_own(self, path: Path, name: str | None) -> None:
        """Raise a UsageError if a file that carries this name does not belong to the run."""
        manifest = self.manifest()
        if "run" in manifest and name not in (manifest["run"], *manifest.get("continues", [])):
            whose = f"belongs to the run {name}" if name else "does not say to which run it belongs"
            raise UsageError(f"{path} {whose}, but this is the run {manifest['run']}: {START_OVER}")

    def finished(self) -> bool:
        """Whether there is a result, and of what config.json asks for."""
        if not self.result_path.exists():
            return False
        manifest, result = self.manifest(), self.result()
        if "run" in manifest:
            return result["run"] == manifest["run"]
        asked = manifest["options"].get("steps")
        return asked == (result.get("options") or {}).get("steps", asked)

    def result(self) -> dict[str, Any]:
        """result.json: the metrics and the seconds."""
        result = read_json(self.result_path, records.RESULT, "the result of a run")
        self.require_own(self.result_path, result.get("run"))
        for name in self._columns():
            if name in result["metrics"] and not records.NUMBER.accepts(result["metrics"][name]):
                raise UsageError(f"{self.result_path} is not the result of a run: its {name} is not a number")
        return result

    def _columns(self) -> list[str]:
        """The metrics that a table shows."""
        if self._experiment is None and self.manifest()["task"] not in NAMES:
            return []
        table = self.experiment.table
        return [*table.columns, *(name for row in table.references.values() for name in row.values())]

    def progress(self) -> dict[str, Any]:
        """progress.json: the step reached."""
        progress = read_json(self.progress_path, records.PROGRESS, "the progress of a run")
        self.require_own(self.progress_path, progress["run"])
        return progress

    def metrics(self) -> list[Line]:
        """The lines of metrics.jsonl."""
        if not self.metrics_path.exists():
            return []
        run, lines = self.log.read()
        self.require_own(self.metrics_path, run)
        if self.finished() and digest_of(lines) != self.result().get("log", digest_of(lines)):
            raise UsageError(f"{self.metrics_path} is not the log of this run's result; restore the original")
        return lines

    def note(self) -> str | None:
        """note.txt of the folder or of the one above: what its options do not say of how a run deviates."""
        for path in (self.path / "note.txt", self.path.parent / "note.txt"):
            if path.exists():
                return " ".join(path.read_text(encoding="utf-8").split())
        return None

    def files(self) -> list[Path]:
        """The files that a run has left in the folder."""
        paths = (self.config_path, self.metrics_path, self.checkpoint_path, self.best_path, self.result_path)
        return [path for path in (*paths, self.progress_path) if path.exists()]

    def read_checkpoint(self, path: Path, model: Module, notes: records.Schema) -> Checkpoint:
        """checkpoint.npz or best.npz, if it is of this run and its notes and weights are as they should be."""
        saved = checkpoint.read(path, model)
        problem = records.mismatch(saved.notes, notes)
        if problem:
            raise UsageError(f"{path} is not a checkpoint of a run: among its notes it has {problem}")
        self.require_own(path, str(saved.notes["run"]))
        saved.match(model=model)
        for name, array in saved.arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise UsageError(f"{path} is damaged: {name} is not finite; {START_OVER}")
        return saved

    def load_model(self) -> tuple[Settings, Module]:
        """The options, with the device set to the CPU, and the trained network in evaluation mode."""
        config = dataclasses.replace(self.options(), device="cpu")
        net = self.experiment.model(config)
        self.read_checkpoint(self.checkpoint_path, net, records.NOTES).restore(model=net)
        return config, net.eval()

    def examples(
        self, compute: Callable[[Any, Any], Mapping[str, Any] | None] | None = None
    ) -> dict[str, np.ndarray] | None:
        """The arrays that the figures show: computed from (config, net) once and kept in examples.npz.

        None if they were not kept and the checkpoint, or the data, is no longer there.
        """
        if self.examples_path.exists():
            examples = Examples(self.examples_path)
            if examples.run is not None:
                self.require_own(self.examples_path, examples.run)
            return examples
        if compute is None or not self.checkpoint_path.exists() or not _data_is_present(self.options()):
            return None
        arrays = compute(*self.load_model())
        if arrays is not None:
            self.write_bytes(self.examples_path, packed(self.name(), arrays))
        return arrays

    # ---- writing ---------------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Create the folder, and parents as needed, so that they survive a power failure."""
        missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
        with as_usage_error(f"cannot write to the folder {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync_folder(path.parent)

    def begin(self, preset: str, config: Settings, run_id: str | None = None, **more: Any) -> None:
        """Create the folder and its config.json."""
        self.make()
        about = {"task": self.experiment.name, "preset": preset, "options": dataclasses.asdict(config), **more}
        name = f"{run_id or secrets.token_hex(4)}-{_digest_of_request(about)}"
        self.write(self.config_path, {"run": name, **about, **environment(config.device)})

    def change(self, config: Settings) -> None:
        """Let a run continue to more steps, or on another device; until it ends, result.json and figures are older."""
        old, name = self.manifest(), self.name()
        more = {key: old[key] for key in ("extended_from", "devices") if key in old}
        if old["options"].get("steps") != getattr(config, "steps", None):
            more["extended_from"] = [*old.get("extended_from", []), old["options"]["steps"]]
            self.examples_path.unlink(missing_ok=True)
        if old["options"]["device"] != config.device:
            more["devices"] = [*old.get("devices", [old["options"]["device"]]), config.device]
        more["continues"] = [*old.get("continues", []), name]
        self.begin(old["preset"], config, run_id=name.partition("-")[0], **more)

    def clear(self) -> None:
        """Delete the run: its files, and the figures of its experiment."""
        figures = [self.path / f"{name}.{kind}" for name in self.experiment.figures for kind in ("png", "svg")]
        with as_usage_error(f"cannot delete the run in {self.path}"):
            for path in (*self.files()[::-1], self.examples_path, *figures):  # config.json last
                path.unlink(missing_ok=True)

    def write(self, path: Path, value: Mapping[str, Any]) -> None:
        self.lock.require_same_folder()
        write_json(path, value)

    def write_bytes(self, path: Path, content: bytes) -> None:
        self.lock.require_same_folder()
        with as_usage_error(f"cannot write {path}"), atomic_write(path) as file:
            file.write(content)

    def append(self, line: Line) -> None:
        """Add a line to metrics.jsonl, all of it or nothing."""
        self.lock.require_same_folder()
        self.log.append(line)

    def rewind(self, step: int) -> list[Line]:
        """Drop the lines of metrics.jsonl after the step, which a resumed run writes again; returns the others."""
        lines = [line for line in self.metrics() if line["step"] <= step]
        self.lock.require_same_folder()
        self.log.write(self.name(), lines)
        return lines

    def save_figure(self, name: str, figure: Any) -> Path:
        """Write a figure as PNG and SVG, the same figure as the same bytes; returns the path of the PNG."""
        import matplotlib

        for kind in ("svg", "png"):
            content = io.BytesIO()
            with matplotlib.rc_context({"svg.hashsalt": "minisets"}):
                figure.savefig(content, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
            self.write_bytes(self.path / f"{name}.{kind}", content.getvalue())
        return self.path / f"{name}.png"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from running in the same folder; the lock ends with the process."""
        with self.lock.held():
            for leftover in self.path.glob(".*.unfinished"):  # from a process that was killed
                leftover.unlink(missing_ok=True)
            yield


def _data_is_present(config: Settings) -> bool:
    return getattr(config, "data_is_present", lambda: True)()


def _digest_of_request(manifest: Mapping[str, Any]) -> str:
    """A digest of what was asked for."""
    return records.digest({name: manifest.get(name) for name in ASKED_FOR})


def find_runs(places: list[Path], experiment: Experiment | None = None) -> list[RunFolder]:
    """All runs, or those of one experiment, in and under the given folders, each once, sorted by name."""
    found = {}
    for place in places:
        if not place.is_dir():
            raise UsageError(f"there is no folder {place}; --runs takes folders that hold runs")
        for path in sorted(place.rglob("config.json")):
            folder = RunFolder(path.parent, experiment)
            try:
                name = folder.manifest()["task"]
                if experiment is None or name == experiment.name:
                    found[path.resolve()] = folder
            except UsageError as error:  # another program's config.json, or a damaged one
                print(f"minisets: skipped: {error}", file=sys.stderr)
    return list(found.values())
