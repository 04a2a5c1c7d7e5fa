"""What a run meets in the world: no locks, a replaced folder, signals, closed outputs, a clock that stands still."""

import errno
import fcntl
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tasks import max_regression
from tasks.harness import run as run_module
from tasks.harness.cli import main
from tasks.harness.errors import Busy, UsageError
from tasks.harness.lock import FolderLock
from tasks.harness.run_folder import RunFolder
from tests.helpers import double
from tests.helpers.commandline import ENVIRONMENT, SHORT, command, start
from tests.helpers.runs import last_step

WORDS = ["train", "max_regression", "--arch", "rFF + Pooling (max)", *SHORT]


# ---- the folder -----------------------------------------------------------------------------------------------------


def test_a_file_system_without_locks_is_a_warning(tmp_path: Path, monkeypatch, capsys):
    def flock(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert main([*WORDS, "--out", str(tmp_path / "run")]) == 0
    assert "is on a file system without locks; make sure that no other run uses this folder" in capsys.readouterr().err


@pytest.mark.parametrize("replaced", [True, False])
def test_a_folder_replaced_or_removed_while_a_run_writes_to_it_is_noticed(replaced: bool, tmp_path: Path):
    folder = RunFolder(tmp_path / "run", max_regression.EXPERIMENT)
    folder.begin("quick", max_regression.Config(arch="SAB + PMA", steps=5))
    with folder.locked():
        folder.rewind(0)
        folder.append({"step": 1, "loss": 1.0})
        folder.path.rename(tmp_path / "elsewhere")
        if replaced:
            shutil.copytree(tmp_path / "elsewhere", folder.path)
        with pytest.raises(UsageError, match=r"run was removed or replaced while this run was writing to it"):
            folder.append({"step": 2, "loss": 1.0})
    if replaced:
        assert folder.metrics() == [{"step": 1, "loss": 1.0}]


def test_the_parents_of_a_new_folder_are_synced(tmp_path: Path, monkeypatch):
    synced = []
    monkeypatch.setattr("tasks.harness.run_folder.sync_folder", synced.append)
    RunFolder(tmp_path / "a" / "b").make()
    assert set(synced) == {tmp_path, tmp_path / "a"}


def test_a_run_that_fails_before_its_first_step_leaves_nothing(tmp_path: Path, monkeypatch, capsys):
    def no_data(*arguments: object) -> None:
        raise UsageError("000123.jpg is missing")

    monkeypatch.setattr(max_regression, "sample", no_data)
    for _ in range(2):  # the second time is like the first
        assert main([*WORDS, "--out", str(tmp_path / "run")]) == 2
        assert "000123.jpg is missing" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").touch()
    assert main([*WORDS, "--out", str(tmp_path / "run")]) == 2
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]


# ---- another device -------------------------------------------------------------------------------------------------


def test_a_run_moves_to_another_device_when_it_is_resumed(tmp_path: Path, capsys):
    out = ["--out", str(tmp_path / "run")]
    assert main([*WORDS, *out]) == 0
    with double.installed():
        assert main(["train", "max_regression", *out, "--resume", "--steps", "8", "--device", "cuda"]) == 0
        assert "moved from cpu to cuda: the last bits may differ" in capsys.readouterr().out
    assert main(["train", "max_regression", *out, "--resume", "--steps", "9", "--device", "cpu"]) == 0
    folder = RunFolder(tmp_path / "run")
    assert folder.result()["devices"] == ["cpu", "cuda", "cpu"] and folder.options().device == "cpu"
    assert folder.result()["extended_from"] == [6, 8] and last_step(folder.path) == 9
    capsys.readouterr()
    assert main([*WORDS, *out, "--steps", "9", "--device", "cuda"]) == 2  # not without --resume
    assert "--device cuda" in capsys.readouterr().err


# ---- signals --------------------------------------------------------------------------------------------------------

LONG = [*WORDS, "--steps", "100000", "--log-every", "5", "--save-every", "50000"]


def begun(folder: Path, **settings) -> subprocess.Popen:
    process = start(*LONG, "--out", folder, **settings)
    while last_step(folder) < 5:
        assert process.poll() is None
        time.sleep(0.005)
    return process


def test_a_closed_terminal_saves(tmp_path: Path):
    """Closing a terminal sends SIGHUP, and whatever is written to it from then on fails."""
    terminal, side = pty.openpty()
    process = begun(tmp_path / "run", stdout=side, stderr=side, start_new_session=True)
    os.close(side)
    os.close(terminal)
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 130
    assert RunFolder(tmp_path / "run").progress()["step"] >= 5


