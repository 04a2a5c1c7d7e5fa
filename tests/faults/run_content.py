"""What the files of a run hold: what two runs must have in common, and which edits nothing could tell."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from tasks.harness.records import digest

FILES = ("config.json", "metrics.jsonl", "checkpoint.npz", "best.npz", "progress.json", "result.json")
COMPARED = tuple(name for name in FILES if name != "progress.json")  # on which nothing depends
NOT_ITS_BITS = {"run", "checksum", "seconds", "versions", "machine", "source"}


def with_checksum(text: bytes) -> bytes:
    """A JSON file as the project would have written it, so that the checksum alone does not give it away."""
    try:
        value = json.loads(text)
        del value["checksum"]
        return json.dumps({**value, "checksum": digest(value)}).encode()
    except Exception:  # there is no checksum of this
        return text


def content(path: Path) -> Any:
    """What must agree with the undisturbed run: all but the run's name, the time it took and the machine."""
    if not path.is_file():
        return None
    if path.suffix == ".npz":
        found: dict[str, Any] = {}
        for name, array in read_npz(path).items():
            found[name] = (array.dtype.str, array.shape, array.tobytes())
            if array.dtype.kind == "U":
                found[name] = json.loads(str(array))
                found[name]["notes"] = {key: x for key, x in found[name]["notes"].items() if key not in NOT_ITS_BITS}
        return found
    if path.suffix == ".jsonl":
        return path.read_bytes().splitlines()[1:]  # the first line names the run
    about = json.loads(path.read_bytes())
    kept = ("task", "preset", "options", "extended_from") if path.name == "config.json" else about.keys() - NOT_ITS_BITS
    return {key: about.get(key) for key in kept}


def plausible(name: str, before: Path, after: Path) -> bool:
    """Whether nothing in a file could tell that it was edited: other finite numbers where there were numbers before."""
    if not after.is_file() or not before.is_file():
        return False
    try:
        if name.endswith(".npz"):
            old, new = (read_npz(path) for path in (before, after))
            return old.keys() == new.keys() and all(_same_kind(key, old[key], new[key]) for key in old)
        if name == "metrics.jsonl":
            old, new = ([json.loads(line) for line in path.read_bytes().splitlines()] for path in (before, after))
            return [line.get("step") for line in old] == [line.get("step") for line in new] and all(
                map(_finite, new[1:])
            )
        if name != "result.json":
            return False
        return after.read_bytes() == with_checksum(after.read_bytes())  # whoever edits it can edit its checksum as well
    except Exception:  # it cannot be read at all
        return False


def read_npz(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _same_kind(name: str, old: np.ndarray, new: np.ndarray) -> bool:
    """An array as it was, or other weights: finite, and if they are Adam's squares, not negative."""
    if old.dtype != new.dtype or old.shape != new.shape:
        return False
    weights = old.dtype.kind == "f" and bool(np.isfinite(new).all()) and (new.min() >= 0 or "optimizer/v" not in name)
    counts = name == "optimizer/steps" and new.min() >= 0
    return weights or counts or old.tobytes() == new.tobytes()


def _finite(values: dict[str, Any]) -> bool:
    return all(
        _finite(value) if isinstance(value, dict) else type(value) in (int, float) and math.isfinite(value)
        for value in values.values()
    )
