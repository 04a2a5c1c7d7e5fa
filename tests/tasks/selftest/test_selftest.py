"""`minisets selftest`: what it reports, and that it can fail.  tests/gpu has the same for a GPU."""

import json
from pathlib import Path

import pytest

from tasks.harness.cli import main
from tasks.selftest import checks, timing
from tasks.selftest import command as selftest
from tasks.selftest import kernel_cases as cases
from tests.helpers.commandline import command


def test_on_the_cpu(tmp_path: Path):
    found = command("selftest", "--only", "soft", "--out", tmp_path / "report.json")
    assert found.returncode == 0, found.stderr
    assert "op      softmax" in found.stdout and "checks passed" in found.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["passed"] and report["device"] == "cpu" and report["about"]["numpy"]
    softmax = next(group for group in report["groups"] if group["name"] == "softmax")
    assert softmax["kind"] == "ops" and softmax["cases"] > 3 and softmax["errors"]["float64"] < 1e-14
    assert report["times"] == []  # a partial selftest times nothing


def test_times_are_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setattr(timing.workloads, "__defaults__", (2, 8, 4, 2))  # the real sizes take seconds
    monkeypatch.setattr(selftest, "checks", lambda device: [checks.Check("ops", "add", "plain", lambda dtype: 0.0)])
    assert main(["selftest", "--repeat", "1", "--out", str(tmp_path / "report.json")]) == 0
    times = json.loads((tmp_path / "report.json").read_text())["times"]
    assert len(times) == 10 and all(row["fast_ms"] > 0 and row["plain_ms"] > 0 for row in times)
    assert "attention (2, 2, 8, 2)" in capsys.readouterr().out


def test_a_wrong_op_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    right = checks.op_error
    monkeypatch.setattr(checks, "op_error", lambda case, dtype, device: right(case, dtype, device) + 1e-3)
    assert main(["selftest", "--only", "tanh", "--out", str(tmp_path / "report.json")]) == 1
    out = capsys.readouterr().out
    assert "FAILED  tanh, plain, float32: error 1.0e-03" in out and "6 of 6 checks failed" in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert not report["passed"] and len(report["groups"][0]["failures"]) == 6


def test_an_op_that_cannot_run_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    def broken(*arguments: object) -> None:
        raise RuntimeError("CUDA_ERROR_LAUNCH_FAILED\nand more")

    monkeypatch.setattr("autograd.ops.softmax.masked_softmax", broken)
    assert main(["selftest", "--only", "softmax", "--out", str(tmp_path / "report.json")]) == 1
    assert "softmax, plain, float32: RuntimeError: CUDA_ERROR_LAUNCH_FAILED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--device", "cuda"], "--device cuda: device 'cuda' was requested, but CuPy"),
        (["--device", "gpu"], "--device gpu: unknown device"),
        (["--only", "sofmax"], "no kernel, op or block has 'sofmax' in its name"),
        (["--repeat", "-1"], "--repeat must be at least 0, given -1"),
    ],
)
def test_impossible_requests(words: list[str], message: str, tmp_path: Path):
    found = command("selftest", *words, "--out", tmp_path / "here" / "report.json")
    if words[-1] == "cuda" and found.returncode == 0:
        pytest.skip("there is a GPU")
    assert found.returncode == 2 and message in found.stderr and "Traceback" not in found.stderr
    assert not (tmp_path / "here").exists()


def test_distance():
    """Of results: as a part of the largest number, or of 1; nan and inf must be where they belong."""
    assert cases.relative_error([1.0, 100.0], [1.5, 100.0]) == 0.005
    assert cases.relative_error([0.1], [0.2]) == pytest.approx(0.1)
    assert cases.relative_error([float("inf"), 1.0], [float("inf"), 1.0]) == 0
    assert cases.relative_error([], []) == 0
    for got, want in (([float("nan")], [1.0]), ([1.0], [float("nan")]), ([1.0], [1.0, 1.0]), ([float("inf")], [0.0])):
        assert cases.relative_error(got, want) == float("inf")
