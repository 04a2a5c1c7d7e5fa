"""The notebooks: every snippet of a part is a cell, and they run from top to bottom."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from docs import contents, markdown
from docs.site import notebooks


def test_every_snippet_is_a_cell(tmp_path: Path):
    written = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in notebooks.write(tmp_path)}
    assert list(written) == [name for name, _ in notebooks.names()] and len(written) >= 4
    code = [cell for book in written.values() for cell in book["cells"] if cell["cell_type"] == "code"]
    pages = [page for part in contents.parts() if part.title.startswith("Part ") for page in part.pages]
    wanted = [
        fence.body.rstrip()
        for page in pages
        for fence in markdown.fences((contents.DOCS / page).read_text(encoding="utf-8"))
        if fence.info == "python"
    ]
    assert ["".join(cell["source"]) for cell in code] == wanted
    for book in written.values():
        assert book["nbformat"] == 4 and len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


def test_what_becomes_of_a_page():
    text = (
        "# A\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nWords.\n\n```console\nls\n```\n\nNext: [2. B](02-b.md)\n"
    )
    assert [(kind, body.strip()) for kind, body in notebooks.cells(text)] == [
        ("markdown", "# A"),
        ("code", "print(1)"),
        ("markdown", "Words.\n\n```console\nls\n```\n\nNext: [2. B](02-b.md)"),
    ]
    assert notebooks._without_links("[a](b.md) ![p](c.svg) [d](https://e.f)\n\nNext: [2. B](02-b.md)\n") == (
        "a *Picture: p* [d](https://e.f)\n\n"
    )


@pytest.mark.notebooks
@pytest.mark.parametrize("name", [name for name, _ in notebooks.names()])
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One namespace for the whole part, as in Jupyter."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for cell in notebooks.notebook(notebooks._parts()[name])["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
