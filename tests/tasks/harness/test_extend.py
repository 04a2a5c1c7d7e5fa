"""A finished run is extended by --resume with more --steps, and the record says so."""

import json
import shlex
import shutil
import time
from pathlib import Path

import pytest

from tasks import max_regression
from tasks.harness import tables
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import TINY, command, start
from tests.helpers.runs import arrays, assert_same_run, last_step, log_lines

WORDS = ["train", "max_regression", "--arch", "rFF + Pooling (max)", *shlex.split(TINY["max_regression"])]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 40 steps; never changed."""
    folder = tmp_path_factory.mktemp("short") / "run"
    done = command(*WORDS, "--steps", 40, "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def extended(short: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of 40 steps, extended to 400 without interruption."""
    folder = tmp_path_factory.mktemp("extended") / "run"
    shutil.copytree(short, folder)
    done = command(*WORDS, "--steps", 400, "--out", folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert "extended from 40 to 400 steps" in done.stdout
    return folder


def test_an_extended_run_continues_where_it_was(short: Path, extended: Path):
    first = log_lines(short)
    assert log_lines(extended)[: len(first)] == first and last_step(extended) == 400
    assert arrays(short / "checkpoint.npz") != arrays(extended / "checkpoint.npz")


def test_the_extension_is_recorded(short: Path, extended: Path):
    for name in ("config.json", "result.json"):
        about = json.loads((extended / name).read_text())
        assert about["extended_from"] == [40] and about["options"]["steps"] == 400
        assert "extended_from" not in json.loads((short / name).read_text())


def test_the_table_names_the_extension(short: Path, extended: Path, tmp_path: Path):
    straight = tmp_path / "straight"
    assert command(*WORDS, "--steps", 400, "--seed", 1, "--out", straight).returncode == 0
    runs = [RunFolder(folder) for folder in (extended, straight)]
    rows = [row for row in tables.rows(max_regression.EXPERIMENT, runs) if row["label"] == "rFF + Pooling (max)"]
    assert [(row["seeds"], row["steps"]) for row in rows] == [([1], 400), ([0], 400)]  # they are not averaged
    assert "extended from 40 steps" in rows[1]["deviations"] and "extended" not in str(rows[0]["deviations"])
    assert "extended from 40 steps" in tables.text(max_regression.EXPERIMENT, runs)


def test_killed_while_it_is_extended_and_resumed_it_ends_with_the_same_bits(
    short: Path, extended: Path, tmp_path: Path
):
    folder = tmp_path / "run"
    shutil.copytree(short, folder)
    process = start(*WORDS, "--steps", 400, "--out", folder, "--resume")
    while process.poll() is None and last_step(folder) < 110:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert 110 <= last_step(folder) < 400 and not RunFolder(folder).finished()
    listed = command("list", "--runs", folder).stdout
    assert "finished" not in listed and "rFF + Pooling (max), at step " in listed and " of 400" in listed
    done = command("train", "max_regression", "--out", folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert_same_run(extended, folder)
    assert json.loads((folder / "config.json").read_text())["extended_from"] == [40]


def test_a_run_can_be_extended_twice(short: Path, tmp_path: Path):
    folder = tmp_path / "run"
    shutil.copytree(short, folder)
    for steps in (50, 60):
        done = command("train", "max_regression", "--steps", steps, "--out", folder, "--resume")
        assert done.returncode == 0, done.stderr
    assert json.loads((folder / "result.json").read_text())["extended_from"] == [40, 50]
    assert "extended from 40, 50 steps" in tables.text(max_regression.EXPERIMENT, [RunFolder(folder)])
    again = command(*WORDS, "--steps", 60, "--out", folder, "--resume")
    assert again.returncode == 0 and "already finished: MAE" in again.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--steps", "400"], "holds this run with 40 steps; --resume extends it to 400"),
        (["--steps", "30"], "another configuration (--steps 40 there, 30 here)"),
        (["--steps", "30", "--resume"], "another configuration (--steps 40 there, 30 here)"),
        (["--steps", "400", "--lr", "0.5", "--resume"], "(--steps 40 there, 400 here; --lr 0.001 there, 0.5 here)"),
    ],
)
def test_what_is_not_an_extension_is_refused(more: list[str], message: str, short: Path):
    before = {path.name: path.read_bytes() for path in short.iterdir()}
    done = command(*WORDS, *more, "--out", short)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in short.iterdir()} == before


@pytest.mark.parametrize("name", ["checkpoint.npz", "best.npz", "metrics.jsonl", "result.json", "progress.json"])
def test_a_damaged_run_is_not_extended_and_stays_as_it_was(name: str, short: Path, tmp_path: Path):
    folder = tmp_path / "run"
    shutil.copytree(short, folder)
    (folder / name).write_bytes((folder / name).read_bytes()[5:])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = command("train", "max_regression", "--steps", 50, "--out", folder, "--resume")
    assert done.returncode == 2 and name in done.stderr and done.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_figures_of_an_extended_run_show_the_new_weights(extended: Path, short: Path):
    for name in ("learning_curves.svg", "error_by_size.svg"):
        assert (extended / name).read_bytes() != (short / name).read_bytes()
