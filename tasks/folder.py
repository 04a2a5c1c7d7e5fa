"""A run on the disk: one folder of plain files, whole at any moment; metrics.jsonl grows by whole lines.

config.json       what was asked for, and the versions and the machine it ran on
metrics.jsonl     a line for each logged step: the loss, and what was evaluated
checkpoint.npz    model, optimizer and random generators, to go on from
best.npz          the model with the smallest error on validation sets, where a trainer chooses by that
progress.json     how far it is, and the seconds it took so far
result.json       the end: metrics on the test sets
*.png, *.svg      figures
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import io
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from minisets.atomic import atomic_write
from tasks.options import Settings, UsageError, from_json
from tasks.registry import TASKS, find_task

try:
    import fcntl
except ImportError:  # Windows has no flock; two runs in one folder are then the user's business
    fcntl = None


class Folder:
    """The files of one run."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        self.config, self.metrics = self.path / "config.json", self.path / "metrics.jsonl"
        self.checkpoint, self.progress = self.path / "checkpoint.npz", self.path / "progress.json"
        self.result, self.best = self.path / "result.json", self.path / "best.npz"

    # ---- reading ---------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """config.json, with the task, the preset, the options and the versions."""
        about = read_json(self.config)
        complete = isinstance(about, dict) and {"task", "preset", "options"} <= about.keys()
        if not complete or about["task"] not in TASKS:
            raise UsageError(f"{self.config} is not the configuration of a run")
        return about

    def options(self) -> Settings:
        """The options in config.json, as the task's own Config."""
        about = self.about()
        return from_json(find_task(about["task"]).Config, about["options"], str(self.config))

    def outcome(self) -> dict[str, Any]:
        """result.json, with the metrics and the seconds."""
        result = read_json(self.result)
        whole = isinstance(result, dict) and isinstance(result.get("metrics"), dict)
        if not (whole and isinstance(result.get("seconds"), int | float)):
            raise UsageError(f"{self.result} is not the result of a run")
        return result

    def lines(self) -> list[dict[str, Any]]:
        """metrics.jsonl; a last line that a crash cut off is passed over."""
        if not self.metrics.exists():
            return []
        with sentences(f"cannot read {self.metrics}"):
            *complete, _ = self.metrics.read_bytes().split(b"\n")
        lines = []
        for number, text in enumerate(complete, 1):
            try:
                line = json.loads(text)
                lines.append(line | {"step": int(line["step"])})
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"{self.metrics} is damaged in line {number}") from None
        return lines

    def files(self) -> list[Path]:
        """Whatever a run has left in the folder."""
        return [path for path in (self.config, self.metrics, self.checkpoint, self.result) if path.exists()]

    # ---- writing ---------------------------------------------------------------------------------------------------

    def make(self) -> None:
        with sentences(f"cannot write to the folder {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)

    def begin(self, task: str, preset: str, config: Settings) -> None:
        """Make the folder and its config.json."""
        self.make()
        options = dataclasses.asdict(config)
        self.write(self.config, {"task": task, "preset": preset, "options": options, **environment()})

    def write(self, path: Path, value: Any) -> None:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        self.write_bytes(path, (text + "\n").encode())

    def write_bytes(self, path: Path, content: bytes) -> None:
        with sentences(f"cannot write {path}"), atomic_write(path) as file:
            file.write(content)

    def append(self, line: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl, all of it or nothing."""
        with sentences(f"cannot write {self.metrics}"), open(self.metrics, "ab", buffering=0) as file:
            text, before = (json.dumps(line) + "\n").encode(), file.seek(0, os.SEEK_END)
            try:
                if file.write(text) < len(text):
                    raise OSError("no room for the whole line")
                os.fsync(file.fileno())  # before the checkpoint that counts on it
            except OSError:
                file.truncate(before)
                raise

    def rewind(self, step: int) -> None:
        """Forget the lines of metrics.jsonl after the step: a resumed run will write them again."""
        kept = "".join(json.dumps(line) + "\n" for line in self.lines() if line["step"] <= step)
        self.write_bytes(self.metrics, kept.encode())

    def draw(self, name: str, figure: Any) -> Path:
        """A figure as PNG and SVG; the path of the PNG."""
        for kind in ("svg", "png"):
            content = io.BytesIO()
            figure.savefig(content, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
            self.write_bytes(self.path / f"{name}.{kind}", content.getvalue())
        return self.path / f"{name}.png"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from running in the same folder; a process that dies lets go by itself."""
        if fcntl is None:
            yield
            return
        with sentences(f"cannot write to the folder {self.path}"):
            handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another process runs in {self.path}; wait for it, or choose another --out") from None
            for leftover in self.path.glob(".*.unfinished"):  # of a process that was killed
                leftover.unlink(missing_ok=True)
            yield
        finally:
            os.close(handle)


THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def environment() -> dict[str, Any]:
    """Versions and machine: what a result may depend on in its last bits."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    with contextlib.suppress(Exception):  # absent where the project is not installed
        versions["minisets"] = importlib.metadata.version("minisets")
    with contextlib.suppress(Exception):  # NumPy's build notes are not the same everywhere
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        versions["blas"] = f"{blas['name']} {blas['version']}"
    if "cupy" in sys.modules:
        versions["cupy"] = sys.modules["cupy"].__version__
    threads = {name: os.environ[name] for name in THREADS if name in os.environ}
    machine = {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count(), "threads": threads}
    return {"versions": versions, "machine": machine}


def _processor() -> str:
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo") as file:
        return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    return platform.processor() or platform.machine()


def read_json(path: Path) -> Any:
    with sentences(f"cannot read {path}"):
        text = path.read_bytes()
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"{path} is damaged: it is not JSON") from None


@contextlib.contextmanager
def sentences(what: str) -> Iterator[None]:
    """Trouble with the disk as one sentence."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what}: {error.strerror or error}") from None


def find(places: list[Path], task: str) -> list[Folder]:
    """All runs of a task in and under the given folders, each once, in the order of their names."""
    found = {}
    for place in places:
        if not place.is_dir():
            raise UsageError(f"there is no folder {place}; --runs takes folders that hold runs")
        for path in sorted(place.rglob("config.json")):
            folder = Folder(path.parent)
            try:
                if folder.about()["task"] == task:
                    found[path.resolve()] = folder
            except UsageError as error:  # somebody else's config.json, or a damaged one
                print(f"minisets: passed over: {error}", file=sys.stderr)
    return list(found.values())
