"""Comparing runs bit by bit, and reading and changing the files of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np


def arrays(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Dtype, shape and bytes of every array in an .npz file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: (file[name].dtype.str, file[name].shape, file[name].tobytes()) for name in file.files}


def assert_same_run(a: Path, b: Path) -> None:
    """Weights, optimizer, notes, log and metrics agree bit for bit; only the seconds may differ."""
    assert arrays(a / "checkpoint.npz") == arrays(b / "checkpoint.npz")
    assert (a / "metrics.jsonl").read_bytes() == (b / "metrics.jsonl").read_bytes()
    results = [json.loads((folder / "result.json").read_text()) for folder in (a, b)]
    assert results[0]["metrics"] == results[1]["metrics"]
    assert (a / "best.npz").exists() == (b / "best.npz").exists()
    if (a / "best.npz").exists():
        assert arrays(a / "best.npz") == arrays(b / "best.npz")


def last_step(folder: Path) -> int:
    """The last step in metrics.jsonl; 0 if there is none yet."""
    try:
        return json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    except (OSError, IndexError, ValueError):
        return 0


def change_json(path: Path, change: Callable[[dict], object]) -> None:
    """Apply a function that changes a dict in place to a JSON file."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
