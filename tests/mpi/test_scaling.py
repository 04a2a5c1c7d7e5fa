"""What docs/24-scaling.md says of several processes: its script, and the benchmark that its tables come from."""

import re
from pathlib import Path

import pytest

from tasks.bench import scaling
from tasks.bench.cost_model import costs_of
from tests.helpers.commandline import ROOT
from tests.helpers.mpi import command_mpi

PAGE = ROOT / "docs" / "24-scaling.md"


def test_the_script_of_the_page_prints_the_same_with_two_processes(tmp_path: Path):
    """tests/docs/test_pages.py runs it in one."""
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (tmp_path / "script.py").write_text(found[1], encoding="utf-8")
    done = command_mpi(2, module="script", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, found[2]), done.stderr


def test_the_benchmark_takes_real_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scaling, "SECONDS", 0.1)
    row = scaling.measure("max_regression", steps=3, rounds=1)
    assert row["parameters"] == 51_329 and [kind for kind, _ in row["exchanges"]] == ["sum"]
    assert [(point["batch"], point["size"]) for point in row["points"]] == [
        (128, 1), (128, 2), (128, 4), (128, 128), (8_192, 8_192)
    ]  # fmt: skip
    assert row["measured"].keys() == {"1", "2", "threads"} and min(row["measured"].values()) > 0
    assert costs_of(row).work > 0 and row["busy"] > 0
    sums = scaling.run_workers(["sums", "0.001"], processes=2)[0]
    assert [n for n, _ in sums] == sorted({n for n, _ in sums}) and all(seconds > 0 for _, seconds in sums)


def test_a_process_that_fails_is_reported():
    with pytest.raises(scaling.UsageError, match="a process of the benchmark failed with exit code"):
        scaling.run_workers(
            ["steps", '[{"experiment": "poetry", "options": {}, "steps": 1, "seconds": 1}]'], processes=2
        )
