"""The cells of a sweep, and requests that cannot be met: one sentence, exit code 2, and nothing written."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tasks import max_regression
from tasks.harness.cli import main
from tasks.harness.options import from_json
from tasks.harness.planning import planned_runs
from tasks.harness.train import parse
from tasks.sweep.command import prepare
from tasks.sweep.grid import grid
from tests.helpers.commandline import ROOT
from tests.helpers.runs import change_json

ONE = "--arch 'rFF + Pooling (max)' --set steps=6 --set batch=4 --set validation_sets=10 --set test_sets=20"


def names(words: str) -> list[str]:
    return [cell.name for cell in prepare(shlex.split(words)).cells]


def test_without_set_the_cells_are_the_folders_of_minisets_train(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plans = planned_runs(max_regression.EXPERIMENT, "quick", {"arch": ["all"]}, 2, None)
    assert [f"runs/{name}" for name in names("max_regression --arch all --seeds 2")] == [
        str(plan.folder.path) for plan in plans
    ]


def test_every_key_of_set_is_part_of_the_name(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = names("max_regression --arch 'SAB + PMA' --set lr=1e-3,3e-4 --set n-max=5,7 --seed 3")
    assert found == [
        f"max_regression/quick/sab-pma-seed3-lr{lr}-n_max{n}" for lr in ("0.001", "0.0003") for n in (5, 7)
    ]
    assert names("max_regression --arch 'SAB + PMA' --set n_max=5 --set lr=1e-3,0.001") == [
        "max_regression/quick/sab-pma-seed0-lr0.001-n_max5"  # the order does not matter, and the same value counts once
    ]


def test_several_experiments_and_one_named_twice(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = names("max_regression runtime --seeds 2 max-regression --arch all")
    assert len(found) == 10 and {"runtime/quick/runtime-seed0", "runtime/quick/runtime-seed1"} < set(found)


def test_the_options_of_a_cell_say_everything(tmp_path: Path, monkeypatch):
    """What the child is given makes the very configuration that was planned, booleans and floats included."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    tasks = ["image_clustering", "point_cloud", "tests.helpers.median_experiment:EXPERIMENT", "runtime", "vgg"]
    for task in tasks:
        for cell in grid([task], None, None, 0, 2, ["dtype=float64"], tmp_path):
            experiment, given = parse([cell.task, *cell.options])
            preset = given.pop("preset")
            assert {key for key in given if given[key]} >= {"dtype"} and given.pop("out") is None
            seeds = given.pop("seeds")
            given = {key: value for key, value in given.items() if key not in ("resume", "start_over", "distributed")}
            (plan,) = planned_runs(experiment, preset, dict(given), seeds, Path("x"))
            assert set(given) == set(plan.config.__dataclass_fields__)
            assert from_json(experiment.config, json.loads(json.dumps(vars(plan.config))), "") == plan.config
            assert plan.config.dtype == "float64" and cell.steps == getattr(plan.config, "steps", None)


def test_data_is_checked_once_and_not_for_every_cell(tmp_path: Path, monkeypatch):
    checked = []
    monkeypatch.setattr(max_regression.Config, "check", lambda config: checked.append(config))
    assert len(grid(["max_regression"], None, ["all"], 0, 5, ["lr=1e-3,1e-4"], tmp_path)) == 40
    assert [config.lr for config in checked] == [1e-3, 1e-4]


