"""Sweeps: killed, interrupted, out of time or disk, or two at once, they end with the files of one never disturbed."""

import os
import resource
import signal
import time
from pathlib import Path

import pytest

from tests.helpers.commandline import ENVIRONMENT, command, start
from tests.helpers.runs import last_step
from tests.helpers.sweeps import (
    alive,
    assert_same_sweep,
    cells,
    children,
    kill,
    settings,
    sweep,
    training,
    wait_until,
)

LONG = {"steps": 1_000_000, "save_every": 1_000_000}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nothing disturbs."""
    out = tmp_path_factory.mktemp("straight")
    done = command(*sweep(out, seeds=3))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("  finished: ") == 6 and "6 of 6 cells are finished: minisets table" in done.stdout
    return out


def test_killed_twice_it_goes_on_where_each_cell_stood(straight: Path, tmp_path: Path):
    """kill -9 of the sweep, of one of its children, and of the sweep again, followed at once by the same command."""
    first = start(*sweep(tmp_path, seeds=3))
    wait_until(lambda: training(tmp_path))
    orphans = children(first.pid)
    first.kill()
    second = start(*sweep(tmp_path, seeds=3))
    first.communicate()
    assert orphans
    wait_until(lambda: not any(map(alive, orphans)))  # they notice, save and end
    wait_until(lambda: children(second.pid) and training(tmp_path, 30))
    kill(children(second.pid)[0])
    assert "it was killed by SIGKILL" in next(line for line in second.stdout if "failed: " in line)
    assert next(line for line in second.stdout if "finished: " in line)
    wait_until(lambda: training(tmp_path))
    second.kill()
    second.communicate()
    third = command(*sweep(tmp_path, seeds=3))
    assert third.returncode == 0 and "6 of 6 cells are finished" in third.stdout, third.stdout + third.stderr
    assert third.stdout.count("started: ") < 6  # finished cells are not run again
    assert_same_sweep(straight, tmp_path)


def test_killed_while_it_plots_a_cell_gets_its_figures(straight: Path, tmp_path: Path):
    process = start(*sweep(tmp_path, seeds=1), "--jobs", "1")
    wait_until(lambda: list(tmp_path.rglob("result.json")))
    (cell,) = [path.parent for path in tmp_path.rglob("result.json")]
    (child,) = children(process.pid)
    kill(child)
    process.kill()
    process.communicate()
    assert not (cell / "learning_curves.png").exists()
    assert command(*sweep(tmp_path, seeds=1)).returncode == 0
    assert_same_sweep(straight, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_saves_everything(number: int, straight: Path, tmp_path: Path):
    process = start(*sweep(tmp_path, seeds=1))
    wait_until(lambda: training(tmp_path))
    running, before = children(process.pid), max(map(last_step, training(tmp_path)))
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130 and not any(map(alive, running))
    assert error.startswith("minisets: stopped with everything saved, ") and "the same command goes on" in error
    assert "failed" not in out and max(map(last_step, cells(tmp_path).values())) >= before
    if number == signal.SIGINT:
        assert command(*sweep(tmp_path, seeds=1)).returncode == 0
        assert_same_sweep(straight, tmp_path)


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path):
    process = start("sweep", "max_regression", "--arch", "SAB + PMA", *settings(**LONG), "--out", tmp_path)
    wait_until(lambda: training(tmp_path))
    (child,) = children(process.pid)
    os.kill(child, signal.SIGSTOP)  # as if a step took for ever
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in error and not alive(child)


def test_the_time_is_over(tmp_path: Path):
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", "--seeds", "3", *settings(**LONG)]
    done = command(*words, "--jobs", "2", "--hours", f"{4 / 3600}", "--out", tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "hours are over: stopped with everything saved, 0 of 3 cells are finished; the same command" in done.stdout
    begun = [path for path in cells(tmp_path).values() if (path / "progress.json").exists()]
    assert begun and "failed" not in done.stdout


def test_two_sweeps_share_the_work(straight: Path, tmp_path: Path):
    both = [start(*sweep(tmp_path, seeds=2), "--jobs", "1") for _ in range(2)]
    outputs = [process.communicate(timeout=120) for process in both]
    for process, (out, error) in zip(both, outputs, strict=True):
        assert process.returncode == 0 and "4 of 4 cells are finished" in out, out + error
        assert 1 <= out.count("started: ") <= 3 and "failed" not in out
    assert_same_sweep(straight, tmp_path)


def test_a_diverged_cell_is_listed_and_run_again_only_if_asked(tmp_path: Path):
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", *settings(steps=20), "--set", "lr=1e-3,1e30"]
    first = command(*words, "--out", tmp_path)
    assert first.returncode == 1 and "Traceback" not in first.stderr
    assert "1 of 2 cells failed:" in first.stdout and "1 of 2 cells are finished" in first.stdout
    assert "the loss became " in first.stdout and "--retry tries diverged cells again" in first.stdout
    second = command(*words, "--out", tmp_path)
    assert second.returncode == 1 and "started: " not in second.stdout and "the loss became " in second.stdout
    third = command(*words, "--retry", "--out", tmp_path)
    assert third.returncode == 1 and third.stdout.count("started: ") == 1
    assert "lr1e+30" in third.stdout.split("started: ")[1].splitlines()[0]


def test_a_disk_that_fills_up_during_a_sweep(straight: Path, tmp_path: Path):
    """From some moment on nothing can be written: all is listed, one sentence each, and the next start goes on."""
    alone = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("COVERAGE")}  # it writes files
    process = start(*sweep(tmp_path, seeds=1), env=alone)
    wait_until(lambda: training(tmp_path))
    for pid in (process.pid, *children(process.pid)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))  # no file may grow
    out, error = process.communicate(timeout=60)
    assert process.returncode == 1 and "Traceback" not in error + out
    failed = out.split("cells failed:\n")[1].splitlines()
    sentences = [line.split(": ", 1)[1] for line in failed if line.startswith("  max_regression/")]
    assert sentences and all("cannot write" in text and "File too large" in text for text in sentences)
    assert "the same command tries them again" in out
    assert command(*sweep(tmp_path, seeds=1)).returncode == 0
    assert_same_sweep(straight, tmp_path)


def test_a_network_that_does_not_fit_does_not_stop_the_others(tmp_path: Path):
    """A limit on the size of a file: the checkpoints of one architecture fit, those of the other do not."""
    alone = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("COVERAGE")}
    limited = {"env": alone, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))}
    done = command(*sweep(tmp_path, seeds=2), **limited)
    assert done.returncode == 1 and "2 of 4 cells failed:" in done.stdout and "2 of 4 cells are finished" in done.stdout
    failed = [line for line in done.stdout.splitlines() if "  failed: " in line]
    assert len(failed) == 2 and all("File too large" in line for line in failed)


# ---- from another terminal ------------------------------------------------------------------------------------------


def test_status_from_another_terminal(tmp_path: Path):
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", "--seeds", "2", *settings(**LONG)]
    process = start(*words, "--jobs", "1", "--out", tmp_path)
    wait_until(lambda: training(tmp_path) and "loss" in next(tmp_path.rglob("progress.json")).read_text())
    seen = command("sweep", "--status", "--out", tmp_path)
    assert seen.returncode == 1 and seen.stdout.startswith("minisets sweep max_regression --arch 'rFF + Pooling (max)'")
    assert "\n  running, started " in seen.stdout and f"(process {process.pid})" in seen.stdout
    assert "\n  0 of 2 cells done, 1 running, 1 waiting, about " in seen.stdout
    assert "/1,000,000  loss " in seen.stdout and " left\n" in seen.stdout
    process.terminate()
    process.communicate()
    seen = command("sweep", "--status", "--out", tmp_path)
    assert seen.returncode == 1 and "not running" in seen.stdout and "0 of 2 cells done, 2 waiting" in seen.stdout


def test_status_of_a_finished_sweep_changes_nothing(straight: Path):
    before = {path: path.stat().st_mtime_ns for path in straight.rglob("*")}
    seen = command("sweep", "--status", "--out", straight)
    assert (seen.returncode, seen.stderr) == (0, "") and "6 of 6 cells done\n" in seen.stdout
    assert {path: path.stat().st_mtime_ns for path in straight.rglob("*")} == before
