"""`minisets selftest --device cuda`: its description of the machine, and that it fails for a wrong kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograd.kernels import norm
from tasks.harness.cli import main
from tasks.selftest import command as selftest
from tasks.selftest import timing
from tests.gpu import emulation

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_a_report_of_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """The checks themselves are run one by one in test_execution.py; here it is the command, and the clock."""
    monkeypatch.setattr(timing.workloads, "__defaults__", (2, 33, 8, 2))
    kinds = {check.kind for check in selftest.checks("cuda")}
    assert kinds == {"kernels", "ops", "blocks"}
    some = [check for check in selftest.checks("cuda") if "norm" in check.name]
    monkeypatch.setattr(selftest, "checks", lambda device: some)
    assert main(["selftest", "--device", "cuda", "--repeat", "1", "--out", str(tmp_path / "report.json")]) == 0
    out = capsys.readouterr().out
    for word in ("GPU: ", "compute capability: ", "driver: for CUDA 1", "CUDA: 1", "cupy: 1", "norm_backward", "ratio"):
        assert word in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["passed"] and report["about"]["cupy"] and len(report["times"]) == 10


def test_a_wrong_kernel_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setitem(
        norm.CODE.__dict__, "source", norm.CODE.source.replace("s[j] -= mean;", "s[j] -= mean * T(0.999);")
    )
    words = ["selftest", "--device", "cuda", "--only", "norm_forward", "--out", str(tmp_path / "report.json")]
    assert main(words) == 1
    assert "FAILED  norm_forward, (1, 17), all, float32: error" in capsys.readouterr().out


@pytest.mark.needs("emulation")
def test_a_failing_kernel_is_reported_and_the_rest_continues(tmp_path: Path, monkeypatch, capsys):
    broken = norm.CODE.source.replace("row >= rows", "row > rows")
    monkeypatch.setitem(norm.CODE.__dict__, "source", broken)
    words = ["selftest", "--device", "cuda", "--only", "norm_", "--out", str(tmp_path / "report.json")]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert f"{emulation.KernelError.__name__}: kernel norm_forward<float>: " in out and "norm_backward" in out


@pytest.mark.needs("emulation")
def test_after_an_illegal_access_nothing_else_is_blamed(tmp_path: Path, monkeypatch, capsys):
    """On a GPU it spoils the whole process: the check that did it fails, and those after it are not run."""
    monkeypatch.setitem(norm.CODE.__dict__, "source", norm.CODE.source.replace("row >= rows", "row > rows"))
    report = tmp_path / "report.json"
    with emulation.lasting_errors():
        assert main(["selftest", "--device", "cuda", "--only", "norm_", "--out", str(report)]) == 1
    out, found = capsys.readouterr().out, json.loads(report.read_text())
    assert out.count("FAILED ") == 1 and "1 of " in out and found["not_run"] > 50 and not found["times"]
    assert f"so {found['not_run']} checks were not run; run them in new processes, with --only NAME" in out
