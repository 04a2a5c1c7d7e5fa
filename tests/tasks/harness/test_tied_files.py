"""The files of a run belong together: one of another run, an edited, damaged or missing one is one sentence."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tasks.harness.cli import main
from tasks.harness.records import digest
from tests.helpers.commandline import SHORT, command
from tests.helpers.runs import assert_same_run, change_json

WORDS = ["train", "max_regression", "--arch", "SAB + PMA", *SHORT, "--save-every", "2"]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of seed 0, and one of seed 1 beside it; never changed."""
    root = tmp_path_factory.mktemp("tied")
    for seed in (0, 1):
        assert main([*WORDS, "--seed", str(seed), "--out", str(root / f"seed{seed}")]) == 0
    return root / "seed0"


@pytest.fixture
def run(straight: Path, tmp_path: Path) -> Path:
    """A copy of the run whose result is still to be computed."""
    shutil.copytree(straight, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    return tmp_path / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.is_symlink()}


def resume(folder: Path) -> int:
    return main(["train", "max_regression", "--out", str(folder), "--resume"])


def refused(folder: Path, capsys: pytest.CaptureFixture) -> str:
    """The sentence with which resuming is refused; nothing in the folder changes."""
    before = contents(folder)
    assert resume(folder) == 2
    assert contents(folder) == before
    error = capsys.readouterr().err
    assert error.startswith("minisets: ") and error.count("\n") == 1 and len(error) < 500
    return error


# ---- files of another run, edited and missing ones ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checkpoint.npz", "best.npz", "progress.json", "metrics.jsonl"])
def test_a_file_of_another_run_is_named(name: str, straight: Path, run: Path, capsys):
    shutil.copy(straight.with_name("seed1") / name, run / name)
    there, here = (json.loads((path / "config.json").read_text())["run"] for path in (straight.with_name("seed1"), run))
    assert f"{run / name} belongs to the run {there}, but this is the run {here}" in refused(run, capsys)
    assert main(["train", "max_regression", "--out", str(run), "--start-over", *WORDS[2:]]) == 0
    assert_same_run(straight, run)


def test_the_result_of_another_run_is_named(straight: Path, run: Path, capsys):
    shutil.copy(straight.with_name("seed1") / "result.json", run)
    assert "result.json belongs to the run " in refused(run, capsys)
    assert main(["table", "max_regression", "--runs", str(run)]) == 2
    assert "result.json belongs to the run " in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"lr": 0.5}, {"steps": 3}, {"steps": 600}, {"seed": 1}, {"batch": 5}, {"arch": "rFF + Pooling (max)"}]
)
@pytest.mark.parametrize("forged", [False, True])
def test_an_edited_configuration_is_refused(change: dict, forged: bool, run: Path, capsys):
    """Even if the checksum is made to fit: the run's name is a digest of the options as well."""
    content = json.loads((run / "config.json").read_text())
    content["options"] |= change
    if forged:
        del content["checksum"]
        content["checksum"] = digest(content)
    (run / "config.json").write_text(json.dumps(content))
    assert "config.json was changed after" in refused(run, capsys)


def test_an_option_deleted_from_the_configuration_is_noticed(run: Path, capsys):
    change_json(run / "config.json", lambda about: about["options"].pop("steps"), checksum=True)
    assert "config.json was changed after the run began" in refused(run, capsys)


def test_a_log_with_another_number_is_not_continued(run: Path, capsys):
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines()
    line = json.loads(lines[1])
    path.write_text("\n".join([lines[0], json.dumps(line | {"MAE": line["MAE"] + 1}), *lines[2:], ""]))
    assert f"{path} is not the log that the checkpoint continues" in refused(run, capsys)


def test_a_log_that_was_changed_after_the_end_is_not_plotted(straight: Path, tmp_path: Path, capsys):
    shutil.copytree(straight, tmp_path / "run")
    path = tmp_path / "run" / "metrics.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert main(["figure", "max_regression", "--runs", str(tmp_path), "--out", str(tmp_path / "figures")]) == 2
    assert f"{path} is not the log of this run's result" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["checkpoint.npz", "best.npz", "metrics.jsonl"])
