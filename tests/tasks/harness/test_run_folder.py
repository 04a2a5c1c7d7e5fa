"""The folder of a run: atomic files, a lock, damaged files, and examples for the figures."""

import resource
import shutil
from pathlib import Path

import numpy as np
import pytest

from tasks import max_regression
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.run_folder import RunFolder, find_runs
from tests.helpers.commandline import command
from tests.helpers.runs import change_json


def test_a_line_that_does_not_fit_is_removed(tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.append({"step": 1, "loss": 2.0})
    before = folder.metrics_path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5, hard))
    try:
        with pytest.raises(UsageError, match=r"cannot write .*metrics.jsonl: no room for the whole line"):
            folder.append({"step": 2, "loss": 1.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folder.metrics_path.read_bytes() == before


def test_two_processes_do_not_run_in_one_folder(tmp_path: Path):
    folder = RunFolder(tmp_path / "run", max_regression.EXPERIMENT)
    folder.begin("quick", max_regression.Config(arch="SAB + PMA", steps=5))
    with folder.locked():
        done = command("train", "max_regression", "--out", folder.path, "--resume")
    assert done.returncode == 2 and f"another process is running in {folder.path}" in done.stderr


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", "{", "config.json is damaged: it is not JSON"),
        ("config.json", "[]", "config.json is not the configuration of a run"),
        (
            "config.json",
            '{"task": "max_regression", "preset": "quick", "options": []}',
            "as its 'options', where an object",
        ),
        ("config.json", '{"task": "poetry", "preset": "quick", "options": {}}', "holds a run of poetry, not of max_"),
        ("config.json", "", "config.json is damaged: it is not JSON"),
        ("result.json", "{}", "result.json is not the result of a run"),
        ("metrics.jsonl", "\udcff", "metrics.jsonl is damaged in line 1"),
        ("metrics.jsonl", "[]\n", "metrics.jsonl is damaged in line 1"),
        ("config.json", '{"task": "max_regression", "preset": "quick", "options": {"steps": "six"}}', "has a 'steps'"),
        ("config.json", '{"task": "max_regression", "preset": "quick", "options": {"stops": 6}}', "has a 'stops'"),
        ("metrics.jsonl", '{"step": 3}\nnonsense\n{"step": 6}\n', "metrics.jsonl is damaged in line 2"),
        ("checkpoint.npz", "nonsense", "checkpoint.npz is damaged, or not a checkpoint"),
        ("checkpoint.npz", None, "checkpoint.npz is damaged, or not a checkpoint"),
    ],
)
def test_a_damaged_run_folder_is_one_sentence(runs: Path, tmp_path: Path, file: str, content: str | None, message: str):
    folder = tmp_path / "run"
    shutil.copytree(runs / "max" / "sab-pma-seed0", folder)
    (folder / "result.json").unlink()
    if content is None:  # cut off in the middle
        content = (folder / file).read_bytes()[:1000]
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogateescape") + b"\n" * (file == "metrics.jsonl")
    (folder / file).write_bytes(content)
    done = command("train", "max_regression", "--out", folder, "--resume")
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_a_damaged_result_is_one_sentence(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "one", tmp_path / "run")
    for content, message in (("{", "is damaged: it is not JSON"), ("{}", "result.json is not the result of a run")):
        (tmp_path / "run" / "result.json").write_text(content)
        for words in (["table", "clustering"], ["figure", "clustering", "--out", str(tmp_path / "figures")]):
            assert main([*words, "--runs", str(tmp_path)]) == 2
            assert message in capsys.readouterr().err
        assert main(["list", "--runs", str(tmp_path)]) == 0  # the list shows the others
        assert message in capsys.readouterr().out


def test_a_config_json_of_another_program_is_skipped(runs: Path, tmp_path: Path, capsys):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"editor": "ed"}')
    assert main(["table", "clustering", "--runs", str(runs / "one"), str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "ISAB (4) + PMA" in out and "skipped: " in err


def test_the_experiment_is_known_from_the_manifest_if_it_is_the_papers(runs: Path, tmp_path: Path):
    assert RunFolder(runs / "max" / "sab-pma-seed0").experiment is max_regression.EXPERIMENT
    shutil.copytree(runs / "one", tmp_path / "run")
    change_json(tmp_path / "run" / "config.json", lambda about: about.update(task="poetry"))
    with pytest.raises(UsageError, match="holds a run of poetry, which is not one of the paper's experiments"):
        RunFolder(tmp_path / "run").options()
    assert [folder.path.name for folder in find_runs([tmp_path])] == ["run"]


def test_examples_are_computed_once(runs: Path, tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(runs / "max" / "sab-pma-seed0", folder.path)
    calls = []

    def compute(config, net):
        calls.append(config)
        return {"weight": net.head.weight.numpy()}

    first, again = folder.examples(compute), folder.examples(compute)
    np.testing.assert_array_equal(first["weight"], again["weight"])
    assert len(calls) == 1 and calls[0].device == "cpu" and calls[0].arch == "SAB + PMA"
    folder.checkpoint_path.unlink()
    assert folder.examples(compute).keys() == {"weight"}
    folder.examples_path.unlink()
    assert folder.examples(compute) is None


@pytest.mark.parametrize(
    ("array", "value", "message"),
    [
        ("model/head.bias", np.array(["text"]), "head.bias' has"),
        ("model/head.bias", np.zeros(1, [("a", "f4")]), "head.bias' has"),
        ("optimizer/m.1", np.nan, "optimizer/m.1 is not finite"),
        ("optimizer/v.1", np.inf, "optimizer/v.1 is not finite"),
        ("optimizer/steps", -5, "a negative number of steps"),
    ],
)
def test_a_checkpoint_with_other_arrays_is_refused_and_nothing_changes(
    array: str, value: object, message: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    folder = tmp_path / "run"
    shutil.copytree(runs / "max" / "sab-pma-seed0", folder)
    (folder / "result.json").unlink()
    with np.load(folder / "checkpoint.npz", allow_pickle=False) as file:
        arrays = dict(file)
    arrays[array] = value if isinstance(value, np.ndarray) else np.full_like(arrays[array], value)
    np.savez(folder / "checkpoint.npz", **arrays)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(["train", "max_regression", "--out", str(folder), "--resume"]) == 2
    error = capsys.readouterr().err
    assert message in error and "checkpoint.npz" in error
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_run_without_its_configuration_is_not_resumed(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    shutil.copytree(runs / "max" / "sab-pma-seed0", tmp_path / "run")
    (tmp_path / "run" / "config.json").unlink()
    assert main(["train", "max_regression", "--out", str(tmp_path / "run"), "--resume"]) == 2
    assert "holds metrics.jsonl, but no config.json: put it back" in capsys.readouterr().err


def test_numbers_that_a_figure_cannot_show_are_one_sentence(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    shutil.copytree(runs / "max" / "sab-pma-seed0", tmp_path / "run")
    for value in (7, {"3": "six"}, {"x": 1.0}):
        change_json(
            tmp_path / "run/result.json",
            lambda about, v=value: about["metrics"].update({"MAE of size": v}),
            checksum=True,
        )
        assert main(["figure", "max_regression", "--runs", str(tmp_path), "--out", str(tmp_path / "new")]) == 2
        assert "result.json is not the result of a run: its MAE of size are not numbers" in capsys.readouterr().err
