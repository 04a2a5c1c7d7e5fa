"""Comparing runs bit by bit, and reading and changing the files of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tasks.harness.records import digest


def arrays(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Dtype, shape and bytes of every array in an .npz file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: (file[name].dtype.str, file[name].shape, file[name].tobytes()) for name in file.files}


def state(path: Path) -> tuple[dict, dict]:
    """All arrays of a checkpoint, and the rest but for the run's name and its seconds."""
    with np.load(path, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
    for name in ("run", "seconds"):
        about["notes"].pop(name, None)
    return {name: array for name, array in arrays(path).items() if name != "about"}, about


def assert_same_run(a: Path, b: Path) -> None:
    """Weights, optimizer, notes, log and metrics agree bit for bit; only name and seconds may differ."""
    assert state(a / "checkpoint.npz") == state(b / "checkpoint.npz")
    assert log_lines(a) == log_lines(b)
    results = [json.loads((folder / "result.json").read_text()) for folder in (a, b)]
    assert results[0]["metrics"] == results[1]["metrics"]
    assert (a / "best.npz").exists() == (b / "best.npz").exists()
    if (a / "best.npz").exists():
        assert state(a / "best.npz") == state(b / "best.npz")


def log_lines(folder: Path) -> list[bytes]:
    """The lines of metrics.jsonl after the one that names the run."""
    return (folder / "metrics.jsonl").read_bytes().splitlines()[1:]


def last_step(folder: Path) -> int:
    """The last step in metrics.jsonl; 0 if there is none yet."""
    try:
        return json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    except (OSError, IndexError, ValueError, KeyError):
        return 0


def change_json(path: Path, change: Callable[[dict], object], *, checksum: bool = False) -> None:
    """Apply a function that changes a dict in place to a JSON file.

    With a checksum, the file looks as if it had been written like that.  Without, it looks like a file of an earlier
    version, which has neither a checksum nor the name of a run.
    """
    content = json.loads(path.read_text())
    del content["checksum"]
    if not checksum:
        content.pop("run", None)
    change(content)
    path.write_text(json.dumps(content | ({"checksum": digest(content)} if checksum else {})))