def test_a_signal_that_is_to_be_ignored_stays_ignored(tmp_path: Path):
    """As nohup starts a process."""
    process = begun(tmp_path / "run", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    reached = last_step(tmp_path / "run")
    while last_step(tmp_path / "run") < reached + 20:
        assert process.poll() is None
        time.sleep(0.005)
    process.terminate()
    assert "all saved" in process.communicate()[1] and process.returncode == 130


def test_ctrl_c_while_python_imports_is_no_traceback(tmp_path: Path):
    (tmp_path / "tqdm.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "tasks", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT | {"PYTHONPATH": path},
    )
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and error == ""


# ---- numbers, outputs, clocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--n-max 1e19", "--n-max must be at most 2,147,483,647, given 10000000000000000000"),
        ("--batch 1e20", "--batch must be at most 2,147,483,647"),
        ("--test-sets 1e9", "--test-sets must be at most 10,000,000, given 1000000000"),
        ("--batch 2e9 --n-max 2e9", "need at least 14,901,161,194 GiB, and this machine has"),
        ("--steps 1e400", "expected an integer, given '1e400'"),
    ],
)
def test_numbers_too_large_are_refused_before_anything_starts(words: str, message: str, tmp_path: Path, capsys):
    assert main([*WORDS, *words.split(), "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_a_closed_standard_output_is_one_sentence():
    done = command("list", preexec_fn=lambda: os.close(1), stdout=None, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == "minisets: standard output is closed; redirect it, to /dev/null if nobody is to read it\n"


def test_figures_need_no_window_system(tmp_path: Path):
    words = [sys.executable, "-m", "tasks", *WORDS, "--out", str(tmp_path / "run")]
    settings = {"capture_output": True, "text": True, "env": ENVIRONMENT | {"MPLBACKEND": "nosuch"}}
    done = subprocess.run(words, **settings)
    assert done.returncode == 0 and done.stderr == "" and (tmp_path / "run" / "learning_curves.png").exists()


def test_a_clock_that_stands_still_divides_nothing_by_zero(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: 5.0)
    assert main([*WORDS, "--out", str(tmp_path / "run")]) == 0
    assert "? steps/s  00:00 left" in capsys.readouterr().out


# ---- seen from outside ----------------------------------------------------------------------------------------------


def test_progress_follows_a_run_between_checkpoints(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(run_module, "SHOW_EVERY", 0.0)
    process = begun(tmp_path / "real")  # as it is: every two seconds
    folder = RunFolder(tmp_path / "run", max_regression.EXPERIMENT)
    config = max_regression.Config(arch="rFF + Pooling (max)", steps=9, save_every=4, log_every=5, test_sets=10)
    folder.begin("quick", config)
    net, seen = max_regression.network(config), []
    run = run_module.Run(folder, config, "test")
    for _ in run.steps(net, max_regression.Adam(net.parameters())):
        run.log(max_regression.absolute_error(net(np.ones((1, 2, 1))), np.ones((1, 1))))
        progress = folder.progress()
        seen.append((progress["step"], progress["saved"], "loss" in progress))
    assert seen == [(0, 0, False), *((step, step // 4 * 4, True) for step in range(1, 9))]
    monkeypatch.setattr(run, "_mean_loss", lambda: float("nan"))  # a GPU's loss is looked at later
    run._write_progress()
    assert "loss" not in folder.progress()
    while RunFolder(tmp_path / "real").progress()["step"] == 0:
        assert process.poll() is None
        time.sleep(0.05)
    progress = RunFolder(tmp_path / "real").progress()
    assert progress["saved"] == 0 and progress["seconds"] >= 1 and progress["loss"] > 0
    process.kill()
    process.communicate()
    assert "at step 0 of 100,000" in command("list", "--runs", tmp_path / "real").stdout  # from where it is resumed


def test_progress_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(run_module, "SHOW_EVERY", 0.0)
    real = RunFolder.write

    def write(folder: RunFolder, path: Path, value: dict) -> None:
        if path == folder.progress_path and value["step"] % 6:  # 6 is the last step, when the checkpoint is saved
            raise UsageError("no space left")
        real(folder, path, value)

    monkeypatch.setattr(RunFolder, "write", write)
    assert main([*WORDS, "--out", str(tmp_path / "run")]) == 0


def test_whether_a_folder_is_locked_can_be_asked(tmp_path: Path):
    lock, other = FolderLock(tmp_path), FolderLock(tmp_path)
    assert not lock.is_held() and not FolderLock(tmp_path / "nowhere").is_held()
    with lock.held():
        assert other.is_held()
        with pytest.raises(Busy, match="another process is running in "), other.held():
            pass
    with lock.held(shared=True), other.held(shared=True):
        assert FolderLock(tmp_path).is_held()
    assert not other.is_held()


def test_a_lock_that_is_held_for_a_moment_is_waited_for(tmp_path: Path):
    """Whoever asks whether it is held holds it for a moment."""
    lock, held = FolderLock(tmp_path), os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    threading.Timer(0.03, os.close, [held]).start()
    with lock.held():
        assert FolderLock(tmp_path).is_held()
