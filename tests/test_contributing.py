"""CONTRIBUTING.md, executed: its examples are applied to a copy of the repository, and their commands must succeed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import requirements
from tests.helpers.commandline import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|diff|console) ?(.*?)\n(.*?)^```$", TEXT, flags=re.S | re.M)
SOURCES = ("autograd", "minisets", "tasks", "tests", "pyproject.toml", "CONTRIBUTING.md")


def apply(root: Path, kind: str, words: str, body: str) -> None:
    """Append to a file, create one, or replace a fragment, which must occur in the file exactly once."""
    *action, name = words.split()
    path = root / name
    if kind == "diff":
        lines = body.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in f"{sign} ").rstrip("\n") for sign in "-+")
        text = path.read_text(encoding="utf-8")
        times = text.count(old)
        assert times == 1, f"CONTRIBUTING.md expects this once in {name}, which has it {times} times: {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")
    elif action == ["append"]:
        blank = "\n\n" if body.startswith(("@", "class", "def")) else ""
        path.write_text(path.read_text(encoding="utf-8") + blank + body, encoding="utf-8")
    else:
        assert action == ["create"] and not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(body, encoding="utf-8")


def run(root: Path, line: str) -> None:
    words = shlex.split(line, comments=True)
    tool = {"python": [sys.executable], "minisets": [sys.executable, "-m", "tasks"]}[words[0]]
    quiet = ["-q", "-p", "no:cacheprovider", "-n", "0", "--no-cov"] if "pytest" in words else []
    environment = os.environ | {"PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run([*tool, *words[1:], *quiet], cwd=root, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, f"{line}\n{found.stdout[-3000:]}\n{found.stderr[-2000:]}"


@pytest.mark.skipif("autograd.fast" not in sys.modules, reason="the suite runs without the folders of faster forms")
def test_the_examples_work_on_a_copy_of_the_repository(tmp_path: Path):
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    for kind, words, body in BLOCKS:
        if kind == "console":
            for line in body.splitlines():
                if "needs CuPy" not in line or requirements.gpu():
                    run(tmp_path, line)
        else:
            apply(tmp_path, kind, words, body)
    (tmp_path / "ruff.toml").write_text('extend = "pyproject.toml"\n')
    words = [sys.executable, "-m", "ruff", "check", "--fix", "."]  # as make format does
    checked = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0 or "No module named ruff" in checked.stderr, checked.stdout


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"`((?:autograd|minisets|tasks|tests|docs|\.ci)/[\w./]+)`", TEXT))
    created = {words.split()[-1] for kind, words, _ in BLOCKS if "create" in words}
    missing = [name for name in named - created if "NAME" not in name and not (ROOT / name).exists()]
    assert len(named) > 10 and not missing
