"""minisets train: which runs the options ask for, and what they leave in their folders."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tasks.harness import machine
from tasks.harness.cli import main
from tasks.harness.experiment import find_experiment
from tasks.harness.planning import planned_runs
from tasks.harness.run_folder import RunFolder
from tasks.harness.train import parse
from tests.helpers.commandline import ENVIRONMENT, ROOT, SHORT, command

RUN_FILES = {"config.json", "metrics.jsonl", "checkpoint.npz", "progress.json", "result.json", "examples.npz"}


def test_a_single_run_writes_directly_into_its_folder(runs: Path):
    names = {path.name for path in (runs / "one").iterdir()}
    figures = {f"{name}.{kind}" for name in find_experiment("clustering").figures for kind in ("png", "svg")}
    assert names == figures | RUN_FILES
    for name in figures:
        assert (runs / "one" / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_several_runs_get_separate_folders_and_common_figures(runs: Path):
    folders = {path.name for path in (runs / "max").iterdir() if path.is_dir()}
    assert folders == {"rff-poolingmax-seed0", "rff-poolingmax-seed1", "sab-pma-seed0", "sab-pma-seed1"}
    assert (runs / "max" / "learning_curves.png").exists() and (runs / "max" / "error_by_size.svg").exists()


def test_the_configuration_is_enough_to_repeat_the_run(runs: Path, tmp_path: Path):
    manifest = json.loads((runs / "one" / "config.json").read_text())
    assert manifest["task"] == "clustering" and {"python", "numpy", "scipy"} <= manifest["versions"].keys()
    assert manifest["options"] == json.loads((runs / "one" / "result.json").read_text())["options"]
    (tmp_path / "again").mkdir()
    shutil.copy(runs / "one" / "config.json", tmp_path / "again")
    assert main(["train", "clustering", "--out", str(tmp_path / "again"), "--resume"]) == 0
    for name in ("metrics.jsonl", "clusters.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (runs / "one" / name).read_bytes()


def git(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)


@pytest.mark.skipif(git("rev-parse", "HEAD").returncode != 0, reason="this is not a checkout")
def test_the_commit_of_the_source_is_recorded(runs: Path):
    for name in ("config.json", "result.json"):
        source = json.loads((runs / "one" / name).read_text())["source"]
        assert source.keys() == {"commit", "clean"} and isinstance(source["clean"], bool)
        assert git("merge-base", "--is-ancestor", source["commit"], "HEAD").returncode == 0
    before = git("rev-parse", "HEAD").stdout.strip()
    machine._commit.cache_clear()
    found = machine.environment()["source"]["commit"]
    assert found in (before, git("rev-parse", "HEAD").stdout.strip())  # it may change while the tests run


def test_without_a_checkout_no_commit_is_recorded(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    machine._commit.cache_clear()
    try:
        assert machine.environment()["source"] == {}
    finally:
        machine._commit.cache_clear()


def test_presets_choose_the_rows():
    for name in ("max_regression", "clustering", "clustering_large"):
        experiment = find_experiment(name)
        paper_rows = planned_runs(experiment, "paper", {}, 1, None)
        assert [plan.config.arch for plan in paper_rows] == list(experiment.rows)
        quick = [plan.config.arch for plan in planned_runs(experiment, "quick", {}, 2, None)]
        assert quick[::2] == quick[1::2] == list(experiment.quick_rows or experiment.rows)
        assert set(quick) <= set(experiment.rows)
        everything = planned_runs(experiment, "quick", {"arch": ["all"]}, 1, None)
        assert len({plan.folder.path for plan in everything}) == len(experiment.rows)
    assert len(find_experiment("clustering").rows) == 13


def test_a_row_named_twice_is_trained_once():
    plans = planned_runs(find_experiment("clustering"), "quick", {"arch": ["SAB + PMA", "sab+pma", "all"]}, 1, None)
    assert len(plans) == 13


def test_float64_weights(tmp_path: Path):
    words = ["--arch", "rFF + Pooling (max)", "--dtype", "float64", "--out", str(tmp_path / "a")]
    assert main(["train", "max_regression", *words, *SHORT]) == 0
    with np.load(tmp_path / "a" / "checkpoint.npz", allow_pickle=False) as file:
        assert {file[name].dtype.name for name in file.files if name.startswith("model/")} == {"float64"}


def test_each_page_is_a_command(tmp_path: Path):
    words = ["--seconds", "0.01", "--n-sab", "20", "--n-isab", "50", "--threshold", "10", "--out", str(tmp_path / "r")]
    done = subprocess.run(
        [sys.executable, "-m", "tasks.runtime", *words], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    points = json.loads((tmp_path / "r" / "result.json").read_text())["metrics"]["points"]
    sizes = [("SAB", 10), ("SAB", 20), ("ISAB", 10), ("ISAB", 20), ("ISAB", 50)]
    assert [(point["block"], point["n"]) for point in points] == sizes
    assert all(point["forward"] > 0 and point["both"] > 0 and point["memory"] > 1000 for point in points)
    assert (tmp_path / "r" / "runtime.png").exists()


# ---- the name of the experiment among the options --------------------------------------------------------------------


def test_options_may_come_before_the_name(tmp_path: Path):
    out = tmp_path / "run"
    done = command("train", "--arch", "SAB + PMA", *SHORT, "--out", out, "max-regression")
    assert done.returncode == 0, done.stderr
    options = RunFolder(out).options()
    assert (options.steps, options.batch, options.arch) == (6, 4, "SAB + PMA")


@pytest.mark.parametrize(
    ("words", "name", "given"),
    [
        ("--steps 5 clustering", "clustering", {"steps": 5}),
        ("clustering --steps 5", "clustering", {"steps": 5}),
        ("--out runtime clustering", "clustering", {"out": Path("runtime")}),
        ("--out clustering runtime", "runtime", {"out": Path("clustering")}),
        ("--out=runtime clustering", "clustering", {"out": Path("runtime")}),
        ("--resume --seeds 2 vgg --out a:b", "vgg", {"resume": True, "seeds": 2, "out": Path("a:b")}),
        ("--out a:b vgg", "vgg", {"out": Path("a:b")}),
    ],
)
def test_a_name_that_is_the_value_of_an_option_is_not_the_experiment(words: str, name: str, given: dict):
    experiment, found = parse(words.split())
    assert experiment is find_experiment(name)
    assert {key: found[key] for key in given} == given
