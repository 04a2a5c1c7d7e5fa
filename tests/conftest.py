"""What all tests share: the devices of this machine, no deadlines for Hypothesis, and a few trained runs."""

import os

# Before NumPy is imported: for the tests' tiny matrices a second BLAS thread only costs time on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MINISETS_DATA"] = "/nonexistent/minisets"  # no test depends on the data of this machine

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from autograd import forms
from tests.faults import table
from tests.helpers import double, requirements
from tests.helpers.commandline import SHORT

pytest_plugins = ["minisets.testing.plugin"]

if "autograd.fast" not in sys.modules:  # tests/helpers/without_fast: there is no fast code to test
    collect_ignore = [
        "gpu",
        "autograd/fast",
        "autograd/test_forms.py",
        "autograd/test_processes.py",
        "autograd/test_threads.py",
        "minisets/fast",
        "minisets/test_memory.py",
        "tasks/bench",
        "tasks/selftest",
    ]

settings.register_profile("minisets", deadline=None)  # on a shared machine a slow example is not a failure
settings.load_profile("minisets")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if collection_path.name == "test_paper.py" and "paper" in requirements.missing() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests whose requirements are not met: pytest.mark.needs("torch")."""
    needs = [{name for mark in item.iter_markers("needs") for name in mark.args} for item in items]
    left_out = [item for item, names in zip(items, needs, strict=True) if names & requirements.missing().keys()]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    table.report(terminalreporter)
    if requirements.summary():
        terminalreporter.write_line(requirements.summary())


@pytest.fixture(params=["cpu", "double", "double, plain forms"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A test that takes `device` runs on the CPU and on a strict double of a GPU: with kernels, and without."""
    if request.param == "cpu":
        yield "cpu"
        return
    with double.installed(), forms.plain_forms() if "plain" in request.param else contextlib.nullcontext():
        yield "cuda"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained runs, never changed by tests: max/ (two labels, two seeds) and one/ (clustering)."""
    from tasks.harness.cli import main

    root = tmp_path_factory.mktemp("runs")
    words = ["--arch", "rFF + Pooling (max)", "--arch", "SAB + PMA", "--seeds", "2", "--out", str(root / "max")]
    assert main(["train", "max_regression", *words, *SHORT]) == 0
    words = ["--n-min", "5", "--n-max", "9", "--em-restarts", "1", "--out", str(root / "one")]
    assert main(["train", "clustering", "--arch", "isab(4)+pma", *words, *SHORT]) == 0
    return root
