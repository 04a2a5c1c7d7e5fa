"""A run on disk: one folder of plain files, complete at any moment; metrics.jsonl grows by whole lines.

config.json       what was asked for, and the versions and the machine it ran on
metrics.jsonl     one line per logged step: the loss, and what was evaluated
checkpoint.npz    model, optimizer and random generators, to resume from
best.npz          the model with the smallest validation error, where a trainer selects by that
progress.json     the step reached, and the seconds spent so far
result.json       the end: metrics on the test sets
examples.npz      what the figures show of a trained network, so that they can be plotted without its checkpoint
*.png, *.svg      figures
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minisets import checkpoint
from minisets.files import atomic_write
from minisets.nn import Module
from tasks.harness.errors import UsageError, as_usage_error
from tasks.harness.experiment import NAMES, Experiment, find_experiment
from tasks.harness.machine import environment
from tasks.harness.options import Settings, from_json

try:
    import fcntl
except ImportError:  # Windows has no flock: there, nothing prevents two runs in one folder
    fcntl = None


class RunFolder:
    """The files of one run.  The experiment may be left out if it is one of the paper's."""

    def __init__(self, path: str | os.PathLike, experiment: Experiment | None = None) -> None:
        self.path, self._experiment = Path(path), experiment
        self.config_path, self.metrics_path = self.path / "config.json", self.path / "metrics.jsonl"
        self.checkpoint_path, self.best_path = self.path / "checkpoint.npz", self.path / "best.npz"
        self.progress_path, self.result_path = self.path / "progress.json", self.path / "result.json"
        self.examples_path = self.path / "examples.npz"

    # ---- reading ---------------------------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Any]:
        """config.json: the task, the preset, the options and the versions."""
        manifest = read_json(self.config_path)
        if not isinstance(manifest, dict) or not {"task", "preset", "options"} <= manifest.keys():
            raise UsageError(f"{self.config_path} is not the configuration of a run")
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

    def finished(self) -> bool:
        """Whether there is a result, and of as many steps as config.json asks for."""
        if not self.result_path.exists():
            return False
        asked, done = (read.get("options") or {} for read in (self.manifest(), self.result()))
        return asked.get("steps") == done.get("steps", asked.get("steps"))

    def result(self) -> dict[str, Any]:
        """result.json: the metrics and the seconds."""
        result = read_json(self.result_path)
        complete = isinstance(result, dict) and isinstance(result.get("metrics"), dict)
        if not (complete and isinstance(result.get("seconds"), int | float)):
            raise UsageError(f"{self.result_path} is not the result of a run")
        return result

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; a last line that a crash cut off is ignored."""
        if not self.metrics_path.exists():
            return []
        with as_usage_error(f"cannot read {self.metrics_path}"):
            *complete, _ = self.metrics_path.read_bytes().split(b"\n")
        lines = []
        for number, text in enumerate(complete, 1):
            try:
                line = json.loads(text)
                lines.append(line | {"step": int(line["step"])})
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"{self.metrics_path} is damaged in line {number}") from None
        return lines

    def files(self) -> list[Path]:
        """The files that a run has left in the folder."""
        paths = (self.config_path, self.metrics_path, self.checkpoint_path, self.result_path)
        return [path for path in paths if path.exists()]

    def load_model(self) -> tuple[Settings, Module]:
        """The options, with the device set to the CPU, and the trained network in evaluation mode."""
        config = dataclasses.replace(self.options(), device="cpu")
        net = self.experiment.model(config)
        checkpoint.load(self.checkpoint_path, model=net)
        return config, net.eval()

    def examples(
        self, compute: Callable[[Any, Any], Mapping[str, Any] | None] | None = None
    ) -> dict[str, np.ndarray] | None:
        """The arrays that the figures show: computed from (config, net) once and kept in examples.npz.

        None if they were not kept and the checkpoint, or the data, is no longer there.
        """
        if self.examples_path.exists():
            with as_usage_error(f"cannot read {self.examples_path}"):
                try:
                    with open(self.examples_path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
                        return _Examples(self.examples_path, arrays)
                except (ValueError, EOFError, KeyError, zipfile.BadZipFile):
                    raise UsageError(f"{self.examples_path} is damaged; delete it to have it computed again") from None
        if compute is None or not self.checkpoint_path.exists() or not _data_is_present(self.options()):
            return None
        arrays = compute(*self.load_model())
        if arrays is not None:
            content = io.BytesIO()
            np.savez_compressed(content, **arrays)
            self.write_bytes(self.examples_path, content.getvalue())
        return arrays

    # ---- writing ---------------------------------------------------------------------------------------------------

    def make(self) -> None:
        with as_usage_error(f"cannot write to the folder {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)

    def begin(self, preset: str, config: Settings, **more: Any) -> None:
        """Create the folder and its config.json."""
        self.make()
        about = {"task": self.experiment.name, "preset": preset, "options": dataclasses.asdict(config)}
        self.write(self.config_path, about | more | environment(config.device))

    def extend(self, config: Settings) -> None:
        """Let a run continue to more steps; until it gets there, result.json and the figures are of fewer steps."""
        manifest = self.manifest()
        earlier = [*manifest.get("extended_from", []), manifest["options"]["steps"]]
        self.begin(manifest["preset"], config, extended_from=earlier)
        self.examples_path.unlink(missing_ok=True)

    def write(self, path: Path, value: Any) -> None:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        self.write_bytes(path, (text + "\n").encode())

    def write_bytes(self, path: Path, content: bytes) -> None:
        with as_usage_error(f"cannot write {path}"), atomic_write(path) as file:
            file.write(content)

    def append(self, line: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl, all of it or nothing."""
        with as_usage_error(f"cannot write {self.metrics_path}"), open(self.metrics_path, "ab", buffering=0) as file:
            text, before = (json.dumps(line) + "\n").encode(), file.seek(0, os.SEEK_END)
            try:
                if file.write(text) < len(text):
                    raise OSError("no room for the whole line")
                os.fsync(file.fileno())  # before the checkpoint that relies on it
            except OSError:
                file.truncate(before)
                raise

    def rewind(self, step: int) -> None:
        """Drop the lines of metrics.jsonl after the step: a resumed run writes them again."""
        kept = "".join(json.dumps(line) + "\n" for line in self.metrics() if line["step"] <= step)
        self.write_bytes(self.metrics_path, kept.encode())

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
        if fcntl is None:
            yield
            return
        with as_usage_error(f"cannot write to the folder {self.path}"):
            handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another process is running in {self.path}; wait for it, or choose another --out"
                ) from None
            for leftover in self.path.glob(".*.unfinished"):  # from a process that was killed
                leftover.unlink(missing_ok=True)
            yield
        finally:
            os.close(handle)


class _Examples(dict):
    """The arrays of an examples.npz; one that is missing is reported as what it is, an outdated file."""

    def __init__(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(arrays)
        self.path = path

    def __missing__(self, name: str) -> np.ndarray:
        raise UsageError(f"{self.path} has no {name!r}: it is out of date; delete it to have it computed again")


def _data_is_present(config: Settings) -> bool:
    return getattr(config, "data_is_present", lambda: True)()


def read_json(path: Path) -> Any:
    with as_usage_error(f"cannot read {path}"):
        text = path.read_bytes()
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"{path} is damaged: it is not JSON") from None


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
