"""minisets train --distributed under a real mpiexec: the same result as one process, whatever happens to the job."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.commandline import ENVIRONMENT, command
from tests.helpers.mpi import PATIENCE, command_mpi, start_mpi
from tests.helpers.runs import arrays, assert_same_run, last_step, log_lines

# Sets of mixed sizes; in float64, so that only a mistake is larger than rounding.
EVERY = ["--steps", 20, "--dtype", "float64", "--log-every", 5, "--evaluate-every", 10, "--save-every", 10]
EXPERIMENTS = {
    "clustering": "--arch isab(16)+pma --ragged --batch 12 --n-min 5 --n-max 30 --validation-sets 4 --test-sets 6 "
    "--em-restarts 0",
    "max_regression": "--arch sab+pma --batch 12 --validation-sets 20 --test-sets 50",
    "unique_characters": "--arch sab+pma(1) --data synthetic --batch 12 --validation-sets 20 --test-sets 20",
    "set_anomaly": "--arch sab+pma --data synthetic --batch 4 --size 16 --train-sets 20 --validation-sets 5 "
    "--test-sets 5",  # with dropout; unique_characters has batch norm
}


def words(experiment: str, out: Path, *more: object) -> list[object]:
    return ["train", experiment, *EXPERIMENTS[experiment].split(), *EVERY, *more, "--out", out]


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory):
    """A function: the folder of an experiment's run in one process, without MPI."""
    root, made = tmp_path_factory.mktemp("alone"), {}

    def folder(experiment: str) -> Path:
        if experiment not in made:
            done = command(*words(experiment, root / experiment))
            assert done.returncode == 0, done.stderr
            made[experiment] = root / experiment
        return made[experiment]

    return folder


def assert_equal_up_to_rounding(found: Path, expected: Path) -> None:
    """Weights, Adam's averages and every logged number; Adam divides rounding by √v, so 20 steps lose some digits."""
    a, b = (arrays(folder / "checkpoint.npz") for folder in (found, expected))
    assert a.keys() == b.keys()
    for name in a.keys() - {"about"}:
        (dtype, shape, left), (dtype_, shape_, right) = a[name], b[name]
        assert (dtype, shape) == (dtype_, shape_), name
        values = [np.frombuffer(content, dtype) for content in (left, right)]
        np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-9, err_msg=name)
    logs = [[json.loads(line) for line in log_lines(folder)] for folder in (found, expected)]
    assert [line.keys() for line in logs[0]] == [line.keys() for line in logs[1]]
    for left, right in zip(*logs, strict=True):
        assert left == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_any_number_of_processes_gives_the_result_of_one(alone, tmp_path: Path, experiment: str, processes: int):
    done = command_mpi(processes, *words(experiment, tmp_path / "run", "--distributed"))
    assert done.returncode == 0, done.stderr
    if processes == 1:
        assert_same_run(tmp_path / "run", alone(experiment))
    assert_equal_up_to_rounding(tmp_path / "run", alone(experiment))
    assert sorted(os.listdir(tmp_path / "run")) == sorted(os.listdir(alone(experiment)))
    assert done.stdout.count(f"{experiment}: ") == 1  # process 0 alone reports


def test_shares_of_different_sizes_are_weighted(alone, tmp_path: Path):
    done = command_mpi(5, *words("max_regression", tmp_path / "run", "--distributed"))  # 12 sets: 2, 2, 3, 2, 3
    assert done.returncode == 0, done.stderr
    assert_equal_up_to_rounding(tmp_path / "run", alone("max_regression"))


def test_a_run_changes_its_number_of_processes(alone, tmp_path: Path):
    """Two, then four, then one without MPI; each stopped in between as if the job's time were up."""
    run = tmp_path / "run"
    for processes, steps in ((2, 5), (4, 12)):
        done = command_mpi(processes, *words("unique_characters", run, "--distributed", "--resume"), env=stop_at(steps))
        assert done.returncode == 130, done.stderr
        assert f"stopped after step {steps} of 20, all saved" in done.stderr
        assert re.search(rf"to continue: mpiexec -n {processes} minisets train .*--resume", done.stderr)
    assert command(*words("unique_characters", run, "--resume")).returncode == 0
    assert_equal_up_to_rounding(run, alone("unique_characters"))


def stop_at(step: int) -> dict[str, str]:
    return site(STOP_AT=str(step))


def site(**settings: str) -> dict[str, str]:
    """An environment in which every process of a job starts with tests/mpi/site/sitecustomize.py."""
    paths = [str(Path(__file__).parent / "site"), ENVIRONMENT["PYTHONPATH"]]
    return ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(paths)} | settings


@pytest.mark.needs("emulation")
def test_two_gpus(alone, tmp_path: Path):
    """Each process has its own GPU, and the gradients go through pinned host memory."""
    more = ["--distributed", "--device", "cuda"]
    done = command_mpi(2, *words("max_regression", tmp_path / "run", *more), env=site(EMULATE="1"))
    assert done.returncode == 0, done.stderr
    assert_equal_up_to_rounding(tmp_path / "run", alone("max_regression"))


# ---- processes that die ---------------------------------------------------------------------------------------------

LONG = ["--arch", "sab+pma", "--batch", 4, "--n-max", 4, "--steps", 100_000, "--save-every", 20, "--log-every", 10]


def started(tmp_path: Path, *more: object) -> tuple[subprocess.Popen, Path]:
    """A long job of three processes, after its first steps."""
    run = tmp_path / "run"
    process = start_mpi(3, "train", "max_regression", "--distributed", *LONG, *more, "--out", run)
    try:
        wait_for(lambda: last_step(run) >= 30 or process.poll() is not None, 60)
        assert process.poll() is None, process.communicate()
    except AssertionError:
        process.terminate()
        raise
    return process, run


