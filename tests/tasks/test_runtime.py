"""The runtime benchmark: sizes, fits, memory, and sizes measured before an interruption."""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autograd.forms import plain_forms
from tasks import runtime
from tasks.harness import machine
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import ENVIRONMENT


def test_sizes_go_in_steps_of_one_two_and_five():
    assert runtime.sizes(10, 2000) == [10, 20, 50, 100, 200, 500, 1000, 2000]
    assert runtime.sizes(15, 70) == [15, 20, 50, 70] and runtime.sizes(10, 10) == [10]


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5])
def test_the_exponent_of_a_power_law_is_found(power: float):
    points = [{"n": n, "both": 3e-6 * n**power} for n in (500, 1000, 5000)]
    small = [{"n": 10, "both": 1.0}]  # below the threshold, where overhead rules
    assert runtime.exponent(small + points, "both", 500) == pytest.approx(power)
    assert runtime.exponent(points, "both", 5000) is None


def test_memory_grows_with_the_square_for_sab_and_with_n_for_isab():
    """Of the plain form, that is; the fast one has at most a block of the scores in memory."""
    config = runtime.Config(seconds=1e-3)
    with plain_forms():
        memory = {
            name: [runtime.measure(runtime.block(name, config), n, config)["memory"] for n in (200, 400)]
            for name in ("SAB", "ISAB")
        }
    assert 3.3 < memory["SAB"][1] / memory["SAB"][0] < 4.2 and 1.7 < memory["ISAB"][1] / memory["ISAB"][0] < 2.2


def test_measured_sizes_are_not_measured_again(tmp_path: Path, capsys):
    config = runtime.Config(seconds=1e-3, n_min=5, n_sab=10, n_isab=10, threshold=5)
    folder = RunFolder(tmp_path, runtime.EXPERIMENT)
    folder.begin("quick", config)
    folder.rewind(0)
    folder.append({"step": 1, "block": "SAB", "n": 5, "forward": 1.0, "both": 2.0, "memory": 7.0})
    result = runtime.train(config, Run(folder, config, "test"))
    assert [(p["block"], p["n"]) for p in result["points"]] == [("SAB", 5), ("SAB", 10), ("ISAB", 5), ("ISAB", 10)]
    assert result["points"][0]["memory"] == 7.0


def test_peak_memory_includes_freed_arrays():
    def function():
        a = np.ones(1_000_000, dtype="uint8")
        b = a + a
        return b.sum()

    assert 2_000_000 <= machine.peak_memory(function, "cpu") < 2_200_000
    machine.synchronize("cpu")  # nothing to wait for


def test_memory_is_kept_where_the_c_library_can(monkeypatch):
    """In a separate process, since it cannot be undone; where it cannot, it returns False."""
    code = "from tasks.harness import machine; print(machine.keep_memory())"
    message = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT).stdout
    assert message == f"{hasattr(ctypes.CDLL(None), 'mallopt')}\n"
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: object())
    assert machine.keep_memory() is False
