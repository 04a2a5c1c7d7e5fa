"""Requests that cannot be met: one sentence, exit code 2, and nothing left behind."""

import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tasks import max_regression
from tasks.harness import tables
from tasks.harness.cli import main
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import ENVIRONMENT, SHORT, command, start
from tests.helpers.runs import change_json

BAD = {
    "": "the following arguments are required: COMMAND",
    "frobnicate": "there is no command 'frobnicate'; the commands are list, train, sweep, reproduce, table",
    "tabel clustering": "there is no command 'tabel'; did you mean table?",
    "clustering --steps 5": "there is no command 'clustering'; to train it: minisets train clustering",
    "my.module:EXPERIMENT": "there is no command 'my.module:EXPERIMENT'; to train it: minisets train my.module:EXPERI",
    "--runs here list": "the command comes first: minisets COMMAND [options]",
    "train": "the following arguments are required: EXPERIMENT",
    "train clusterin": "there is no experiment 'clusterin'; did you mean clustering?",
    "train --steps 5 clusterin": "there is no experiment 'clusterin'; did you mean clustering?",
    "train poetry": "there is no experiment 'poetry'; the experiments are max_regression, clustering",
    "train clustering --arch 'ISAP (16) + PMA'": "--arch: there is no architecture 'ISAP (16) + PMA'; the nearest are",
    "train clustering --arch 'ISAB + PMA'": "does not say how many inducing points",
    "train clustering --style baroque": "--style must be one of paper, authors, vaswani, plusplus; given 'baroque'",
    "train clustering --steps 0": "--steps must be at least 1, given 0",
    "train clustering --steps many": "argument --steps: expected an integer, given 'many'",
    "train clustering --steps 1.5": "argument --steps: expected an integer, given '1.5'",
    "train clustering --steps inf": "argument --steps: expected an integer, given 'inf'",
    "train clustering --lr -1": "--lr must be a positive number, given -1.0",
    "train clustering --lr 0,001": "argument --lr: expected a number, given '0,001'",
    "train clustering --k 1": "--k must be at least 2, given 1",
    "train clustering --out ''": "argument --out: expected the name of a folder, given an empty one",
    "train clustering --arch all --arch nonsense": "--arch: there is no architecture 'nonsense'",
    "train runtime --n-min 100 --n-sab 5": "--n-min 100 is more than --n-sab 5",
    "train clustering --out {long}": "File name too long",
    "train clustering --lr nan": "--lr must be a positive number, given nan",
    "train clustering --lr inf": "--lr must be a positive number, given inf",
    "train clustering --drop 1.5": "--drop must be at most 1, given 1.5",
    "train max_regression --drop 2": "--drop must be at most 1, given 2.0",
    "train clustering --n-min 9 --n-max 5": "--n-min 9 is more than --n-max 5",
    "train clustering --seed -1": "--seed must be at least 0, given -1",
    "train clustering --seeds 0": "--seeds must be at least 1, given 0",
    "train clustering --preset huge": "clustering has no preset 'huge'; the presets are quick, paper",
    "train clustering --preset papr": "clustering has no preset 'papr'; did you mean paper?",
    "train clustering --dtype float16": "--dtype must be one of float32, float64; given 'float16'",
    "train clustering --device tpu": "--device tpu: unknown device 'tpu'; expected 'cpu', 'cuda'",
    "train clustering --xyzzy 3": "there is no option --xyzzy (see minisets train clustering --help)",
    "train clustering --stesp 3": "there is no option --stesp; did you mean --steps? (see minisets train cluster",
    "train --btach=3 clustering": "there is no option --btach; did you mean --batch?",
    "train clustering extra": "unexpected arguments: extra",
    "train clustering --out /dev/null": "/dev/null is a file; --out takes a folder",
    "train clustering --out /dev/null/run --arch 'SAB + PMA'": "cannot write to the folder /dev/null/run",
    "train clustering --out /proc/run --arch 'SAB + PMA'": "cannot write to the folder /proc/run",
    "table poetry": "there is no experiment 'poetry'",
    "table clustering --runs /nowhere": "there is no folder /nowhere; --runs takes folders that hold runs",
    "table clustering --format pdf": "invalid choice: 'pdf'",
    "table clustering --formt json": "there is no option --formt; did you mean --format?",
    "figure clustering --runs /nowhere": "there is no folder /nowhere",
    "figure clustering --name portrait": "clustering has no figure 'portrait'; it has clusters, inducing_points",
    "figure clustering --name cluster": "clustering has no figure 'cluster'; did you mean clusters?",
    "figure clustering": "no finished run of clustering was found; minisets train clustering creates one",
}


