"""Runs to trust: they learn, survive kill -9 and Ctrl-C bit for bit, and stop in time when numbers go bad."""

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

from tasks import clustering, max_regression
from tasks.harness.errors import Diverged
from tasks.harness.run import TEST, TRAINING, Run, rng_for
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import ENVIRONMENT, TINY, command, start

ARCH = {"max_regression": "SAB + PMA", "clustering": "ISAB (4) + PMA"}


def arrays(path: Path) -> dict[str, str]:
    with np.load(path, allow_pickle=False) as file:
        return {name: repr((file[name].dtype, file[name].shape, file[name].tobytes())) for name in file.files}


def same_run(a: Path, b: Path) -> None:
    """Weights, optimizer, notes, log and result agree to the bit; only the time it took may differ."""
    assert arrays(a / "checkpoint.npz") == arrays(b / "checkpoint.npz")
    assert (a / "metrics.jsonl").read_bytes() == (b / "metrics.jsonl").read_bytes()
    results = [json.loads((folder / "result.json").read_text()) for folder in (a, b)]
    assert results[0]["metrics"] == results[1]["metrics"]
    if (a / "best.npz").exists():
        assert arrays(a / "best.npz") == arrays(b / "best.npz")


def words(task: str, out: Path, *more: object) -> list[object]:
    return ["train", task, "--arch", ARCH[task], *shlex.split(TINY[task]), "--steps", 130, "--out", out, *more]


def run(task: str, out: Path, *more: object, **settings) -> subprocess.CompletedProcess:
    return command(*words(task, out, *more), **settings)


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> dict[str, Path]:
    """Each task once, without interruption."""
    folders = {task: tmp_path_factory.mktemp("straight") / task for task in TINY}
    for task, folder in folders.items():
        done = run(task, folder)
        assert done.returncode == 0, done.stderr
    return folders


# ---- resuming -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TINY)
def test_the_same_seed_gives_the_same_bits(task: str, straight, tmp_path: Path):
    assert run(task, tmp_path / "again").returncode == 0
    same_run(straight[task], tmp_path / "again")
    other = run(task, tmp_path / "other", "--seed", 1)
    assert other.returncode == 0
    assert arrays(straight[task] / "checkpoint.npz") != arrays(tmp_path / "other" / "checkpoint.npz")


