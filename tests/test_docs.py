"""Every Python snippet in README.md and docs/ runs, in order, and prints what the text says it prints."""

import contextlib
import doctest
import io
import re
import sys
from pathlib import Path

import pytest

import autograd

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
if "autograd.fast" not in sys.modules:  # tests/helpers/without_fast: the chapter on speed has nothing to show
    PAGES.remove(ROOT / "docs" / "22-speed.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A ```python block runs; a ```text block right after it is what it prints."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    names: dict = {}
    printed = None
    for kind, body in blocks:
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(body, str(page), "exec"), names)
            printed = out.getvalue()
        else:
            assert printed == body, f"{page.name} promises\n{body}\nbut the snippet printed\n{printed}"


def test_the_example_in_the_package():
    assert doctest.testmod(autograd).failed == 0
