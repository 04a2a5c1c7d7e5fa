"""minisets table: our results beside the paper's, with every deviation named."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tasks import clustering, max_regression, point_cloud
from tasks.harness import paper, tables
from tasks.harness.cli import main
from tasks.harness.experiment import NAMES, find_experiment
from tasks.harness.run_folder import RunFolder, find_runs
from tests.helpers.commandline import ROOT, SHORT
from tests.helpers.runs import change_json


def lines_of(text: str) -> dict[str, str]:
    """Label -> line of a text table."""
    return {line.split("  ")[0]: line for line in text.splitlines() if line}


def test_the_table_has_our_results_beside_the_papers(runs: Path, capsys):
    assert main(["table", "max_regression", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    lines = lines_of(text)
    results = [
        json.loads((runs / "max" / f"sab-pma-seed{s}" / "result.json").read_text())["metrics"]["MAE"] for s in (0, 1)
    ]
    ours = f"{np.mean(results):.4f} ± {np.std(results, ddof=1):.4f}"
    assert ours in lines["SAB + PMA"] and "0.2085 ± 0.0127" in lines["SAB + PMA"]
    assert "2.133 ± 0.190" in lines["rFF + Pooling (mean)"] and "–" in lines["rFF + Pooling (mean)"]  # not trained here
    assert "Best constant" in lines


def test_a_mark_in_the_preset_cell_leads_to_the_deviations(runs: Path, capsys):
    assert main(["table", "max_regression", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    lines = lines_of(text)
    assert "  quick [2]  " in lines["SAB + PMA"] and "  quick [2]  " in lines["rFF + Pooling (max)"]
    assert "  quick [1]" in lines["Best constant"] and "[" not in lines["rFF + Pooling (mean)"]
    notes = " ".join(text.split())
    assert "[1] not the paper's protocol: test_sets 20 (not in the paper; default: 10,000)" in notes
    assert "[2] not the paper's protocol: steps 6 (paper: 20,000), batch 4 (paper: 128)" in notes
    assert (
        "anneal True (not in the paper; default: False)" in notes
        and "evaluate_every 3 (not in the paper; default: 200)" in notes
    )


def test_the_table_as_markdown_and_json(runs: Path, capsys):
    assert main(["table", "clustering", "--runs", str(runs), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = {row["label"]: row for row in data["rows"]}
    assert data["task"] == "clustering" and rows["Oracle"]["paper"] == {"LL0": "-1.4726"}
    assert rows["EM to convergence"]["ours"]["LL0"]["mean"] > rows["Oracle"]["ours"]["LL0"]["mean"]
    ours = rows["ISAB (4) + PMA"]  # a label that no table has
    assert ours["seeds"] == [0] and ours["steps"] == 6 and ours["seconds"] >= 0
    assert "steps 6 (paper: 50,000)" in ours["deviations"]
    assert ours["ours"]["LL0"].keys() == {"mean"}  # one seed has no standard deviation
    assert rows["ISAB (16) + PMA"]["paper"]["LL1"] == "-1.4530 ± 0.0037"
    assert main(["table", "clustering", "--runs", str(runs), "--format", "markdown"]) == 0
    head, rule, *body = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert head.startswith("| architecture | LL0/data | paper |") and set(rule) <= set("|- ")
    assert len({line.count("|") for line in [head, rule, *body]}) == 1 and len(body) == 2 + 13 + 1


def test_a_run_counts_once_however_often_it_is_found(runs: Path):
    experiment = max_regression.EXPERIMENT
    twice = find_runs([runs, runs / "max", runs / ".." / runs.name], experiment)
    assert len(twice) == 4
    rows = tables.rows(experiment, [*twice, *twice])
    assert [row["seeds"] for row in rows if "seeds" in row] == [[0, 1], [0, 1]]


def test_references_are_grouped_by_the_options_that_they_depend_on(runs: Path, tmp_path: Path):
    """Runs that differ in the number of components have two oracles; runs that differ in the learning rate have one."""
    for name, k in (("a", 4), ("b", 4), ("c", 2)):
        shutil.copytree(runs / "one", tmp_path / name)
        changed = {"k": k, "lr": 1e-3 if name == "a" else 1e-4}
        change_json(tmp_path / name / "config.json", lambda about, changed=changed: about["options"].update(changed))
    found = tables.rows(clustering.EXPERIMENT, find_runs([tmp_path], clustering.EXPERIMENT))
    oracles = [row for row in found if row["label"] == "Oracle"]
    assert ["k 2 (paper: 4)" in row["deviations"] for row in oracles] == [False, True]
    assert all("em_restarts 1 (not in the paper; default: 5)" in row["deviations"] for row in oracles)


def test_a_table_without_runs_is_the_papers(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["table", "clustering-large"]) == 0
    assert "−1.8928 ± 0.0076" in capsys.readouterr().out


# ---- tables with an option's values as columns ----------------------------------------------------------------------


def finished(path: Path, accuracy: float, **options) -> RunFolder:
    """The folder of a finished run of point_cloud."""
    folder = RunFolder(path, point_cloud.EXPERIMENT)
    folder.begin("quick", point_cloud.Config(data="modelnet40", **options))
    folder.write(folder.result_path, {"run": folder.name(), "metrics": {"accuracy": accuracy}, "seconds": 9.0})
    return folder


def test_rows_for_every_number_of_points_and_every_quoted_paper():
    quoted = [label for label in point_cloud.EXPERIMENT.table.printed if "et al." in label]
    table = tables.rows(point_cloud.EXPERIMENT, [])
    assert {row["points"] for row in table} == {100, 1_000, 5_000}
    by_points = {n: {row["label"]: row["paper"] for row in table if row["points"] == n} for n in (100, 1_000, 5_000)}
    for n, rows in by_points.items():
        assert {*point_cloud.EXPERIMENT.rows} <= rows.keys()
        of_n = {label for label in quoted if str(n) in point_cloud.EXPERIMENT.table.printed[label]}
        assert rows.keys() - {*point_cloud.EXPERIMENT.rows} == of_n
    assert quoted and any("Zaheer" in label for label in by_points[5_000])
    text = lines_of(tables.text(point_cloud.EXPERIMENT, []))
    assert any("Zaheer" in label for label in text)
    assert by_points[5_000]["ISAB (16) + PMA"]["accuracy"] == "0.8779 ± 0.0122"
    assert by_points[100]["rFFp-max + Pooling (Zaheer et al., 2017)"]["accuracy"] == "0.82 ± 0.02"
    assert " – " in text["rFF + Pooling (Zaheer et al., 2017)"] and "−" not in "".join(text.values())  # not printed


def test_runs_with_another_number_of_points_are_added(tmp_path: Path):
    runs = [
        finished(tmp_path / f"{seed}{n}", 0.8 + 0.01 * seed, seed=seed, points=n) for seed in (0, 1) for n in (100, 64)
    ]
    table = tables.rows(point_cloud.EXPERIMENT, runs)
    assert sorted({row["points"] for row in table}) == [64, 100, 1_000, 5_000]
    (ours,) = [row for row in table if row["label"] == "ISAB (16) + PMA" and row["points"] == 100]
    assert ours["paper"] == {"accuracy": "0.8454 ± 0.0144"} and ours["ours"]["accuracy"]["mean"] == pytest.approx(0.805)
    printed = {row["label"]: row["paper"].get("accuracy") for row in table if row["points"] == 100}
    assert {label: printed[label] for label in point_cloud.EXPERIMENT.rows} == {
        "rFF + Pooling": "0.7951 ± 0.0166", "rFFp-max + Pooling": None, "rFF + PMA": "0.8076 ± 0.0160",
        "ISAB (16) + Pooling": "0.8273 ± 0.0159", "ISAB (16) + PMA": "0.8454 ± 0.0144",
    }  # fmt: skip
    assert not any(row["paper"] for row in table if row["points"] == 64)  # the paper has no such column
    text = tables.markdown(point_cloud.EXPERIMENT, runs)
    assert "| ISAB (16) + PMA | 100 | 0.8050 ± 0.0071 | 0.8454 ± 0.0144 | 2 |" in text


def test_values_that_the_paper_leaves_open_are_named(tmp_path: Path):
    run = finished(tmp_path, 0.5, batch=32)
    text = tables.text(point_cloud.EXPERIMENT, [run])
    assert "[1] not the paper's protocol: batch 32 (not in the paper; default: 64)" in text
    (line,) = [line for line in text.splitlines() if line.startswith("ISAB (16) + PMA") and " 0.5000 " in line]
    assert "  quick [1]  " in line


# ---- the paper's numbers and the stored results ---------------------------------------------------------------------


def test_the_papers_tables_have_a_number_for_every_row():
    for name, count in (("max_regression", 4), ("clustering", 14), ("clustering_large", 5), ("point_cloud", 6)):
        assert len(paper.TABLES[name]) == count
    for name in ("max_regression", "clustering", "clustering_large"):
        rows = find_experiment(name).rows
        assert set(rows) <= paper.TABLES[name].keys()
        for label in rows:
            for cell in paper.TABLES[name][label].values():
                assert np.isfinite(paper.value(cell)) and "±" in cell
    assert paper.TABLES["clustering"]["ISAB (16) + PMA"] == {"LL0": "-1.5009 ± 0.0068", "LL1": "-1.4530 ± 0.0037"}


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_results_make_the_stored_tables(name: str):
    """docs/results: every table there is what the command prints from the result.json files beside it."""
    root, experiment = ROOT / "docs" / "results", find_experiment(name)
    if not (root / name).exists():
        pytest.skip("no results of this experiment are stored yet")
    runs = [folder for folder in find_runs([root / name], experiment) if folder.finished()]
    assert runs
    assert (root / f"{name}.md").read_text().strip() == tables.markdown(experiment, runs).strip()


def test_rows_of_one_preset_that_differ_in_options_are_told_apart(runs: Path, tmp_path: Path, capsys):
    """As after a sweep over --set; what does not change the result, such as log_every, is named as well."""
    for seed, (lr, every) in enumerate([(0.001, 100), (0.01, 100), (0.01, 50)]):
        words = ["--lr", str(lr), "--log-every", str(every), "--seed", str(seed), "--out", str(tmp_path / str(seed))]
        assert main(["train", "max_regression", "--arch", "rFF + Pooling (max)", *SHORT, *words]) == 0
    capsys.readouterr()
    assert main(["table", "max_regression", "--runs", str(tmp_path), "--format", "json"]) == 0
    rows = [row for row in json.loads(capsys.readouterr().out)["rows"] if row.get("seeds")]
    assert [row["varied"] for row in rows] == [
        {"lr": 0.001, "log_every": 100},
        {"lr": 0.01, "log_every": 100},
        {"lr": 0.01, "log_every": 50},
    ]
    assert main(["table", "max_regression", "--runs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "options" in text.splitlines()[2] and "lr 0.01, log_every 50" in text
    assert main(["table", "max_regression", "--runs", str(runs)]) == 0
    assert "options" not in capsys.readouterr().out.splitlines()[2]  # one row for each label
