"""Experiments outside of this project, named by module and attribute, through the real command line."""

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.harness.experiment import NAMES, find_experiment
from tests.helpers import median_experiment
from tests.helpers.commandline import command, start
from tests.helpers.runs import assert_same_run, last_step, log_lines

NAME = "median_pkg.median:EXPERIMENT"
OPTIONS = ["--log-every", "5", "--evaluate-every", "10", "--save-every", "7"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the package median_pkg, from which the command is run."""
    package = tmp_path / "median_pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(median_experiment.__file__, package / "median.py")
    return tmp_path


def run(folder: Path, *words: object) -> str:
    """The standard output of a command that must succeed."""
    done = command(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_train_table_figure_and_list(folder: Path):
    for seed in (0, 1):
        words = [NAME, "--seed", seed, "--steps", 30, "--n", 3, "--out", f"runs/median/seed{seed}", *OPTIONS]
        text = run(folder, "train", *words)
        assert f"median: The median of a set, seed {seed}, preset small" in text and "mean error 0." in text
    out = folder / "runs/median/seed0"
    expected = {"config.json", "metrics.jsonl", "checkpoint.npz", "progress.json", "result.json", "examples.npz"}
    assert {path.name for path in out.iterdir()} == expected | {"weights.png", "weights.svg"}
    manifest = json.loads((out / "config.json").read_text())
    assert manifest["task"] == "median" and manifest["preset"] == "small"
    assert (manifest["options"]["batch"], manifest["options"]["n"], manifest["options"]["steps"]) == (8, 3, 30)
    steps = [json.loads(line)["step"] for line in log_lines(out)]
    assert steps == [5, 10, 15, 20, 25, 30]

    table = run(folder, "table", NAME)
    lines = {line.split("  ")[0]: line for line in table.splitlines() if line}
    assert " ± " in lines["median"] and " small [2] " in lines["median"] and "0.2000" in lines["Guess"]
    assert "[1] not the default: n 3 (default: 5)" in table
    assert "[2] not the default: steps 30 (default: 40), batch 8 (default: 10), n 3 (default: 5)" in table
    assert "paper" not in table  # there is none to compare with

    assert "figure: figures/weights.png" in run(folder, "figure", NAME, "--out", "figures")
    assert (folder / "figures/weights.svg").read_bytes() == (out / "weights.svg").read_bytes()

    listed = run(folder, "list")
    assert listed.endswith(
        "other experiments\n    runs/median/seed0: median, finished\n    runs/median/seed1: median, finished\n"
    )


def test_several_seeds_and_a_preset(folder: Path):
    text = run(folder, "train", "--seeds", 2, "--preset", "large", "--steps", 5, NAME)
    assert "The median of a set\n" in text  # the table
    assert {path.name for path in (folder / "runs/median/large").iterdir()} == {
        "median-seed0", "median-seed1", "weights.png", "weights.svg",
    }  # fmt: skip


def test_help_has_the_options_of_the_experiment(folder: Path):
    text = " ".join(run(folder, "train", NAME, "--help").split())
    assert "numbers in a set (default: 5)" in text and "--preset {small,large}" in text
    assert "sets per step (default: 8)" in text and "training steps (default: 40)" in text


def test_killed_and_resumed_it_ends_with_the_same_bits(folder: Path):
    words = ["train", NAME, "--steps", 3_000, *OPTIONS, "--out"]
    run(folder, *words, "straight")
    process = start(*words, "killed", cwd=folder)
    while last_step(folder / "killed") < 100:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL and not (folder / "killed/result.json").exists()
    run(folder, "train", NAME, "--out", "killed", "--resume")
    assert_same_run(folder / "straight", folder / "killed")


def edited(change: Callable[[str], str]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "median_pkg/median.py"
        path.write_text(change(path.read_text()))

    return edit


@pytest.mark.parametrize(
    ("name", "message", "edit"),
    [
        ("median_pkg.mode:EXPERIMENT", "there is no module median_pkg.mode in ", None),
        ("nothing_here:EXPERIMENT", "there is no module nothing_here in ", None),
        (f"{NAME}S", "has no Experiment called 'EXPERIMENTS'; did you mean EXPERIMENT?", None),
        ("median_pkg.median:other", "median_pkg.median has no Experiment called 'other'; it has EXPERIMENT", None),
        ("median_pkg.median:Config", "median_pkg.median has no Experiment called 'Config'", None),
        ("median_pkg.median:", "median_pkg.median has no Experiment called ''", None),
        ("median_pkg:EXPERIMENT", "'EXPERIMENT'; it has no Experiment at all", None),
        ("median_pkg/median.py:EXPERIMENT", "names a file; write its module instead: median_pkg.median:EXPER", None),
        ("./median_pkg/median.py", "there is no experiment './median_pkg/median.py'", None),
        (
            NAME,
            "median_pkg.median:EXPERIMENT is named 'clustering', as one of the paper's experiments is",
            edited(lambda text: text.replace('name="median"', 'name="clustering"')),
        ),
        (
            NAME,
            "importing median_pkg.median failed: ZeroDivisionError: division by zero (",
            edited(lambda text: text + "\n\nRATIO = 1 / 0\n"),
        ),
        (
            NAME,
            "importing median_pkg.median failed: ModuleNotFoundError: No module named 'no_such_package' (",
            edited(lambda text: text.replace("import numpy as np", "import no_such_package")),
        ),
        (
            NAME,
            "importing median_pkg.median failed: SyntaxError: ",
            edited(lambda text: text.replace("def train(", "def train")),
        ),
        (
            NAME,
            "TypeError: an option must be an int, a float, a str or a bool; n is declared as list (",
            edited(lambda text: text.replace("n: int = option(5,", "n: list = option(5,")),
        ),
        (
            NAME,
            "importing median_pkg.median failed: TypeError: the option n of Config needs a help text (",
            edited(lambda text: text.replace('"numbers in a set", ', "")),
        ),
    ],
)
@pytest.mark.parametrize("verb", ["train", "table", "figure"])
def test_an_experiment_that_cannot_be_found_is_one_sentence(
    verb: str, name: str, message: str, edit: Callable[[Path], None] | None, folder: Path
):
    if edit:
        edit(folder)
    done = command(verb, name, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr
    assert done.stderr.startswith("minisets: ") and done.stderr.count("\n") == 1 and not (folder / "runs").exists()


def test_a_folder_with_a_run_of_another_experiment_is_refused(folder: Path):
    run(folder, "train", NAME, "--steps", 2, "--out", "run")
    done = command("train", "clustering", "--out", "run", "--resume", cwd=folder)
    assert done.returncode == 2 and "run holds a run of median, not of clustering" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_experiments_are_complete(name: str):
    experiment = find_experiment(name)
    assert experiment.name == name and experiment.title and experiment.description and experiment.table.notes
    assert experiment.default_preset == "quick" and {*experiment.presets} == {"quick", "paper"}
    assert {*experiment.quick_rows} <= {*experiment.rows} and experiment.rows_of("paper") == experiment.rows
    assert find_experiment(name.replace("_", "-").upper()) is find_experiment(f"tasks.{name}:EXPERIMENT") is experiment
