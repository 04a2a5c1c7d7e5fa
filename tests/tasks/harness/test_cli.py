"""The command minisets: version, list and figure.  test_bad_requests.py has what it refuses."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import autograd
from tasks import clustering, max_regression
from tasks.harness.cli import main
from tasks.harness.run_folder import RunFolder
from tasks.harness.train import summary
from tests.helpers.commandline import command
from tests.helpers.runs import change_json


def test_the_version():
    done = command("--version")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"minisets {autograd.__version__} (Python ") and np.__version__ in done.stdout


def test_help_names_every_command():
    done = command("--help")
    assert done.returncode == 0
    for name in ("list", "train", "table", "figure", "data", "bench", "selftest", "play"):
        assert f"\n    {name} " in done.stdout


def test_names_may_be_written_in_other_spellings(runs: Path, capsys):
    assert main(["table", "Max-Regression", "--runs", str(runs)]) == 0
    assert "0.2085" in capsys.readouterr().out


# ---- figures --------------------------------------------------------------------------------------------------------


def test_figures_are_plotted_from_stored_runs(runs: Path, tmp_path: Path):
    words = ["--runs", str(runs), "--out", str(tmp_path / "figures")]
    assert main(["figure", "max_regression", *words]) == 0
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "learning_curves.png", "learning_curves.svg", "error_by_size.png", "error_by_size.svg",
    }  # fmt: skip
    assert main(["figure", "clustering", *words, "--name", "clusters"]) == 0
    assert (tmp_path / "figures" / "clusters.png").exists()


def test_figures_need_the_examples_or_the_checkpoint(runs: Path, tmp_path: Path, capsys):
    """examples.npz is enough to plot the same figure; without it and the checkpoint there is no such figure."""
    run = tmp_path / "run"
    shutil.copytree(runs / "one", run)
    words = ["figure", "clustering", "--runs", str(run), "--name", "clusters", "--name", "inducing_points"]
    (run / "checkpoint.npz").unlink()
    assert main([*words, "--out", str(tmp_path / "stored")]) == 0
    for name in ("clusters.svg", "inducing_points.svg"):
        assert (tmp_path / "stored" / name).read_bytes() == (run / name).read_bytes()
    (run / "examples.npz").unlink()
    capsys.readouterr()
    assert main([*words, "--out", str(tmp_path / "none")]) == 0
    assert "no figure clusters: none of these runs has what it shows" in capsys.readouterr().out
    assert list((tmp_path / "none").iterdir()) == []


def test_examples_are_computed_again_from_the_checkpoint(runs: Path, tmp_path: Path):
    run = tmp_path / "run"
    shutil.copytree(runs / "one", run)
    (run / "examples.npz").unlink()
    assert main(["figure", "clustering", "--runs", str(run), "--name", "clusters", "--out", str(tmp_path)]) == 0
    assert (run / "examples.npz").exists()
    assert (tmp_path / "clusters.svg").read_bytes() == (runs / "one" / "clusters.svg").read_bytes()


@pytest.mark.parametrize("content", [b"nonsense", b"", None])
def test_a_damaged_examples_file_is_one_sentence(content: bytes | None, runs: Path, tmp_path: Path, capsys):
    path = tmp_path / "run" / "examples.npz"
    shutil.copytree(runs / "one", path.parent)
    path.write_bytes(path.read_bytes()[:2000] if content is None else content)
    assert main(["figure", "clustering", "--runs", str(tmp_path), "--out", str(tmp_path / "figures")]) == 2
    reason = "it is not an archive of arrays"
    assert capsys.readouterr().err == f"minisets: {path} is damaged: {reason}; delete it to have it computed again\n"


def test_figures_do_not_mix_protocols(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "max" / "sab-pma-seed0", tmp_path / "other")
    for name in ("config.json", "result.json"):
        change_json(tmp_path / "other" / name, lambda about: about["options"].update(steps=7))
    words = ["--runs", str(runs), str(tmp_path), "--out", str(tmp_path / "figures")]
    assert main(["figure", "max_regression", *words]) == 2
    assert "these runs do not belong in one figure: --steps 6 and 7" in capsys.readouterr().err


# ---- the list -------------------------------------------------------------------------------------------------------


def test_the_list_shows_experiments_rows_and_runs(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "one", tmp_path / "one")
    (tmp_path / "one" / "result.json").unlink()
    assert main(["list", "--runs", str(runs), str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for part in ("--arch 'ISAB (16) + PMA'", "presets: quick, paper", "ISAB (4) + PMA, at step 6 of 6"):
        assert part in text
    assert "SAB + PMA, finished: MAE, last weights " in text and "; MAE, selected weights " in text
    (tmp_path / "one" / "progress.json").unlink()
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "ISAB (4) + PMA, started" in capsys.readouterr().out


def test_runs_of_other_experiments_are_listed_apart(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "one", tmp_path / "run")
    change_json(tmp_path / "run" / "config.json", lambda about: about.update(task="poetry"))
    assert main(["list", "--runs", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out.endswith(f"other experiments\n    {tmp_path / 'run'}: poetry, finished\n") and err == ""
    (tmp_path / "run" / "result.json").unlink()
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "poetry, unfinished" in capsys.readouterr().out


def test_a_summary_uses_the_headings_of_the_table(runs: Path):
    metrics = RunFolder(runs / "max" / "sab-pma-seed0").result()["metrics"]
    text = summary(max_regression.EXPERIMENT, metrics)
    assert text == (
        f"MAE, last weights {metrics['MAE last']:.4f}; MAE, selected weights {metrics['MAE']:.4f}; "
        f"constant {metrics['constant']:.4f}"
    )
    assert summary(clustering.EXPERIMENT, {"LL0": -1.5, "oracle": -1.0}) == "LL0/data -1.5000; oracle -1.0000"