def wait_for(condition, patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def ranks_of(run: Path) -> list[int]:
    """The process ids of a job, by rank."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (path / "cmdline").read_bytes().split(b"\0")
            if str(run).encode() in arguments and b"--oversubscribe" not in arguments:
                environment = (path / "environ").read_bytes().split(b"\0")
                rank = next(v for v in environment if v.startswith(b"OMPI_COMM_WORLD_RANK=")).partition(b"=")[2]
                found[int(rank)] = int(path.name)
        except (OSError, StopIteration):
            continue
    return [found[rank] for rank in sorted(found)]


def assert_resumes(run: Path) -> None:
    """The checkpoint of a job that ended badly is whole: the run goes on from it, and ends."""
    with np.load(run / "checkpoint.npz", allow_pickle=False) as file:
        step = json.loads(str(file["about"]))["step"]
    assert step >= 20
    config = json.loads((run / "config.json").read_text())["options"]
    assert config["steps"] == 100_000
    done = command_mpi(2, "train", "max_regression", "--distributed", "--resume", "--out", run, env=stop_at(step + 3))
    assert f"stopped after step {step + 3:,} of 100,000, all saved" in done.stderr


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_killed_process_ends_the_job(tmp_path: Path, rank: int):
    process, run = started(tmp_path)
    pids = ranks_of(run)
    assert len(pids) == 3
    os.kill(pids[rank], signal.SIGKILL)
    _, err = process.communicate(timeout=30)  # no hang
    assert process.returncode != 0
    sentence = r"minisets: the job was asked to stop, or a process of it died; --resume continues it from "
    assert re.search(sentence, err), err
    wait_for(lambda: not ranks_of(run), 30)
    assert_resumes(run)


def test_a_killed_mpiexec_leaves_no_processes_behind(tmp_path: Path):
    process, run = started(tmp_path)
    process.kill()
    process.communicate(timeout=30)  # until the last of them has closed its output
    wait_for(lambda: not ranks_of(run), 30)
    assert_resumes(run)


def test_sigusr1_stops_politely(tmp_path: Path):
    process, run = started(tmp_path)
    process.send_signal(signal.SIGUSR1)  # which mpiexec passes on
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    stopped = re.search(r"stopped after step ([\d,]+) of 100,000, all saved", err)
    assert stopped, err
    with np.load(run / "checkpoint.npz", allow_pickle=False) as file:
        assert json.loads(str(file["about"]))["step"] == int(stopped[1].replace(",", ""))


# ---- requests and runs that fail ------------------------------------------------------------------------------------


def sentences(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("minisets: ")]


def test_a_loss_that_diverges_is_reported_once(tmp_path: Path):
    done = command_mpi(3, *words("max_regression", tmp_path / "run", "--distributed", "--lr", "1e300"))
    assert done.returncode == 1
    (sentence,) = sentences(done.stderr)
    assert "became" in sentence or "no longer finite" in sentence
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["max_regression", "--distributed", "--batch", "2"], "--batch 2 cannot be shared by 3 processes"),
        (["max_regression", "--distributed", "--steps", "x"], "expected an integer, given 'x'"),
        (["runtime", "--distributed"], "this experiment has no training steps that processes could share"),
        (["max_regression"], "3 processes were started; with --distributed they train one network together"),
    ],
)
def test_a_bad_request_is_one_sentence(tmp_path: Path, arguments: list[str], message: str):
    done = command_mpi(3, "train", *arguments, "--out", tmp_path / "run")
    assert done.returncode == 2
    (sentence,) = sentences(done.stderr)
    assert message in sentence
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_taken(alone):
    done = command_mpi(2, *words("max_regression", alone("max_regression"), "--distributed"))
    assert done.returncode == 2
    (sentence,) = sentences(done.stderr)
    assert "already holds this run" in sentence


def test_a_checkpoint_that_cannot_be_written_ends_the_job_with_its_sentence(tmp_path: Path):
    """Process 0 cannot save, as on a full disk; the others, which wait for it in the next step, end with it."""
    process, run = started(tmp_path)
    (run / "checkpoint.npz").unlink()
    (run / "checkpoint.npz").mkdir()  # which a file cannot replace
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot write the checkpoint" in sentences(err)[0]
    wait_for(lambda: not ranks_of(run), 30)


def test_a_loop_that_does_not_share_is_refused(tmp_path: Path):
    source = (Path(__file__).parents[1] / "helpers" / "median_experiment.py").read_text()
    assert source.count("loss = run.average(loss, optimizer)") == 1
    (tmp_path / "median.py").write_text(source.replace("loss = run.average(loss, optimizer)", "pass"))
    done = command_mpi(2, "train", "median:EXPERIMENT", "--distributed", "--out", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "does not call run.share and run.average" in done.stderr


def test_an_exception_in_a_loop_of_ones_own_ends_all_processes(tmp_path: Path):
    (tmp_path / "own.py").write_text(
        "from minisets import distributed\n"
        "world = distributed.world()\n"
        "if world.rank == 1:\n"
        "    raise ArithmeticError('only here')\n"
        "world.scatter(range(10)); world.average_gradients([]) if world.size == 1 else world.broadcast_text()\n"
    )
    done = command_mpi(3, module="own", cwd=tmp_path)
    assert done.returncode == 1
    assert "process 1 of 3:" in done.stderr and "ArithmeticError: only here" in done.stderr
