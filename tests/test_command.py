"""The command line as people use it: options, tables beside the paper's, figures, and what it says to bad requests."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commandline import ENVIRONMENT, ROOT, command, start

from tasks import paper, tables
from tasks.clustering import Config as Clustering
from tasks.command import main
from tasks.folder import Folder, find
from tasks.max_regression import Config as Maximum
from tasks.options import Settings, UsageError, departures, slug
from tasks.registry import TASKS, find_task

TINY = ["--steps", "6", "--batch", "4", "--validation-sets", "10", "--test-sets", "20", "--evaluate-every", "3"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Two architectures with two seeds each, trained by the command."""
    root = tmp_path_factory.mktemp("runs")
    words = ["--arch", "rFF + Pooling (max)", "--arch", "SAB + PMA", "--seeds", "2", "--out", str(root / "max")]
    assert main(["train", "max_regression", *words, *TINY]) == 0
    words = ["--n-min", "5", "--n-max", "9", "--em-restarts", "1", "--out", str(root / "one")]
    assert main(["train", "clustering", "--arch", "isab(4)+pma", *words, *TINY]) == 0
    return root


# ---- train ----------------------------------------------------------------------------------------------------------


def test_a_single_run_writes_straight_into_its_folder(runs: Path):
    names = {path.name for path in (runs / "one").iterdir()}
    figures = {f"{name}.{kind}" for name in find_task("clustering").FIGURES for kind in ("png", "svg")}
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


