"""What the command says to bad requests and damaged folders: one sentence, exit code 2, and nothing left behind."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.harness import tables
from tasks.harness.cli import main
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import ENVIRONMENT, SHORT, command, start

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
    words = [sys.executable, "-m", "tasks.harness.cli", "train", "max_regression", "--arch", "SAB + PMA", *SHORT]
    with open("/dev/full", "w") as full:
        assert subprocess.run([*words, "--out", tmp_path / "full"], stdout=full, env=ENVIRONMENT).returncode == 0
    process = subprocess.Popen([*words, "--out", tmp_path / "pipe"], stdout=subprocess.PIPE, env=ENVIRONMENT)
    process.stdout.close()  # as head does when it has seen enough
    assert process.wait() == 0
    assert (tmp_path / "full" / "result.json").exists() and (tmp_path / "pipe" / "result.json").exists()


def test_output_that_cannot_be_written_or_encoded(runs: Path):
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "tasks.harness.cli", "table", "clustering", "--runs", str(runs)]
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
        ("max_regression", "--arch", "SAB + PMA", *SHORT): "holds this run already; --resume goes on",
        ("max_regression", "--arch", "SAB + PMA", *SHORT, "--steps", "7"): "(--steps 6 there, 7 here); choose another",
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
    words = ["max_regression", "--arch", "SAB + PMA", *SHORT, "--out", str(folder), "--resume"]
    assert main(["train", *words]) == 0
    both = [RunFolder(folder), RunFolder(runs / "max" / "sab-pma-seed1")]
    assert [row["seeds"] for row in tables.rows("max_regression", both) if "seeds" in row] == [[0, 1]]


def test_a_folder_with_files_of_an_unknown_run_is_refused(runs: Path, tmp_path: Path):
    shutil.copytree(runs / "one", tmp_path / "run")
    (tmp_path / "run" / "config.json").unlink()
    done = command("train", "clustering", "--arch", "SAB + PMA", "--out", tmp_path / "run")
    assert done.returncode == 2 and "holds metrics.jsonl, but no config.json; choose another --out" in done.stderr


def test_a_run_that_appears_meanwhile_is_not_taken_for_ones_own(tmp_path: Path):
    """The folder of the second run is filled by somebody else, with other options, while the first one trains."""
    words = ["train", "max_regression", "--arch", "rFF + Pooling (max)", "--arch", "SAB + PMA", *SHORT]
    process = start(*words, "--steps", "3000", "--evaluate-every", "20", "--out", tmp_path)
    process.stdout.readline()  # the first one has begun
    second = tmp_path / "sab-pma-seed0"
    other = command("train", "max_regression", "--arch", "SAB + PMA", *SHORT, "--lr", "0.5", "--out", second)
    assert other.returncode == 0
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
