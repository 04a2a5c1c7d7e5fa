"""Training runs: the same bits after kill -9 and Ctrl-C, an early stop when values diverge, and the progress bar."""

import contextlib
import json
import os
import pty
import random
import resource
import shlex
import shutil
import signal
import subprocess
import termios
import time
from pathlib import Path

import numpy as np
import pytest

from tasks import max_regression
from tasks.harness.errors import Diverged
from tasks.harness.run import Run, rng_for
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import ENVIRONMENT, TINY, command, start
from tests.helpers.runs import arrays, assert_same_run, change_json, last_step

ARCH = {"max_regression": "SAB + PMA", "clustering": "ISAB (4) + PMA"}


def words(name: str, out: Path, *more: object) -> list[object]:
    return ["train", name, "--arch", ARCH[name], *shlex.split(TINY[name]), "--steps", 130, "--out", out, *more]


def run(name: str, out: Path, *more: object, **settings) -> subprocess.CompletedProcess:
    return command(*words(name, out, *more), **settings)


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> dict[str, Path]:
    """Each experiment once, without interruption."""
    folders = {name: tmp_path_factory.mktemp("straight") / name for name in TINY}
    for name, folder in folders.items():
        done = run(name, folder)
        assert done.returncode == 0, done.stderr
    return folders


# ---- resuming -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TINY)
def test_the_same_seed_gives_the_same_bits(name: str, straight, tmp_path: Path):
    assert run(name, tmp_path / "again").returncode == 0
    assert_same_run(straight[name], tmp_path / "again")
    other = run(name, tmp_path / "other", "--seed", 1)
    assert other.returncode == 0
    assert arrays(straight[name] / "checkpoint.npz") != arrays(tmp_path / "other" / "checkpoint.npz")


