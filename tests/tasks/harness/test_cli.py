"""The command line as people use it: options, tables beside the paper's, figures."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tasks.clustering import Config as Clustering
from tasks.harness import paper, tables
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.experiment import NAMES, find_experiment
from tasks.harness.options import Settings, deviations, plain, slug
from tasks.harness.run_folder import RunFolder, find
from tasks.max_regression import Config as Maximum
from tests.helpers.commandline import ENVIRONMENT, ROOT, SHORT

# ---- train ----------------------------------------------------------------------------------------------------------


def test_a_single_run_writes_straight_into_its_folder(runs: Path):
    names = {path.name for path in (runs / "one").iterdir()}
    figures = {f"{name}.{kind}" for name in find_experiment("clustering").FIGURES for kind in ("png", "svg")}
    assert names == figures | {"config.json", "metrics.jsonl", "checkpoint.npz", "progress.json", "result.json"}
    for name in figures:
        assert (runs / "one" / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_several_runs_get_folders_of_their_own_and_common_figures(runs: Path):
    folders = {path.name for path in (runs / "max").iterdir() if path.is_dir()}
    assert folders == {"rff-poolingmax-seed0", "rff-poolingmax-seed1", "sab-pma-seed0", "sab-pma-seed1"}
    assert (runs / "max" / "learning_curves.png").exists() and (runs / "max" / "error_by_size.svg").exists()


def test_the_configuration_is_enough_to_repeat_the_run(runs: Path, tmp_path: Path):
    about = json.loads((runs / "one" / "config.json").read_text())
    assert about["task"] == "clustering" and {"python", "numpy", "scipy"} <= about["versions"].keys()
    assert about["options"] == json.loads((runs / "one" / "result.json").read_text())["options"]
    (tmp_path / "again").mkdir()
    shutil.copy(runs / "one" / "config.json", tmp_path / "again")
    assert main(["train", "clustering", "--out", str(tmp_path / "again"), "--resume"]) == 0
    for name in ("metrics.jsonl", "clusters.svg"):
        assert (tmp_path / "again" / name).read_bytes() == (runs / "one" / name).read_bytes()


@pytest.mark.parametrize("task", NAMES)
def test_every_option_has_help_with_the_papers_value(task: str, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", task, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and "--preset {quick,paper}" in text and "--resume" in text and "--out DIR" in text
    if task != "runtime":
        for flag in ("--steps", "--batch", "--lr", "--seed ", "--seeds", "--device", "--dtype"):
            assert flag in text
    if find_experiment(task).LABELS:
        assert "--arch" in text and "--style" in text
        steps = plain(find_experiment(task).Config.steps)
        silent = task == "point_cloud"  # of whose steps the paper only says when the learning rate falls
        said = (
            f"; the paper does not say how many (default: {steps})"
            if silent
            else f" (default: {steps}; the paper: {steps})"
        )
        assert f"training steps{said}" in text


def test_the_paper_presets_are_the_papers_protocol():
    for name in NAMES:
        task = find_experiment(name)
        real = {} if "data" not in vars(task.Config) else {"data": task.Config().real}
        assert deviations(task.Config(**task.PRESETS["paper"] | real)) == {}
        assert deviations(task.Config(**task.PRESETS["quick"])) != {} or name == "runtime"
    assert deviations(Maximum(batch=64, lr=1e-4)) == {"batch": (64, 128), "lr": (1e-4, 1e-3)}


def test_presets_choose_the_rows():
    from tasks.harness.train import _asked_for

    for name in ("max_regression", "clustering", "clustering_large"):
        task = find_experiment(name)
        paper_rows = _asked_for(name, task, "paper", {}, 1, None)
        assert [plan.config.arch for plan in paper_rows] == list(task.LABELS)
        quick = [plan.config.arch for plan in _asked_for(name, task, "quick", {}, 2, None)]
        assert len(quick) == 2 * len(task.QUICK_LABELS) and set(quick) <= set(task.LABELS)
        everything = _asked_for(name, task, "quick", {"arch": ["all"]}, 1, None)
        assert len({plan.folder.path for plan in everything}) == len(task.LABELS)
    assert len(find_experiment("clustering").LABELS) == 13


def test_numbers_may_be_written_as_people_do(tmp_path: Path):
    words = [
        "--steps",
        "1e1",
        "--test-sets",
        "1,000",
        "--lr",
        "1e-3",
        "--arch",
        "sab+pma",
        "--out",
        str(tmp_path / "a"),
    ]
    assert main(["train", "max_regression", *words, "--batch", "4", "--validation-sets", "5"]) == 0
    options = RunFolder(tmp_path / "a").options()
    assert (options.steps, options.test_sets, options.lr) == (10, 1000, 1e-3)


def test_float64_is_float64(tmp_path: Path):
    words = ["--arch", "rFF + Pooling (max)", "--dtype", "float64", "--out", str(tmp_path / "a")]
    assert main(["train", "max_regression", *words, *SHORT]) == 0
    with np.load(tmp_path / "a" / "checkpoint.npz", allow_pickle=False) as file:
        assert {file[name].dtype.name for name in file.files if name.startswith("model/")} == {"float64"}


def test_the_modules_are_commands_as_well(tmp_path: Path):
    words = ["--seconds", "0.01", "--n-sab", "20", "--n-isab", "50", "--threshold", "10", "--out", str(tmp_path / "r")]
    done = subprocess.run(
        [sys.executable, "-m", "tasks.runtime", *words], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "r" / "result.json").read_text())["metrics"]
    assert [(p["block"], p["n"]) for p in metrics["points"]] == [
        ("SAB", 10),
        ("SAB", 20),
        ("ISAB", 10),
        ("ISAB", 20),
        ("ISAB", 50),
    ]
    assert all(p["forward"] > 0 and p["both"] > 0 and p["memory"] > 1000 for p in metrics["points"])
    assert (tmp_path / "r" / "runtime.png").exists()


# ---- tables ---------------------------------------------------------------------------------------------------------


def test_the_table_has_our_numbers_beside_the_papers(runs: Path, capsys):
    assert main(["table", "max_regression", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    lines = {line.split("  ")[0].removesuffix(" [1]"): line for line in text.splitlines() if line}
    results = [
        json.loads((runs / "max" / f"sab-pma-seed{s}" / "result.json").read_text())["metrics"]["MAE"] for s in (0, 1)
    ]
    ours = f"{np.mean(results):.4f} ± {np.std(results, ddof=1):.4f}"
    assert ours in lines["SAB + PMA"] and "0.2085 ± 0.0127" in lines["SAB + PMA"]
    assert lines["SAB + PMA"].startswith("SAB + PMA [1] ") and " quick " in lines["SAB + PMA"]
    assert "2.133 ± 0.190" in lines["rFF + Pooling (mean)"] and "–" in lines["rFF + Pooling (mean)"]  # not trained here
    assert "[1] not the paper's protocol: steps 6 (paper: 20,000), batch 4 (paper: 128)" in text
    assert "A constant" in lines


def test_the_table_as_markdown_and_json(runs: Path, capsys):
    assert main(["table", "clustering", "--runs", str(runs), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = {row["label"]: row for row in data["rows"]}
    assert (
        rows["Oracle"]["paper"] == {"LL0": "-1.4726"}
        and rows["EM to convergence"]["ours"]["LL0"]["mean"] > rows["Oracle"]["ours"]["LL0"]["mean"]
    )
    mine = rows["isab(4)+pma"]  # a label of no table has a row all the same
    assert (
        mine["seeds"] == [0]
        and mine["steps"] == 6
        and mine["deviations"]["steps"] == [6, 50000]
        and mine["seconds"] >= 0
    )
    assert mine["ours"]["LL0"].keys() == {"mean"}  # one seed has no spread
    assert rows["ISAB (16) + PMA"]["paper"]["LL1"] == "-1.4530 ± 0.0037"
    assert main(["table", "clustering", "--runs", str(runs), "--format", "markdown"]) == 0
    head, rule, *body = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert head.startswith("| architecture | LL0/data | paper |") and set(rule) <= set("|- ")
    assert len({line.count("|") for line in [head, rule, *body]}) == 1 and len(body) == 2 + 13 + 1


def test_a_run_counts_once_however_often_it_is_named(runs: Path):
    twice = find([runs, runs / "max", runs / ".." / runs.name], "max_regression")
    assert len(twice) == 4
    assert [row["seeds"] for row in tables.rows("max_regression", [*twice, *twice]) if "seeds" in row] == [
        [0, 1],
        [0, 1],
    ]


def test_references_stand_for_the_options_that_they_depend_on(runs: Path, tmp_path: Path):
    """Runs that differ in the number of components have two oracles; runs that differ in the learning rate have one."""
    for name, k in (("a", 4), ("b", 4), ("c", 2)):
        shutil.copytree(runs / "one", tmp_path / name)
        about = json.loads((tmp_path / name / "config.json").read_text())
        about["options"] |= {"k": k, "lr": 1e-3 if name == "a" else 1e-4}
        (tmp_path / name / "config.json").write_text(json.dumps(about))
    oracles = [row for row in tables.rows("clustering", find([tmp_path], "clustering")) if row["label"] == "Oracle"]
    assert [row["deviations"].get("k") for row in oracles] == [None, (2, 4)]


def test_figures_do_not_mix_protocols(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "max" / "sab-pma-seed0", tmp_path / "other")
    about = json.loads((tmp_path / "other" / "config.json").read_text())
    about["options"]["steps"] = 7
    (tmp_path / "other" / "config.json").write_text(json.dumps(about))
    words = ["--runs", str(runs), str(tmp_path), "--out", str(tmp_path / "figures")]
    assert main(["figure", "max_regression", *words]) == 2
    assert "these runs do not belong in one figure: --steps 6 and 7" in capsys.readouterr().err


def test_names_are_read_as_people_write_them(runs: Path, capsys):
    assert main(["table", "Max-Regression", "--runs", str(runs)]) == 0
    assert "0.2085" in capsys.readouterr().out
    assert Maximum(arch="sab+pma").arch == "SAB + PMA" and Clustering(arch=" isab(16) +PMA").arch == "ISAB (16) + PMA"
    assert Clustering(arch="ISAB (5) + PMA").arch == "ISAB (5) + PMA"


def test_a_table_without_runs_is_the_papers(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["table", "clustering-large"]) == 0
    assert "−1.8928 ± 0.0076" in capsys.readouterr().out


def test_the_papers_tables_hold_what_is_printed():
    for task, labels in (("max_regression", 4), ("clustering", 14), ("clustering_large", 5), ("point_cloud", 6)):
        assert len(paper.TABLES[task]) == labels
    for name in ("max_regression", "clustering", "clustering_large"):
        task = find_experiment(name)
        assert set(task.LABELS) <= paper.TABLES[name].keys()  # every row that can be trained has its number
        for label in task.LABELS:
            for cell in paper.TABLES[name][label].values():
                assert np.isfinite(paper.value(cell)) and "±" in cell
    assert paper.TABLES["clustering"]["ISAB (16) + PMA"] == {"LL0": "-1.5009 ± 0.0068", "LL1": "-1.4530 ± 0.0037"}


@pytest.mark.parametrize("task", NAMES)
def test_the_stored_results_make_the_stored_tables(task: str):
    """docs/results: every table there is what the command prints from the result.json files beside it."""
    root = ROOT / "docs" / "results"
    if not (root / task).exists():
        pytest.skip("no results of this task are stored yet")
    runs = [folder for folder in find([root / task], task) if folder.result.exists()]
    assert runs
    assert (root / f"{task}.md").read_text().strip() == tables.markdown(task, runs).strip()


# ---- figures and lists ----------------------------------------------------------------------------------------------


def test_figures_are_drawn_from_stored_runs(runs: Path, tmp_path: Path, capsys):
    words = ["--runs", str(runs), "--out", str(tmp_path / "figures")]
    assert main(["figure", "max_regression", *words]) == 0
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "learning_curves.png", "learning_curves.svg", "error_by_size.png", "error_by_size.svg",
    }  # fmt: skip
    assert main(["figure", "clustering", *words, "--name", "clusters"]) == 0
    assert (tmp_path / "figures" / "clusters.png").exists()
    shutil.copytree(runs / "one", tmp_path / "bare")
    (tmp_path / "bare" / "checkpoint.npz").unlink()
    capsys.readouterr()
    assert main(["figure", "clustering", "--runs", str(tmp_path / "bare"), "--out", str(tmp_path / "none")]) == 0
    assert "no figure clusters: none of these runs has what it shows" in capsys.readouterr().out


def test_the_list_shows_tasks_labels_and_runs(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "one", tmp_path / "one")
    (tmp_path / "one" / "result.json").unlink()
    assert main(["list", "--runs", str(runs), str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for part in ("--arch 'ISAB (16) + PMA'", "presets: quick, paper", "SAB + PMA, finished: MAE ", "at step 6 of 6"):
        assert part in text
    (tmp_path / "one" / "progress.json").unlink()
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "isab(4)+pma, begun" in capsys.readouterr().out


def test_slugs_keep_labels_apart():
    for name in ("clustering", "max_regression", "clustering_large"):
        labels = find_experiment(name).LABELS
        assert len({slug(label) for label in labels}) == len(labels)
    assert slug("ISAB (16) + PMA") == "isab16-pma"


def test_a_configuration_cannot_be_changed():
    with pytest.raises(AttributeError):
        Clustering().steps = 3
    with pytest.raises(UsageError):
        Settings(seed=-1)