def test_a_missing_file_is_named(name: str, straight: Path, run: Path, capsys):
    (run / name).unlink()
    assert f"{run / name} is missing, and the run cannot be resumed without it" in refused(run, capsys)
    assert main([*WORDS, "--out", str(run), "--start-over"]) == 0
    assert_same_run(straight, run)


def test_a_missing_configuration_is_named(run: Path, capsys):
    (run / "config.json").unlink()
    before = contents(run)
    assert main([*WORDS, "--out", str(run), "--resume"]) == 2
    assert "holds metrics.jsonl, but no config.json" in capsys.readouterr().err and contents(run) == before


def test_nothing_depends_on_progress(straight: Path, run: Path):
    (run / "progress.json").unlink()
    assert resume(run) == 0
    assert_same_run(straight, run)


def test_starting_over_and_resuming_exclude_each_other(run: Path, capsys):
    assert main([*WORDS, "--out", str(run), "--resume", "--start-over"]) == 2
    assert "choose one of them" in capsys.readouterr().err


def test_a_run_of_an_earlier_version_is_shown_but_not_resumed(straight: Path, run: Path, tmp_path: Path, capsys):
    change_json(run / "config.json", lambda about: None)
    assert "holds a run of an earlier version, which cannot be resumed" in refused(run, capsys)
    shutil.copytree(straight, tmp_path / "old")
    for name in ("config.json", "result.json"):
        change_json(tmp_path / "old" / name, lambda about: None)
    assert main(["table", "max_regression", "--runs", str(tmp_path / "old")]) == 0


# ---- values that cannot be ------------------------------------------------------------------------------------------

DEEP = "[" * 100_000 + "]" * 100_000
WRONG = ["Infinity", "NaN", "true", '"text"', "null", "[]", "{}", "-1", "1e999", DEEP]

RIGHT = {"extended_from": "[]", "task": '"text"', "metrics": "{}", "MAE": "-1"}  # what is no mistake there


def wrong(*places: tuple[str, ...]) -> list:
    """Every wrong value in each of these places, the last word of which is the name of an entry."""
    pairs = [(place, text) for place in places for text in WRONG if RIGHT.get(place[-1]) != text]
    return [pytest.param(*place, text, id=f"{place[-1]}-{text[:10]}") for place, text in pairs]


def put(path: Path, name: str, text: str) -> None:
    """Set an entry of a JSON file, and of its checksum where there still is one to compute."""
    content = json.loads(path.read_text())
    content.pop("checksum", None)
    outer = content["options"] if name in content.get("options", {}) else content
    outer[name] = "HERE"
    try:
        parsed = json.loads(text)
        outer[name] = parsed
        content["checksum"] = digest(content)
        outer[name] = "HERE"
    except (ValueError, RecursionError):
        content["checksum"] = "0" * 16
    path.write_text(json.dumps(content).replace('"HERE"', text))


@pytest.mark.parametrize(
    ("file", "name", "text"),
    wrong(("config.json", "steps"), ("config.json", "options"), ("config.json", "task"), ("config.json", "run"),
          ("config.json", "extended_from"), ("progress.json", "step"), ("progress.json", "seconds")),
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_one_sentence(file: str, name: str, text: str, run: Path, capsys):
    put(run / file, name, text)
    assert str(run / file) in refused(run, capsys)
    assert main(["list", "--runs", str(run)]) == 0  # which shows the others
    out, error = capsys.readouterr()
    assert str(run) in out + error


@pytest.mark.parametrize(("name", "text"), wrong(("metrics",), ("seconds",), ("run",), ("MAE",)))
def test_a_wrong_value_in_a_result_is_one_sentence(name: str, text: str, straight: Path, tmp_path: Path, capsys):
    shutil.copytree(straight, tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    if name == "MAE":
        name, text = "metrics", f'{{"MAE": {text}}}'
    put(path, name, text)
    for words in (["table", "max_regression"], ["figure", "max_regression", "--out", str(tmp_path / "figures")]):
        assert main([*words, "--runs", str(tmp_path)]) == 2
        assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:10])