@pytest.mark.parametrize("task", TASKS)
def test_every_option_has_help_with_the_papers_value(task: str, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", task, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and "--preset {quick,paper}" in text and "--resume" in text and "--out DIR" in text
    if task != "runtime":
        for flag in ("--arch", "--style", "--steps", "--batch", "--lr", "--seed ", "--seeds", "--device", "--dtype"):
            assert flag in text
        steps = {"max_regression": "20,000"}.get(task, "50,000")
        assert f"training steps (default: {steps}; the paper: {steps})" in text


def test_the_paper_presets_are_the_papers_protocol():
    for name in TASKS:
        task = find_task(name)
        assert departures(task.Config(**task.PRESETS["paper"])) == {}
        assert departures(task.Config(**task.PRESETS["quick"])) != {} or name == "runtime"
    assert departures(Maximum(batch=64, lr=1e-4)) == {"batch": (64, 128), "lr": (1e-4, 1e-3)}


def test_presets_choose_the_rows():
    from tasks.train import _asked_for

    for name in ("max_regression", "clustering", "clustering_large"):
        task = find_task(name)
        paper_rows = _asked_for(name, task, "paper", {}, 1, None)
        assert [plan.config.arch for plan in paper_rows] == list(task.LABELS)
        quick = [plan.config.arch for plan in _asked_for(name, task, "quick", {}, 2, None)]
        assert len(quick) == 2 * len(task.QUICK_LABELS) and set(quick) <= set(task.LABELS)
        everything = _asked_for(name, task, "quick", {"arch": ["all"]}, 1, None)
        assert len({plan.folder.path for plan in everything}) == len(task.LABELS)
    assert len(find_task("clustering").LABELS) == 13


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
    options = Folder(tmp_path / "a").options()
    assert (options.steps, options.test_sets, options.lr) == (10, 1000, 1e-3)


def test_float64_is_float64(tmp_path: Path):
    words = ["--arch", "rFF + Pooling (max)", "--dtype", "float64", "--out", str(tmp_path / "a")]
    assert main(["train", "max_regression", *words, *TINY]) == 0
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


# ---- bad requests ---------------------------------------------------------------------------------------------------

BAD = {
    "": "the following arguments are required: COMMAND",
    "frobnicate": "invalid choice: 'frobnicate'",
    "train": "the following arguments are required: TASK",
    "train clusterin": "there is no task 'clusterin'; did you mean clustering?",
    "train poetry": "there is no task 'poetry'; the tasks are max_regression, clustering",
    "train clustering --arch 'ISAP (16) + PMA'": "--arch: there is no architecture 'ISAP (16) + PMA'; the nearest are",
    "train clustering --arch 'ISAB + PMA'": "does not say how many inducing points",
    "train clustering --style baroque": "--style must be one of paper, authors, vaswani, plusplus; given 'baroque'",
    "train clustering --steps 0": "--steps must be at least 1, given 0",
    "train clustering --steps many": "argument --steps: expected a whole number, given 'many'",
    "train clustering --steps 1.5": "argument --steps: expected a whole number, given '1.5'",
    "train clustering --steps inf": "argument --steps: expected a whole number, given 'inf'",
    "train clustering --lr -1": "--lr must be a positive number, given -1.0",
    "train clustering --lr 0,001": "argument --lr: expected a number, given '0,001'",
    "train clustering --k 1": "--k must be at least 2, given 1",
    "train clustering --out ''": "argument --out: expected the name of a folder, given an empty one",
    "train clustering --arch all --arch nonsense": "--arch: there is no architecture 'nonsense'",
    "train runtime --n-min 100 --n-sab 5": "--n-min 100 is more than --n-sab 5",
    "train clustering --out {long}": "File name too long",
    "train clustering --lr nan": "--lr must be a positive number, given nan",
    "train clustering --lr inf": "--lr must be a positive number, given inf",
    "train clustering --drop 1.5": "--drop must lie between 0 and 1, given 1.5",
    "train clustering --n-min 9 --n-max 5": "--n-min 9 is more than --n-max 5",
    "train clustering --seed -1": "--seed must be at least 0, given -1",
    "train clustering --seeds 0": "--seeds must be at least 1, given 0",
    "train clustering --preset huge": "argument --preset: invalid choice: 'huge'",
    "train clustering --dtype float16": "--dtype must be one of float32, float64; given 'float16'",
    "train clustering --device tpu": "--device tpu: unknown device 'tpu'; expected 'cpu', 'cuda'",
    "train clustering --frob 3": "unrecognized arguments: --frob 3",
    "train clustering --out /dev/null": "/dev/null is a file; --out takes a folder",
    "train clustering --out /dev/null/run --arch 'SAB + PMA'": "cannot write to the folder /dev/null/run",
    "train clustering --out /proc/run --arch 'SAB + PMA'": "cannot write to the folder /proc/run",
    "table poetry": "there is no task 'poetry'",
    "table clustering --runs /nowhere": "there is no folder /nowhere; --runs takes folders that hold runs",
    "table clustering --format pdf": "invalid choice: 'pdf'",
    "figure clustering --runs /nowhere": "there is no folder /nowhere",
    "figure clustering --name portrait": "clustering has no figure 'portrait'; it has clusters, inducing_points",
    "figure clustering": "there is no finished run of clustering there; minisets train clustering makes one",
}


@pytest.mark.parametrize("request_", BAD)
def test_a_bad_request_is_one_sentence_and_exit_code_2(request_: str, tmp_path: Path):
    """Through the real command line."""
    done = command(*shlex.split(request_.format(long="x" * 300)), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert BAD[request_] in done.stderr and done.stderr.startswith("minisets: ")
    assert len(done.stderr.strip().splitlines()) == 1 and not list(tmp_path.iterdir())  # nothing is left behind


def test_nobody_reading_is_no_reason_to_stop_training(tmp_path: Path):
    words = [sys.executable, "-m", "tasks.command", "train", "max_regression", "--arch", "SAB + PMA", *TINY]
    with open("/dev/full", "w") as full:
        assert subprocess.run([*words, "--out", tmp_path / "full"], stdout=full, env=ENVIRONMENT).returncode == 0
    process = subprocess.Popen([*words, "--out", tmp_path / "pipe"], stdout=subprocess.PIPE, env=ENVIRONMENT)
    process.stdout.close()  # as head does when it has seen enough
    assert process.wait() == 0
    assert (tmp_path / "full" / "result.json").exists() and (tmp_path / "pipe" / "result.json").exists()


def test_output_that_cannot_be_written_or_encoded(runs: Path):
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "tasks.command", "table", "clustering", "--runs", str(runs)]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert done.returncode == 2 and done.stderr == "minisets: the output: No space left on device\n"
    done = subprocess.run(words, capture_output=True, env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and b"-1.4726" not in done.stdout and b"?1.4726" in done.stdout


def test_too_little_memory_is_a_sentence(tmp_path: Path):
    done = command("train", "max_regression", "--arch", "SAB + PMA", "--batch", "1e13", "--out", tmp_path / "run")
    assert done.returncode == 1 and "there is not enough memory" in done.stderr and "Traceback" not in done.stderr


def test_a_gpu_that_is_not_there_is_a_sentence(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    assert main(["train", "clustering", "--device", "cuda", "--out", str(tmp_path / "x")]) == 2
    assert "CuPy is not installed" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_a_folder_with_another_configuration_is_refused(runs: Path):
    out = runs / "max" / "sab-pma-seed0"
    for words, said in {
        ("max_regression", "--arch", "SAB + PMA", *TINY): "holds this run already; --resume goes on",
        ("max_regression", "--arch", "SAB + PMA", *TINY, "--steps", "7"): "(--steps 6 there, 7 here); choose another",
        ("max_regression", "--lr", "0.5", "--resume"): "another configuration (--lr 0.001 there, 0.5 here)",
        ("max_regression", "--arch", "rFF + PMA", "--resume"): "--arch SAB + PMA there, rFF + PMA here",
        ("max_regression", "--preset", "paper", "--resume"): "--steps 6 there, 20000 here",
        ("max_regression", "--seeds", "2", "--resume"): "holds a single run; --seeds 2 needs another --out",
        ("max_regression", "--seeds", "2"): "holds a single run; the folders of several runs need another --out",
        ("clustering", "--resume"): "holds a run of max_regression, not of clustering",
        ("clustering", "--arch", "SAB + PMA"): "holds a run of max_regression, not of clustering",
    }.items():
        done = command("train", *words, "--out", out)
        assert done.returncode == 2 and said in done.stderr


def test_an_option_that_was_added_since_has_its_default(runs: Path, tmp_path: Path):
    folder = tmp_path / "sab-pma-seed0"
    shutil.copytree(runs / "max" / "sab-pma-seed0", folder)
    for name in ("config.json", "result.json"):
        about = json.loads((folder / name).read_text())
        del about["options"]["n_max"]
        (folder / name).write_text(json.dumps(about))
    words = ["max_regression", "--arch", "SAB + PMA", *TINY, "--out", str(folder), "--resume"]
    assert main(["train", *words]) == 0
    both = [Folder(folder), Folder(runs / "max" / "sab-pma-seed1")]
    assert [row["seeds"] for row in tables.rows("max_regression", both) if "seeds" in row] == [[0, 1]]


def test_a_folder_with_files_of_an_unknown_run_is_refused(runs: Path, tmp_path: Path):
    shutil.copytree(runs / "one", tmp_path / "run")
    (tmp_path / "run" / "config.json").unlink()
    done = command("train", "clustering", "--arch", "SAB + PMA", "--out", tmp_path / "run")
    assert done.returncode == 2 and "holds metrics.jsonl, but no config.json; choose another --out" in done.stderr


def test_a_run_that_appears_meanwhile_is_not_taken_for_ones_own(tmp_path: Path):
    """The folder of the second run is filled by somebody else, with other options, while the first one trains."""
    words = ["train", "max_regression", "--arch", "rFF + Pooling (max)", "--arch", "SAB + PMA", *TINY]
    process = start(*words, "--steps", "3000", "--evaluate-every", "20", "--out", tmp_path)
    process.stdout.readline()  # the first one has begun
    second = tmp_path / "sab-pma-seed0"
    assert (
        command("train", "max_regression", "--arch", "SAB + PMA", *TINY, "--lr", "0.5", "--out", second).returncode == 0
    )
    assert process.poll() is None
    _, said = process.communicate()
    assert process.returncode == 2 and "holds a run with another configuration" in said


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", "{", "config.json is damaged: it is not JSON"),
        ("config.json", "[]", "config.json is not the configuration of a run"),
        ("config.json", '{"task": "max_regression", "preset": "quick", "options": []}', "has no options"),
        ("config.json", '{"task": "poetry", "preset": "quick", "options": {}}', "is not the configuration of a run"),
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
def test_a_damaged_run_folder_is_a_sentence(
    runs: Path, tmp_path: Path, file: str, content: str | None, said: str, capsys
):
    folder = tmp_path / "run"
    shutil.copytree(runs / "max" / "sab-pma-seed0", folder)
    (folder / "result.json").unlink()
    if content is None:  # cut off in the middle
        content = (folder / file).read_bytes()[:1000]
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogateescape") + b"\n" * (file == "metrics.jsonl")
    (folder / file).write_bytes(content)
    done = command("train", "max_regression", "--out", folder, "--resume")
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_a_damaged_result_is_a_sentence(runs: Path, tmp_path: Path, capsys):
    shutil.copytree(runs / "one", tmp_path / "run")
    for content, said in (("{", "is damaged: it is not JSON"), ("{}", "result.json is not the result of a run")):
        (tmp_path / "run" / "result.json").write_text(content)
        for words in (["table", "clustering"], ["figure", "clustering", "--out", str(tmp_path / "figures")]):
            assert main([*words, "--runs", str(tmp_path)]) == 2
            assert said in capsys.readouterr().err
        assert main(["list", "--runs", str(tmp_path)]) == 0  # the list goes on
        assert said in capsys.readouterr().out


def test_a_strange_config_json_is_passed_over(runs: Path, tmp_path: Path, capsys):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"editor": "ed"}')
    assert main(["table", "clustering", "--runs", str(runs / "one"), str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "isab(4)+pma" in out and "passed over" in err


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
        and mine["departures"]["steps"] == [6, 50000]
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
    assert [row["departures"].get("k") for row in oracles] == [None, (2, 4)]


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
        task = find_task(name)
        assert set(task.LABELS) <= paper.TABLES[name].keys()  # every row that can be trained has its number
        for label in task.LABELS:
            for cell in paper.TABLES[name][label].values():
                assert np.isfinite(paper.value(cell)) and "±" in cell
    assert paper.TABLES["clustering"]["ISAB (16) + PMA"] == {"LL0": "-1.5009 ± 0.0068", "LL1": "-1.4530 ± 0.0037"}


def test_the_stored_results_make_the_stored_tables():
    """docs/results: every table there is what the command prints from the result.json files beside it."""
    root = ROOT / "docs" / "results"
    for task in TASKS:
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
        labels = find_task(name).LABELS
        assert len({slug(label) for label in labels}) == len(labels)
    assert slug("ISAB (16) + PMA") == "isab16-pma"


def test_a_configuration_cannot_be_changed():
    with pytest.raises(AttributeError):
        Clustering().steps = 3
    with pytest.raises(UsageError):
        Settings(seed=-1)