@pytest.mark.parametrize("name", TINY)
def test_a_run_killed_at_random_moments_and_resumed_ends_with_the_same_bits(name: str, straight, tmp_path: Path):
    seed = random.randrange(10**6)
    print(f"seed of the moments: {seed}")  # shown if it fails
    folder, rng, kills = tmp_path / "killed", random.Random(seed), 0
    for wanted in (3, 35, 60, 90, 128):  # kill it a random moment after it has logged this step
        process = start(*words(name, folder, "--resume"))
        while process.poll() is None and last_step(folder) < wanted:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.15))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
    done = run(name, folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert kills >= 3  # on a fast machine a run may end before it is killed, but not every time
    assert_same_run(straight[name], folder)
    assert not list(folder.glob(".*.unfinished"))


def begin_and_kill(folder: Path, step: int) -> None:
    """A run of maximum regression that is killed after it has logged the step."""
    process = start(*words("max_regression", folder))
    while last_step(folder) < step:
        time.sleep(0.005)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_saves_and_prints_the_command_to_continue(number: int, straight, tmp_path: Path):
    folder = tmp_path / "stopped here"
    process = start(*words("max_regression", folder))
    while last_step(folder) < 20:
        time.sleep(0.005)
    process.send_signal(number)
    _, message = process.communicate()
    assert process.returncode == 130 and "Traceback" not in message
    assert "all saved; to continue: minisets train max_regression" in message
    reached = json.loads((folder / "progress.json").read_text())["step"]
    assert 20 <= reached < 130  # it stopped where it was, not at the next checkpoint
    again = shlex.split(message.strip().rsplit("to continue: minisets ", 1)[1])
    assert command(*again).returncode == 0
    assert_same_run(straight["max_regression"], folder)


def test_resuming_needs_only_the_folder(straight, tmp_path: Path):
    folder = tmp_path / "run"
    begin_and_kill(folder, 20)
    assert command("train", "max_regression", "--out", folder, "--resume").returncode == 0
    assert_same_run(straight["max_regression"], folder)


def test_resuming_an_empty_folder_starts_from_scratch(straight, tmp_path: Path):
    done = run("max_regression", tmp_path / "new", "--resume")
    assert done.returncode == 0 and "nothing to resume here: starting from scratch" in done.stdout
    assert_same_run(straight["max_regression"], tmp_path / "new")


def test_a_changed_machine_is_reported(straight, tmp_path: Path):
    folder = tmp_path / "run"
    shutil.copytree(straight["max_regression"], folder)
    (folder / "result.json").unlink()
    assert {"python", "numpy", "blas"} <= json.loads((folder / "config.json").read_text())["versions"].keys()
    threads = {"OPENBLAS_NUM_THREADS": "64"}
    change_json(folder / "config.json", lambda about: about["machine"].update(threads=threads), checksum=True)
    done = command("train", "max_regression", "--out", folder, "--resume")
    assert done.returncode == 0 and "machine then: " in done.stderr and "the last bits may differ" in done.stderr


def test_a_finished_run_is_not_trained_again(straight):
    before = arrays(straight["clustering"] / "checkpoint.npz")
    again = run("clustering", straight["clustering"], "--resume")
    assert again.returncode == 0 and "already finished: LL0/data " in again.stdout
    assert arrays(straight["clustering"] / "checkpoint.npz") == before


def test_a_line_cut_off_by_a_crash_is_written_again(straight, tmp_path: Path):
    folder = tmp_path / "run"
    begin_and_kill(folder, 35)
    with open(folder / "metrics.jsonl", "a") as file:
        file.write('{"step": 36, "lo')
    assert command("train", "max_regression", "--out", folder, "--resume").returncode == 0
    assert_same_run(straight["max_regression"], folder)


def test_random_streams_are_distinct():
    first = [rng_for(seed, purpose, step).random() for seed in range(2) for purpose in range(4) for step in range(50)]
    assert len(set(first)) == 400


# ---- failures -------------------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path: Path):
    done = run("max_regression", tmp_path / "run", "--lr", "1e30")
    assert done.returncode == 1 and "Traceback" not in done.stderr and "Warning" not in done.stderr
    assert "the loss became" in done.stderr and "at step " in done.stderr
    assert "Try a smaller --lr (it was 1e+30)" in done.stderr
    assert not (tmp_path / "run" / "result.json").exists()


@pytest.mark.parametrize("what", ["parameter head.weight", "optimizer's buffer v.0"])
def test_values_that_are_not_finite_are_never_saved(what: str, tmp_path: Path):
    """Even if the loss of that step is still finite: the last checkpoint is a good one."""
    config = max_regression.Config(arch="rFF + Pooling (max)", steps=20, save_every=5, log_every=5, test_sets=10)
    folder = RunFolder(tmp_path, max_regression.EXPERIMENT)
    folder.begin("quick", config)
    run, net = Run(folder, config, "test"), max_regression.network(config)
    optimizer = max_regression.Adam(net.parameters())
    with pytest.raises(Diverged, match=rf"the {what} is no longer finite at step 10; the last good .* of step 5"):
        for step in run.steps(net, optimizer):
            run.log(max_regression.absolute_error(net(np.ones((1, 2, 1))), np.ones((1, 1))))
            if step == 9:
                (net.head.weight.data if "weight" in what else optimizer.buffers["v"][0]).fill(np.inf)
    with np.load(folder.checkpoint_path, allow_pickle=False) as file:
        assert all(np.isfinite(file[name]).all() for name in file.files if name.startswith("model/"))


def test_a_full_disk_is_one_sentence_and_leaves_no_partial_file(tmp_path: Path):
    """A limit on the size of a file stands in for a full disk: the checkpoint does not fit."""
    limit = (60_000, 60_000)
    alone = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("COVERAGE")}  # it writes files
    limited = {"env": alone, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)}
    done = run("max_regression", tmp_path / "run", **limited)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "cannot write the checkpoint" in done.stderr and "File too large" in done.stderr
    assert not (tmp_path / "run").exists()  # no step was taken: the command may be repeated as it is


def test_the_progress_bar_on_a_terminal(tmp_path: Path):
    """A bar with loss, metric, pace and time left, and no lines in between."""
    main, side = pty.openpty()
    termios.tcsetwinsize(side, (24, 160))
    process = start(*words("max_regression", tmp_path / "run"), stderr=side)
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # reading a closed terminal is an error
        while part := os.read(main, 65536):
            seen += part
    out, _ = process.communicate()
    bar = seen.decode()
    assert process.returncode == 0
    for part in ("SAB + PMA: 100%", "130/130", "steps/s", "loss ", "MAE "):
        assert part in bar
    assert "step 20 of" not in out