@pytest.mark.parametrize("task", TINY)
def test_killed_at_random_moments_and_resumed_it_ends_with_the_same_bits(task: str, straight, tmp_path: Path):
    seed = random.randrange(10**6)
    print(f"seed of the moments: {seed}")  # shown if it fails
    folder, rng, kills = tmp_path / "killed", random.Random(seed), 0
    for wanted in (3, 35, 60, 90, 128):  # kill it a random moment after it has logged so many steps
        process = start(*words(task, folder, "--resume"))
        while process.poll() is None and _last_step(folder) < wanted:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.15))
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
    done = run(task, folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert kills >= 3  # the machine may be fast, but not so fast that none of them hit
    same_run(straight[task], folder)
    assert not list(folder.glob(".*.unfinished"))


def begin_and_kill(folder: Path, step: int) -> None:
    """A run of maximum regression that is killed after it has logged the step."""
    process = start(*words("max_regression", folder))
    while _last_step(folder) < step:
        time.sleep(0.005)
    process.kill()
    process.communicate()


def _last_step(folder: Path) -> int:
    try:
        return json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    except (OSError, IndexError, ValueError):
        return 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_says_how_to_go_on(number: int, straight, tmp_path: Path):
    folder = tmp_path / "stopped here"
    process = start(*words("max_regression", folder))
    while _last_step(folder) < 20:
        time.sleep(0.005)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == 130 and "Traceback" not in said
    assert "all saved; to go on: minisets train max_regression" in said
    reached = json.loads((folder / "progress.json").read_text())["step"]
    assert 20 <= reached < 130  # it stopped where it was, not at the next checkpoint
    again = shlex.split(said.strip().rsplit("to go on: minisets ", 1)[1])
    assert command(*again).returncode == 0
    same_run(straight["max_regression"], folder)


def test_resume_needs_no_more_than_the_folder(straight, tmp_path: Path):
    folder = tmp_path / "run"
    begin_and_kill(folder, 20)
    assert command("train", "max_regression", "--out", folder, "--resume").returncode == 0
    same_run(straight["max_regression"], folder)


def test_resume_where_nothing_is_says_so_and_begins(straight, tmp_path: Path):
    done = run("max_regression", tmp_path / "new", "--resume")
    assert done.returncode == 0 and "nothing to resume here: it begins anew" in done.stdout
    same_run(straight["max_regression"], tmp_path / "new")


def test_a_machine_that_changed_is_mentioned(straight, tmp_path: Path):
    shutil.copytree(straight["max_regression"], tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    about = json.loads((tmp_path / "run" / "config.json").read_text())
    assert {"python", "numpy", "blas"} <= about["versions"].keys()
    about["machine"]["threads"] = {"OPENBLAS_NUM_THREADS": "64"}
    (tmp_path / "run" / "config.json").write_text(json.dumps(about))
    done = command("train", "max_regression", "--out", tmp_path / "run", "--resume")
    assert done.returncode == 0 and "machine then: " in done.stderr and "the last bits may differ" in done.stderr


def test_a_finished_run_is_not_trained_again(straight):
    before = arrays(straight["clustering"] / "checkpoint.npz")
    again = run("clustering", straight["clustering"], "--resume")
    assert again.returncode == 0 and "finished already: LL0" in again.stdout
    assert arrays(straight["clustering"] / "checkpoint.npz") == before


def test_a_line_cut_off_by_a_crash_is_written_again(straight, tmp_path: Path):
    folder = tmp_path / "run"
    begin_and_kill(folder, 35)
    with open(folder / "metrics.jsonl", "a") as file:
        file.write('{"step": 36, "lo')
    assert command("train", "max_regression", "--out", folder, "--resume").returncode == 0
    same_run(straight["max_regression"], folder)


# ---- learning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["rFF + Pooling (mean)", "rFF + Pooling (sum)", "rFF + Pooling (max)", "SAB + PMA"])
def test_maximum_regression_learns(label: str, tmp_path: Path):
    config = max_regression.Config(arch=label, steps=250, batch=32, log_every=10, validation_sets=100, test_sets=4000)
    folder = RunFolder(tmp_path / "run")
    folder.begin("max_regression", "quick", config)
    result = max_regression.train(config, Run(folder, config, label))
    losses = [line["loss"] for line in folder.metrics() if "loss" in line]
    assert np.mean(losses[-2:]) < losses[0] / 3  # 50 or more falls below a third
    assert result["MAE"] < result["constant"] and 14 < result["constant"] < 15
    assert result["MAE"] <= result["MAE last"] * 1.2


@pytest.mark.parametrize("label", ["rFF + Pooling", "ISAB (8) + PMA"])
@pytest.mark.parametrize("ragged", [False, True])
def test_clustering_learns(label: str, ragged: bool, tmp_path: Path):
    config = clustering.Config(arch=label, steps=120, batch=5, n_min=20, n_max=40, log_every=10, validation_sets=10,
                               test_sets=20, em_restarts=0, ragged=ragged)  # fmt: skip
    folder = RunFolder(tmp_path / "run")
    folder.begin("clustering", "quick", config)
    result = clustering.train(config, Run(folder, config, label))
    losses = [line["loss"] for line in folder.metrics() if "loss" in line]
    assert min(losses[-3:]) < losses[0] * 0.75  # −LL falls by a quarter: from about 5 to below 4
    assert result["LL0"] < result["LL1"] < result["oracle"] and "EM" not in result
    assert 0 <= result["ARI0"] <= 1 and 0.5 < result["oracle ARI"] <= 1


def test_the_loss_of_a_ragged_batch_is_that_of_its_sets_one_by_one():
    config = clustering.Config(arch="rFF + PMA", n_min=3, n_max=9)
    net = clustering.network(config).astype("float64")
    X, mask, _, _ = clustering.draw(config, np.random.default_rng(0), 4, ragged=True)
    together = clustering.mean_log_likelihood(clustering.Tensor(X), mask, net(X, mask)).item()
    single = []
    for x, m in zip(X, mask, strict=True):
        x = x[None, m]
        single.append(clustering.mean_log_likelihood(clustering.Tensor(x), None, net(x)).item())
    assert together == pytest.approx(np.mean(single), rel=1e-9)


def test_training_and_test_sets_never_meet():
    streams = [rng_for(0, purpose, step).random() for purpose in range(4) for step in range(50)]
    assert len(set(streams)) == 200
    config = clustering.Config()
    test = {x.tobytes() for batch in clustering.eval_batches(config, TEST, 100) for x in batch[0]}
    seen = {
        x.tobytes() for step in range(50) for x in clustering.draw(config, rng_for(0, TRAINING, step), 10, False)[0]
    }
    assert len(test) == 100 and len(seen) == 500 and not test & seen


def test_the_test_sets_are_the_same_for_every_run():
    configs = (clustering.Config(), clustering.Config(seed=1, batch=3, arch="rFF + PMA"))
    first, second = ([batch[0] for batch in clustering.eval_batches(config, TEST, 25)] for config in configs)
    assert [len(x) for x in first] == [10, 10, 5]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- what goes wrong ------------------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path):
    done = run("max_regression", tmp_path / "run", "--lr", "1e30")
    assert done.returncode == 1 and "Traceback" not in done.stderr and "Warning" not in done.stderr
    assert "the loss became" in done.stderr and "at step " in done.stderr
    assert "Try a smaller --lr (it was 1e+30)" in done.stderr
    assert not (tmp_path / "run" / "result.json").exists()


def test_the_last_good_checkpoint_is_good(tmp_path: Path):
    """Weights that are no numbers are never saved, even if the loss of that step still was one."""
    config = max_regression.Config(arch="rFF + Pooling (max)", steps=20, save_every=5, log_every=5, test_sets=10)
    folder = RunFolder(tmp_path)
    folder.begin("max_regression", "quick", config)
    run, net = Run(folder, config, "test"), max_regression.network(config)
    optimizer = max_regression.Adam(net.parameters())
    with pytest.raises(Diverged, match=r"head.weight is no longer finite at step 10; the last good .* of step 5"):
        for step in run.steps(net, optimizer):
            run.log(max_regression.absolute_error(net(np.ones((1, 2, 1))), np.ones((1, 1))))
            if step == 9:
                net.head.weight.data[0, 0] = np.nan
    with np.load(folder.checkpoint, allow_pickle=False) as file:
        assert all(np.isfinite(file[name]).all() for name in file.files if name.startswith("model/"))


def test_a_full_disk_is_a_sentence_and_nothing_half_written(tmp_path: Path):
    """A limit on the size of a file stands in for a full disk: the checkpoint does not fit any more."""
    limit = (60_000, 60_000)
    alone = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("COVERAGE")}  # it writes files
    limited = {"env": alone, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)}
    done = run("max_regression", tmp_path / "run", **limited)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "cannot write the checkpoint" in done.stderr and "File too large" in done.stderr
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.json", "metrics.jsonl"]


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.append({"step": 1, "loss": 2.0})
    before = folder.metrics.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5, hard))
    try:
        with pytest.raises(Exception, match=r"cannot write .*metrics.jsonl: no room for the whole line"):
            folder.append({"step": 2, "loss": 1.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.metrics.read_bytes() == before


def test_two_processes_do_not_run_in_one_folder(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    config = max_regression.Config(arch="SAB + PMA", steps=5)
    folder.begin("max_regression", "quick", config)
    with folder.locked():
        done = command("train", "max_regression", "--out", folder.path, "--resume")
    assert done.returncode == 2 and f"another process runs in {folder.path}" in done.stderr


def test_the_bar_on_a_terminal(tmp_path: Path):
    """On a terminal a bar with loss, metric, pace and time left, and no lines in between."""
    main, side = pty.openpty()
    termios.tcsetwinsize(side, (24, 160))
    process = start(*words("max_regression", tmp_path / "run"), stderr=side)
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while part := os.read(main, 65536):
            seen += part
    out, _ = process.communicate()
    bar = seen.decode()
    assert process.returncode == 0
    for part in ("SAB + PMA: 100%", "130/130", "steps/s", "loss ", "MAE "):
        assert part in bar
    assert "step 20 of" not in out
