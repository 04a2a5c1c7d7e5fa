"""Checks of the answers to chapter 13: python -m pytest docs/exercises/test_ch13.py"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from docs.exercises import answers

ch13 = answers("ch13")


def test_generators():
    def numbers(*arguments):
        return {key: rng.integers(2**62, size=3).tolist() for key, rng in ch13.generators(*arguments).items()}

    few, many = numbers(1, ["weights", "training"], 3), numbers(1, ["test", "training", "weights", "a"], 5)
    assert few.keys() == {(purpose, step) for purpose in ("weights", "training") for step in range(3)}
    assert all(many[key] == few[key] for key in few)
    other = numbers(2, ["weights", "training"], 3)
    everything = [tuple(value) for found in (many, other) for value in found.values()]
    assert len(set(everything)) == len(everything)


def test_generators_are_the_same_in_another_process():
    import subprocess
    import sys

    code = "from docs.exercises import answers; print(answers('ch13').generators(0, ['x'], 1)['x', 0].integers(2**62))"
    root = Path(__file__).parents[2]
    found = set()
    first = ch13.generators(0, ["x"], 1)["x", 0].integers(2**62)
    for salt in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": salt, "PYTHONPATH": str(root)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.add(int(run.stdout))
    assert found == {int(first)}


def test_a_generator_goes_on():
    rng = np.random.default_rng(5)
    rng.normal(size=3)
    text = ch13.state_as_text(rng)
    assert isinstance(json.loads(text), dict)
    np.testing.assert_array_equal(ch13.restored(text).normal(size=10), rng.normal(size=10))


def test_replace_file(tmp_path: Path):
    path = tmp_path / "a.txt"
    ch13.replace_file(path, b"old")
    ch13.replace_file(path, b"new")
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["replace", "write"])
def test_a_crash_leaves_a_whole_file(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import builtins

    path = tmp_path / "a.txt"
    ch13.replace_file(path, b"old")
    really_open = builtins.open

    class Full:
        """A file on a full disk: a part is written, then it fails."""

        def __init__(self, *arguments):
            self.file = really_open(*arguments)

        def __enter__(self):
            return self

        def __exit__(self, *arguments):
            self.file.close()

        def write(self, content):
            self.file.write(content[:2])
            self.file.flush()
            raise OSError("disk full")

    def fail(*arguments, **settings):
        raise OSError("crashed")

    with monkeypatch.context() as patch:
        if call == "replace":
            patch.setattr(os, "replace", fail)
            patch.setattr(os, "rename", fail)
            patch.setattr(Path, "replace", fail)
            patch.setattr(Path, "rename", fail)
        else:
            patch.setattr(builtins, "open", Full)
            patch.setattr(Path, "open", lambda self, *rest: Full(self, *rest))
            patch.setattr(Path, "write_bytes", fail)
        with pytest.raises(OSError):
            ch13.replace_file(path, b"new content")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.txt"]


def test_rewind():
    lines = [{"step": 10, "loss": 1.5}, {"step": 20, "loss": 1.2}, {"step": 30, "loss": 1.0}]
    whole = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert ch13.rewind(whole, 20) == lines[:2] and ch13.rewind(whole, 30) == lines and ch13.rewind(b"", 5) == []
    assert ch13.rewind(whole[:-1], 30) == lines[:2]  # the last line was cut off before its newline
    assert ch13.rewind(whole[:-5], 30) == lines[:2]


def test_standard_errors():
    right = np.random.default_rng(0).random((20_000, 400)) < 0.3
    assert ch13.standard_error(0.3, 400) == pytest.approx(right.mean(axis=1).std(), rel=0.03)
    N = ch13.sets_needed(0.3, 0.02)
    assert isinstance(N, int)
    twice = 2 * np.sqrt(2) * np.sqrt(0.3 * 0.7 / N)
    assert twice <= 0.02 < 2 * np.sqrt(2) * np.sqrt(0.3 * 0.7 / (N - 1))


def test_footnote():
    options = {"seed": 3, "steps": 2000, "style": "paper", "anneal": True, "drop": None}
    paper = {"style": "paper", "steps": 50000, "anneal": False, "drop": 0.7}
    assert ch13.footnote(options, paper) == (
        "steps 2000 (paper: 50000), anneal True (paper: False), drop None (paper: 0.7)"
    )
    assert ch13.footnote({"a": 1}, {"a": 1}) == "" and ch13.footnote({"a": 1}, {"a": None}) == "a 1 (paper: None)"