BAD = {
    "": "expected the name of an experiment, or --status",
    "max_regresion": "there is no experiment 'max_regresion'; did you mean max_regression?",
    "max_regression poetry": "there is no experiment 'poetry'",
    "max_regression --preset papr": "max_regression has no preset 'papr'; did you mean paper?",
    "max_regression --arch nonsense": "--arch: there is no architecture 'nonsense'",
    "runtime --arch 'SAB + PMA'": "runtime has no architectures to choose from; leave out --arch",
    "max_regression --set lr": "--set takes an option and its values, as in --set lr=1e-3,3e-4; given 'lr'",
    "max_regression --set =3": "--set takes an option and its values",
    "max_regression --set stesp=3": "--set: max_regression has no option 'stesp'; did you mean steps?",
    "max_regression --set xyzzy=3": "no option 'xyzzy'; minisets train max_regression --help lists its options",
    "runtime max_regression --set lr=1": "--set: runtime has no option 'lr'",
    "max_regression --set lr=fast": "--set lr: expected a number, given 'fast'",
    "max_regression --set lr=1e-3,": "--set lr: expected a number, given ''",
    "max_regression --set lr=-1": "--lr must be a positive number, given -1.0",
    "max_regression --set steps=1.5": "--set steps: expected an integer, given '1.5'",
    "max_regression --set lr=1 --set lr=2": "--set lr is given twice",
    "max_regression --set seed=1": "--set seed: --seed and --seeds choose the seeds",
    "max_regression --set arch=x": "--set arch: --arch chooses the architectures",
    "max_regression --set device=cpu,cuda": "--set device takes one value",
    "max_regression --set device=tpu": "--device tpu: unknown device 'tpu'",
    "max_regression --seeds 0": "--seeds must be at least 1, given 0",
    "max_regression --seeds 1e9": "--seeds must be at most 10,000, given 1000000000",
    "max_regression --seeds 9999 --set lr=1,2,3": "these are more than 10,000 cells",
    "max_regression --seed -1": "--seed must be at least 0, given -1",
    "max_regression --jobs 0": "--jobs must be at least 1, given 0",
    "max_regression --threads 0": "--threads must be at least 1, given 0",
    "max_regression --threads 2000": "--threads must be at most 1,024, given 2000",
    "max_regression --hours 0": "--hours must be a positive number, given 0",
    "max_regression --hours inf": "--hours must be a positive number, given inf",
    "max_regression --hours soon": "argument --hours: expected a number, given 'soon'",
    "max_regression --out /dev/null": "/dev/null is a file; --out takes a folder",
    "max_regression --out ''": "expected the name of a folder, given an empty one",
    "max_regression --out /proc/runs": "cannot write to the folder /proc/runs/sweeps/",
    "max_regression --job 2": "there is no option --job; did you mean --jobs?",
    "max_regression --set n_max=5 --set data={long}": "no option 'data'",
    "max_regression --set dtype={long}": "--dtype must be one of float32, float64",
    "--status": "there is no sweep in runs; minisets sweep TASK starts one",
    "--status max_regression": "--status shows all sweeps in the folder --out; leave out the experiments",
}


@pytest.mark.parametrize("words", BAD)
def test_a_bad_request_is_one_sentence_and_exit_code_2(words: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *shlex.split(words.format(long="x" * 300))]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("minisets: ") and BAD[words] in printed.err
    assert len(printed.err.splitlines()) == 1 and not list(tmp_path.iterdir())


def test_a_folder_with_another_configuration_is_refused_before_anything_starts(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = "runs/max_regression/quick/rff-poolingmax-seed1"
    assert main(["train", "max_regression", "--arch", "rff+pooling(max)", "--seed", "1", "--steps", "6", "--batch", "4",
                 "--validation-sets", "5", "--test-sets", "5", "--out", folder]) == 0  # fmt: skip
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert main(["sweep", "max_regression", "--arch", "rFF + Pooling (max)", "--seeds", "2"]) == 2
    error = capsys.readouterr().err
    assert f"{folder} holds a run with another configuration (--steps 6 there, " in error
    assert sorted(tmp_path.rglob("*")) == before
    change_json(tmp_path / folder / "config.json", lambda about: about["options"].update(steps=4_000), checksum=True)
    assert main(["sweep", "max_regression", "--arch", "rFF + Pooling (max)", "--seeds", "2"]) == 2
    assert "was changed after the run began" in capsys.readouterr().err


def test_two_experiments_of_the_same_name_are_refused(tmp_path: Path, monkeypatch, capsys):
    for module in ("first_median", "second_median"):
        (tmp_path / f"{module}.py").write_text((ROOT / "tests/helpers/median_experiment.py").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert main(["sweep", "first_median:EXPERIMENT", "second_median:EXPERIMENT"]) == 2
    assert "first_median:EXPERIMENT and second_median:EXPERIMENT have the same name" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_runs_that_exist_already_count(tmp_path: Path, monkeypatch, capsys):
    """Those of minisets train, and a file that is not a run's beside them."""
    monkeypatch.chdir(tmp_path)
    words = ["tests.helpers.median_experiment:EXPERIMENT"]
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    assert main(["train", *words, "--seeds", "2"]) == 0
    assert sorted(path.name for path in (tmp_path / "runs/median/small").iterdir() if path.is_dir()) == [
        "median-seed0",
        "median-seed1",
    ]
    capsys.readouterr()
    assert main(["sweep", *words, "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 cells are finished" in out and "started" not in out


def test_an_experiment_of_ones_own_with_a_grid(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    words = ["sweep", "tests.helpers.median_experiment:EXPERIMENT", "--set", "lr=0.1,0.01", "--jobs", "2"]
    assert main(words) == 0
    assert "2 of 2 cells are finished" in capsys.readouterr().out
    assert main(["table", "tests.helpers.median_experiment:EXPERIMENT"]) == 0
    table = capsys.readouterr().out
    assert "options" in table and "lr 0.1 " in table and "lr 0.01 " in table