@pytest.mark.parametrize("name", ["step", "loss", "MAE"])
def test_a_wrong_value_in_the_log_is_one_sentence(name: str, text: str, run: Path, capsys):
    head, *lines = (run / "metrics.jsonl").read_text().splitlines()
    lines[-1] = json.dumps(json.loads(lines[-1]) | {name: "HERE"}).replace('"HERE"', text)
    (run / "metrics.jsonl").write_text("\n".join([head, *lines, ""]))
    assert str(run / "metrics.jsonl") in refused(run, capsys)


def rewrite(path: Path, change: Callable[[dict, dict], object]) -> None:
    """Change the arrays, and what "about" says, of a checkpoint."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    about = json.loads(str(arrays.pop("about")))
    change(arrays, about)
    np.savez(path, about=np.array(json.dumps(about)), **arrays)


@pytest.mark.parametrize("name", ["checkpoint.npz", "best.npz"])
def test_weights_that_are_not_finite_are_refused(name: str, run: Path, capsys):
    rewrite(run / name, lambda arrays, about: arrays["model/head.weight"].fill(np.nan))
    assert f"{run / name} is damaged: model/head.weight is not finite" in refused(run, capsys)


@pytest.mark.parametrize("value", [-1, 2.5, True, "1", None, [], 2**70, 10**6])
def test_a_step_that_cannot_be_is_refused(value: object, run: Path, capsys):
    rewrite(run / "checkpoint.npz", lambda arrays, about: about.update(step=value))
    assert str(run / "checkpoint.npz") in refused(run, capsys)


@pytest.mark.parametrize(
    "notes",
    [{"loss": "text"}, {"loss": [1]}, {"loss": None}, {"loss": float("nan")}, {"count": -1}, {"count": 1.5},
     {"best": {}}, {"run": 5}, {"log": 0}, {"seconds": -3}, {"best_step": "x"}],
)  # fmt: skip
def test_notes_that_cannot_be_are_refused(notes: dict, run: Path, capsys):
    rewrite(run / "checkpoint.npz", lambda arrays, about: about["notes"].update(notes))
    assert str(run / "checkpoint.npz") in refused(run, capsys)


@pytest.mark.parametrize("name", ["notes", "generators", "optimizer", "step", "format"])
def test_a_checkpoint_without_an_entry_is_refused(name: str, run: Path, capsys):
    rewrite(run / "checkpoint.npz", lambda arrays, about: about.pop(name))
    assert str(run / "checkpoint.npz") in refused(run, capsys)


def test_a_best_model_of_another_step_is_refused(run: Path, capsys):
    rewrite(run / "best.npz", lambda arrays, about: about.update(step=about["step"] - 1))
    assert "best.npz is of step " in refused(run, capsys)


# ---- files that are no files ----------------------------------------------------------------------------------------

NAMES = ["config.json", "checkpoint.npz", "best.npz", "progress.json", "metrics.jsonl", "result.json", "examples.npz"]


@pytest.mark.parametrize("name", NAMES[:-2])
@pytest.mark.parametrize("kind", ["pipe", "endless", "folder", "large"])
def test_only_regular_files_of_a_plausible_size_are_read(name: str, kind: str, run: Path):
    """In a process of its own, which may not use more memory than a run needs."""
    (run / name).unlink()
    if kind == "pipe":
        os.mkfifo(run / name)
    elif kind == "endless":
        (run / name).symlink_to("/dev/zero")
    elif kind == "folder":
        (run / name).mkdir()
    else:
        with open(run / name, "wb") as file:
            file.truncate(2**36)
    done = command("train", "max_regression", "--out", run, "--resume", timeout=60)
    assert done.returncode == 2 and str(run / name) in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_an_archive_that_would_fill_the_memory_is_not_unpacked(run: Path, capsys):
    with zipfile.ZipFile(run / "checkpoint.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(4):
            archive.writestr(f"model/bomb{i}.npy", bytes(2**26))
    assert (run / "checkpoint.npz").stat().st_size < 2**20
    assert "it unpacks to 268,435,456 bytes, more than the" in refused(run, capsys)
