"""The figures of docs/results: up to date, and every figure that a page shows exists."""

import json
import re
import shutil
from pathlib import Path

from tasks.plots import stored
from tests.helpers.commandline import ROOT


def test_stored_figures_are_up_to_date():
    """If not: make figures."""
    assert json.loads((stored.RESULTS / "figures.json").read_text()) == stored.digests()


def test_a_change_of_a_run_is_noticed(tmp_path: Path):
    shutil.copytree(stored.RESULTS / "runtime", tmp_path / "runtime")
    before = stored.digests(tmp_path)
    result = next(tmp_path.rglob("result.json"))
    result.write_text(result.read_text() + "\n")
    changed = {folder for folder, digest in stored.digests(tmp_path).items() if digest != before[folder]}
    assert changed == {"runtime/paper"}


def test_every_figure_of_the_docs_exists():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} shows {link}"
