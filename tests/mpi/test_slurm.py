"""The SLURM scripts, with stand-ins for srun and scontrol on the path: srun notes its arguments and starts mpiexec."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.commandline import ENVIRONMENT, ROOT, TINY
from tests.helpers.mpi import OPTIONS, PATIENCE
from tests.helpers.requirements import MPIEXEC
from tests.helpers.runs import last_step

SCRIPTS = sorted((ROOT / "docs" / "slurm").glob("*.sbatch"))
SRUN = f"""#!/usr/bin/env bash
printf '%s\\n' "$@" > "$NOTES/srun"
while [[ $1 == --* ]]; do shift; done
[[ $1 == minisets ]] && shift
exec {MPIEXEC} {" ".join(OPTIONS)} -n 2 {sys.executable} -m tasks.harness.cli "$@"
"""
SCONTROL = """#!/usr/bin/env bash
printf '%s\\n' "$*" > "$NOTES/scontrol"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """In which srun and scontrol are stand-ins that leave notes in tmp_path / "notes"."""
    (tmp_path / "notes").mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    paths = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "NOTES": str(tmp_path / "notes")}
    slurm = {"SLURM_JOB_ID": "17", "SLURM_CPUS_PER_TASK": "1"}
    return ENVIRONMENT | paths | slurm | {"DEVICE": "cpu", "VENV": "/nonexistent"}


def start(script: str, environment: dict[str, str], *arguments: object) -> subprocess.Popen:
    words = ["bash", str(ROOT / "docs" / "slurm" / script), *map(str, arguments)]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def notes(folder: Path, name: str) -> list[str] | None:
    """What a stand-in was called with; None if it was not."""
    path = folder / "notes" / name
    return path.read_text().splitlines() if path.exists() else None


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_they_are_scripts_that_say_what_they_ask_slurm_for(script: Path):
    subprocess.run(["bash", "-n", script], check=True)
    lines = script.read_text().splitlines()
    asked = [i for i, line in enumerate(lines) if line.startswith("#SBATCH ")]
    first = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    assert asked and max(asked) < first, "SLURM reads no #SBATCH line after the first command"
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", script], check=True)


def test_training_is_asked_to_stop_and_goes_back_into_the_queue(tmp_path: Path, environment: dict[str, str]):
    out = tmp_path / "run"
    words = ["max_regression", "--arch", "SAB + PMA", *TINY["max_regression"].split(), "--out", out]
    job = start("train.sbatch", environment, *words, "--steps", 100_000)
    waited = time.monotonic() + PATIENCE
    while not (out / "checkpoint.npz").exists() or last_step(out) < 15:
        assert job.poll() is None and time.monotonic() < waited, job.communicate()
        time.sleep(0.05)
    job.send_signal(signal.SIGUSR1)
    output = "".join(job.communicate(timeout=PATIENCE))
    assert job.returncode == 130 and "stopped after step" in output, output
    assert notes(tmp_path, "scontrol") == ["requeue 17"]
    options = notes(tmp_path, "srun")
    assert options[:4] == ["--mpi=pmix", "--gpu-bind=none", "--kill-on-bad-exit=1", "minisets"]
    assert options[-4:] == ["--distributed", "--device", "cpu", "--resume"] and "SAB + PMA" in options


def test_training_that_ends_by_itself_does_not(tmp_path: Path, environment: dict[str, str]):
    words = ["max_regression", "--arch", "SAB + PMA", *TINY["max_regression"].split(), "--out", tmp_path / "run"]
    job = start("train.sbatch", environment, *words, "--steps", 4)
    output = "".join(job.communicate(timeout=PATIENCE))
    assert job.returncode == 0 and (tmp_path / "run" / "result.json").exists(), output
    assert notes(tmp_path, "scontrol") is None
    job = start("train.sbatch", environment, "max_regression", "--no-such-option")
    output = "".join(job.communicate(timeout=PATIENCE))
    assert job.returncode == 2 and notes(tmp_path, "scontrol") is None
    assert output.count("there is no option --no-such-option") == 1, output


def test_a_sweep_is_run_and_given_its_hours(tmp_path: Path, environment: dict[str, str]):
    tiny = [word for pair in zip(*[iter(TINY["max_regression"].split())] * 2, strict=True) for word in _as_set(*pair)]
    words = ["max_regression", "--arch", "SAB + PMA", "--set", "steps=4", *tiny, "--out", tmp_path / "runs"]
    job = start("sweep.sbatch", environment, *words)
    output = "".join(job.communicate(timeout=PATIENCE))
    assert job.returncode == 0 and len(list(tmp_path.rglob("result.json"))) == 1, output
    expected = ["--mpi=pmix", "minisets", "sweep", *map(str, words), "--hours", "11.8"]
    assert notes(tmp_path, "srun") == expected


def _as_set(option: str, value: str) -> list[str]:
    """An option of minisets train as a sweep takes it."""
    return ["--set", f"{option.removeprefix('--').replace('-', '_')}={value}"]
