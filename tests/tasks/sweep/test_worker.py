"""The child process of a cell: how it ends and what is understood of that, and what it inherits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.harness.run_folder import RunFolder
from tasks.sweep import worker
from tasks.sweep.child import BUSY, DIVERGED, INTERRUPTED
from tasks.sweep.command import _room, perform, prepare
from tasks.sweep.manager import Manager
from tasks.sweep.store import Cell
from tasks.sweep.worker import run_child, sentence, surroundings
from tests.helpers.commandline import ENVIRONMENT, ROOT, SHORT
from tests.helpers.runs import last_step
from tests.helpers.sweeps import wait_until

WORDS = ["train", "max_regression", "--arch=rFF + Pooling (max)", *SHORT, "--resume"]


def test_the_end_of_a_child_is_understood(tmp_path: Path):
    assert run_child([*WORDS, f"--out={tmp_path / 'run'}"], 1, 0, None)[0] == 0
    assert RunFolder(tmp_path / "run").finished()
    code, text = run_child([*WORDS, f"--out={tmp_path / 'nan'}", "--lr=1e30"], 1, 0, None)
    assert code == DIVERGED and text.startswith("the loss became ")
    code, text = run_child([*WORDS, f"--out={tmp_path / 'run'}", "--lr=0.5"], 1, 0, None)
    assert code == 2 and "holds a run with another configuration (--lr 0.001 there, 0.5 here)" in text
    with RunFolder(tmp_path / "run").lock.held():
        code, text = run_child([*WORDS, f"--out={tmp_path / 'run'}"], 1, 0, None)
    assert code == BUSY and text.startswith("another process is running in ")
    code, text = run_child([*WORDS, f"--out={tmp_path / 'long'}", "--steps=1000000"], 1, 0, 4.0)
    assert code == INTERRUPTED and "of 1,000,000, all saved" in text and "to continue" not in text


def test_a_child_ends_when_nobody_holds_its_pipe(tmp_path: Path):
    """As after kill -9 of the sweep: the step is finished and saved."""
    words = [sys.executable, "-m", "tasks.sweep.child", *WORDS, f"--out={tmp_path}", "--steps=1000000", "--log-every=5"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT)
    wait_until(lambda: last_step(tmp_path) >= 5)
    child.stdin.close()
    assert child.wait(30) == INTERRUPTED and "all saved" in child.stderr.read()
    child.stderr.close()
    assert RunFolder(tmp_path).progress()["saved"] >= 5


def test_the_sentence_of_a_child():
    lines = ["minisets: warning: half of the images are missing\n", "Traceback\n", "ValueError: a\n", "minisets: why\n"]
    assert sentence(2, lines) == "why"
    assert sentence(1, lines[:3]) == "ValueError: a"
    assert sentence(5, []) == "it ended with exit code 5"
    assert sentence(-signal.SIGKILL, lines) == "it was killed by SIGKILL, as the system does when memory runs out"
    assert sentence(-signal.SIGSEGV, []) == "it was killed by SIGSEGV"


def test_what_a_child_inherits(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "64")
    given = surroundings(["train"], 2, 0)
    threads = ("MINISETS_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    assert [given[name] for name in threads] == ["2"] * 4
    assert "OMPI_COMM_WORLD_SIZE" not in given and given["PATH"] == os.environ["PATH"]
    assert "CUDA_VISIBLE_DEVICES" not in given or given["CUDA_VISIBLE_DEVICES"] == os.environ["CUDA_VISIBLE_DEVICES"]


def test_workers_take_turns_with_the_gpus(monkeypatch):
    def gpus(count: int, *words: str) -> list[str | None]:
        return [surroundings([*words], 1, slot).get("CUDA_VISIBLE_DEVICES") for slot in range(count)]

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(worker, "_count_gpus", lambda: 2)
    assert gpus(3, "--device=cuda") == ["0", "1", "0"]
    assert gpus(2, "--device=cuda:1") == gpus(2, "--device=cpu") == [None, None]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a, GPU-b")
    assert gpus(3, "--device=cuda") == ["GPU-a", "GPU-b", "GPU-a"]
    assert gpus(1, "--device=cpu") == ["GPU-a, GPU-b"]


def test_how_many_runs_this_machine_has_room_for(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3,5")
    on_cpu, on_gpu = (Cell("t", "t/p/n", (f"--device={device}",), 1, "x") for device in ("cpu", "cuda"))
    assert [_room([on_cpu], threads) for threads in (1, 3, 100)] == [8, 2, 1] and _room([on_gpu], 1) == 3


def test_an_error_of_the_sweep_itself_stops_its_children(tmp_path: Path, monkeypatch):
    """It is reported at once, and not when the last child has ended by itself."""
    words = ["max_regression", "--arch", "rFF + Pooling (max)", "--set", "steps=1000000", "--out", str(tmp_path)]

    def look(manager: Manager) -> None:
        if any(tmp_path.rglob("progress.json")):
            raise RuntimeError("a defect")

    monkeypatch.setattr(Manager, "_look_elsewhere", look)
    with pytest.raises(RuntimeError, match="a defect"):
        perform(prepare(words))
    (folder,) = tmp_path.rglob("progress.json")
    assert not RunFolder(folder.parent).lock.is_held()


def test_a_rehearsal_measures_a_step_and_writes_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    words = ["rehearse", "max_regression", "--preset=quick", "--arch=rFF + Pooling (max)", "--steps=1000000"]
    code, text = run_child(words, 1, 0, 60)
    seconds, busy, gigabytes = map(float, text.split())
    assert code == 0 and 0 < seconds < 1 and 0 < busy < 1 and 0.01 < gigabytes < 10
    assert not list(tmp_path.iterdir())
    assert run_child(["rehearse", "runtime", "--preset=quick", "--n-sab=10", "--n-isab=10"], 1, 0, 60)[0] == 1