@pytest.mark.parametrize("request_", BAD)
def test_a_bad_request_is_one_sentence_and_exit_code_2(
    request_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    code = main(shlex.split(request_.format(long="x" * 300)))
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert BAD[request_] in printed.err and printed.err.startswith("minisets: ")
    assert len(printed.err.strip().splitlines()) == 1 and not list(tmp_path.iterdir())  # nothing is left behind


@pytest.mark.parametrize("request_", list(BAD)[:2])
def test_a_bad_request_through_the_real_command_line(request_: str, tmp_path: Path):
    done = command(*shlex.split(request_), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert BAD[request_] in done.stderr and len(done.stderr.splitlines()) == 1


def test_training_continues_when_its_output_cannot_be_written(tmp_path: Path):
    words = [sys.executable, "-m", "tasks.harness.cli", "train", "max_regression", "--arch", "SAB + PMA", *SHORT]
    with open("/dev/full", "w") as full:
        assert subprocess.run([*words, "--out", tmp_path / "full"], stdout=full, env=ENVIRONMENT).returncode == 0
    process = subprocess.Popen([*words, "--out", tmp_path / "pipe"], stdout=subprocess.PIPE, env=ENVIRONMENT)
    process.stdout.close()  # as head does after a few lines
    assert process.wait() == 0
    assert (tmp_path / "full" / "result.json").exists() and (tmp_path / "pipe" / "result.json").exists()


def test_output_that_cannot_be_written_or_encoded(runs: Path):
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "tasks.harness.cli", "table", "clustering", "--runs", str(runs)]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert done.returncode == 2 and done.stderr == "minisets: the output: No space left on device\n"
    done = subprocess.run(words, capture_output=True, env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and b"-1.4726" not in done.stdout and b"?1.4726" in done.stdout


def test_too_little_memory_is_one_sentence(tmp_path: Path):
    limit = (2**32, 2**32)
    words = ["train", "max_regression", "--arch", "SAB + PMA", "--batch", "1e8", "--out", tmp_path / "run"]
    done = command(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
    assert done.returncode == 1 and "there is not enough memory" in done.stderr and "Traceback" not in done.stderr


def test_a_missing_gpu_is_one_sentence(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    assert main(["train", "clustering", "--device", "cuda", "--out", str(tmp_path / "x")]) == 2
    assert "CuPy is not installed" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_a_folder_with_another_configuration_is_refused(runs: Path, capsys: pytest.CaptureFixture):
    out = runs / "max" / "sab-pma-seed0"
    for words, message in {
        ("max_regression", "--arch", "SAB + PMA", *SHORT): "already holds this run; --resume continues it",
        (
            "max_regression",
            "--arch",
            "SAB + PMA",
            *SHORT,
            "--steps",
            "7",
        ): "holds this run with 6 steps; --resume extends it to 7",
        ("max_regression", "--lr", "0.5", "--resume"): "another configuration (--lr 0.001 there, 0.5 here)",
        ("max_regression", "--arch", "rFF + PMA", "--resume"): "--arch SAB + PMA there, rFF + PMA here",
        ("max_regression", "--preset", "paper", "--resume"): "holds a run of preset quick, not of paper",
        ("max_regression", "--seeds", "2", "--resume"): "holds a single run; --seeds 2 needs another --out",
        ("max_regression", "--seeds", "2"): "holds a single run; the folders of several runs need another --out",
        ("clustering", "--resume"): "holds a run of max_regression, not of clustering",
        ("clustering", "--arch", "SAB + PMA"): "holds a run of max_regression, not of clustering",
    }.items():
        assert main(["train", *words, "--out", str(out)]) == 2 and message in capsys.readouterr().err


def test_an_option_that_config_json_lacks_has_its_default(runs: Path, tmp_path: Path):
    folder = tmp_path / "sab-pma-seed0"
    shutil.copytree(runs / "max" / "sab-pma-seed0", folder)
    for name in ("config.json", "result.json"):
        change_json(folder / name, lambda about: about["options"].pop("n_max"))
    words = ["max_regression", "--arch", "SAB + PMA", *SHORT, "--out", str(folder), "--resume"]
    assert main(["train", *words]) == 0
    both = [RunFolder(folder), RunFolder(runs / "max" / "sab-pma-seed1")]
    assert [row["seeds"] for row in tables.rows(max_regression.EXPERIMENT, both) if "seeds" in row] == [[0, 1]]


def test_a_folder_with_files_of_an_unknown_run_is_refused(runs: Path, tmp_path: Path):
    shutil.copytree(runs / "one", tmp_path / "run")
    (tmp_path / "run" / "config.json").unlink()
    done = command("train", "clustering", "--arch", "SAB + PMA", "--out", tmp_path / "run")
    assert done.returncode == 2 and "holds metrics.jsonl, but no config.json: put it back, " in done.stderr


def test_a_run_that_another_process_started_meanwhile_is_refused(tmp_path: Path):
    """The folder of the second run is filled by another process, with other options, while the first one trains."""
    words = ["train", "max_regression", "--arch", "rFF + Pooling (max)", "--arch", "SAB + PMA", *SHORT]
    process = start(*words, "--steps", "3000", "--evaluate-every", "20", "--out", tmp_path)
    process.stdout.readline()  # the first one has started
    second = tmp_path / "sab-pma-seed0"
    other = command("train", "max_regression", "--arch", "SAB + PMA", *SHORT, "--lr", "0.5", "--out", second)
    assert other.returncode == 0
    assert process.poll() is None
    _, message = process.communicate()
    assert process.returncode == 2 and "holds a run with another configuration" in message
