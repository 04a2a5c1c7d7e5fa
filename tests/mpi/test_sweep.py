"""minisets sweep under mpiexec: the cells spread over ranks, and whatever is killed, the same command goes on."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers.commandline import ENVIRONMENT, command
from tests.helpers.mpi import command_mpi, start_mpi
from tests.helpers.runs import last_step
from tests.helpers.sweeps import (
    alive,
    assert_same_sweep,
    cells,
    children,
    kill,
    ranks,
    settings,
    sweep,
    training,
    wait_until,
)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep on local processes, never disturbed."""
    out = tmp_path_factory.mktemp("straight")
    assert command(*sweep(out, seeds=3)).returncode == 0
    return out


def trainers(job: subprocess.Popen) -> list[int]:
    """The processes that train the cells of a job's ranks."""
    return children(*ranks(job.pid))


def test_killed_twice_it_gives_the_files_of_a_sweep_on_local_processes(straight: Path, tmp_path: Path):
    """kill -9 of mpiexec, then of a rank."""
    first = start_mpi(3, *sweep(tmp_path, seeds=3))
    wait_until(lambda: training(tmp_path))
    everything = [*ranks(first.pid), *trainers(first)]
    assert trainers(first)
    first.kill()
    wait_until(lambda: not any(map(alive, everything)))  # ranks and children notice, and end
    first.communicate()
    second = start_mpi(3, *sweep(tmp_path, seeds=3))
    wait_until(lambda: trainers(second) and training(tmp_path))
    left = trainers(second)
    rank = next(pid for pid in ranks(second.pid) if children(pid))
    kill(rank)
    second.communicate(timeout=60)
    assert second.returncode
    wait_until(lambda: not any(map(alive, left)))
    third = command_mpi(3, *sweep(tmp_path, seeds=3))
    assert third.returncode == 0, third.stdout + third.stderr
    assert "sweep of 6 cells on 2 ranks, 1 thread each" in third.stdout and "6 of 6 cells are finished" in third.stdout
    assert "\x1b" not in third.stdout  # no terminal, no drawing, although mpiexec gives its ranks one
    assert_same_sweep(straight, tmp_path)


def test_ctrl_c_saves_everything(straight: Path, tmp_path: Path):
    """mpiexec kills its ranks almost at once; their children save all the same."""
    job = start_mpi(3, *sweep(tmp_path, seeds=1), start_new_session=True)
    wait_until(lambda: training(tmp_path))
    before, left = max(map(last_step, cells(tmp_path).values())), trainers(job)
    os.killpg(job.pid, signal.SIGINT)  # as a terminal does
    job.communicate(timeout=60)
    assert job.returncode
    wait_until(lambda: not any(map(alive, left)))
    assert max(map(last_step, cells(tmp_path).values())) >= before
    assert command(*sweep(tmp_path, seeds=1)).returncode == 0  # on local processes
    assert_same_sweep(straight, tmp_path)


def test_the_time_is_over(tmp_path: Path):
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", "--seeds", "3", *settings(steps=1_000_000)]
    done = command_mpi(3, *words, "--hours", f"{5 / 3600}", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "hours are over: stopped with everything saved, 0 of 3 cells are finished" in done.stdout
    assert any((path / "checkpoint.npz").exists() for path in cells(tmp_path).values())


def test_a_diverged_cell_is_listed_by_rank_0(tmp_path: Path):
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", *settings(steps=20), "--set", "lr=1e-3,1e30"]
    done = command_mpi(3, *words, "--out", tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("1 of 2 cells failed:") == 1 and "the loss became " in done.stdout


@pytest.mark.parametrize("words", ["max_regresion", "max_regression --set lr=fast", "--status"])
def test_a_bad_request_is_one_sentence_of_one_rank(words: str, tmp_path: Path):
    done = command_mpi(3, "sweep", *words.split(), "--out", tmp_path / "out")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("minisets: ") == 1
    assert not (tmp_path / "out").exists() and "Traceback" not in done.stderr


def test_without_mpi4py_one_sentence_says_what_to_install(tmp_path: Path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("raise ImportError('none here')\n")
    paths = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
    done = command_mpi(2, "sweep", "max_regression", cwd=tmp_path, env=ENVIRONMENT | {"PYTHONPATH": paths})
    assert done.returncode == 2 and done.stderr.count("pip install 'minisets[mpi]'") == 1


def test_one_rank_alone_uses_local_processes(tmp_path: Path):
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", *settings(steps=20), "--out", tmp_path]
    done = command_mpi(1, *words)
    assert done.returncode == 0 and "sweep of 1 cell on 1 process, " in done.stdout
