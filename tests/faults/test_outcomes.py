"""The harness itself can fail: it sees tracebacks, hangs, memory, other results, and files lost in a refusal."""

import mmap
import random
import time
from pathlib import Path

import numpy as np
import pytest

from tasks.harness.errors import UsageError
from tests.faults import mutations, outcomes
from tests.faults.formats import Format
from tests.faults.outcomes import attempt, sentence_problem


def use_memory() -> int:
    """Take 250 MB from the system itself: the C library may have kept some for new arrays, which are not counted."""
    with mmap.mmap(-1, 250 * 2**20) as memory:
        for page in range(0, len(memory), mmap.PAGESIZE):
            memory[page] = 1
    return 0


def test_what_a_child_does_is_seen():
    assert "traceback: ZeroDivisionError" in attempt(lambda: 1 // 0).problem
    assert "did not end" in attempt(lambda: time.sleep(60), seconds=0.2).problem
    large = attempt(use_memory)  # a child begins with less than its parent has
    assert "it used " in large.problem and 150 * 2**20 < large.memory < 300 * 2**20
    assert "signal 9" in attempt(lambda: __import__("os").kill(__import__("os").getpid(), 9)).problem
    quiet = attempt(lambda: print("here") or 3)
    assert (quiet.code, quiet.out, quiet.err, quiet.problem) == (3, "here\n", "", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("minisets: a.npz is damaged\n", ""),
        ("minisets: something is damaged", "no file is named"),
        ("minisets: a.npz\nis damaged", "2 lines"),
        ("", "0 lines"),
        ("a.npz \x1b[31m", "cannot be printed"),
        ("a.npz" * 1_000, "a sentence of 5,000 characters"),
    ],
)
def test_what_is_one_sentence(text: str, problem: str):
    assert problem in sentence_problem(text, ["a.npz"]) and bool(problem) == bool(sentence_problem(text, ["a.npz"]))


def write(root: Path) -> None:
    (root / "numbers").write_bytes(bytes(range(100)))


def careless(root: Path) -> list[np.ndarray]:
    return [np.frombuffer((root / "numbers").read_bytes(), np.uint8)]


def careful(root: Path) -> list[np.ndarray]:
    path = root / "numbers"
    if not path.is_file() or path.read_bytes() != bytes(range(100)):
        raise UsageError(f"{path} is damaged")
    return careless(root)


def destructive(root: Path) -> list[np.ndarray]:
    try:
        return careful(root)
    except UsageError:
        if (root / "numbers").is_file():
            (root / "numbers").unlink()
        raise


@pytest.mark.parametrize(
    ("load", "expected"),
    [(careless, {"wrong", "right"}), (careful, {"refused", "right"}), (destructive, {"wrong", "right"})],
)
def test_a_careless_reader_is_found_out(load, expected: set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outcomes, "SECONDS", 0.3)
    kind = Format("numbers", write, load, "numbers")
    (tmp_path / "pristine").mkdir()
    kind.prepare(tmp_path / "pristine")
    verdicts = []
    for number in range(14):
        (tmp_path / f"{number}").mkdir()
        verdicts.append(kind.trial(number, tmp_path / f"{number}").verdict)
    assert set(verdicts) <= expected | {"refused"} and verdicts.count(max(expected - {"right"})) > 3


def test_damage_follows_its_number():
    made = [mutations.damage_bytes(random.Random(f"it {i}"), bytes(1_000)) for i in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
