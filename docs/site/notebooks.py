"""The parts of the book as Jupyter notebooks: python -m docs.site.notebooks [FOLDER]

The text becomes Markdown cells and the snippets code cells; what they print is left for the reader to see.  Relative
links lead nowhere outside the repository, so only their text is kept.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs import contents
from docs.markdown import FENCE, fences

ROOT = contents.DOCS.parent


def names() -> list[tuple[str, str]]:
    """(file name, title) of each part that has snippets."""
    return [(name, part.title) for name, part in _parts().items()]


def _parts() -> dict[str, contents.Part]:
    numbered = [part for part in contents.parts() if part.title.startswith("Part ")]
    runs = [part for part in numbered if any(_snippets(page) for page in part.pages)]
    return {f"part-{numbered.index(part) + 1}.ipynb": part for part in runs}


def _snippets(page: str) -> list[str]:
    text = (contents.DOCS / page).read_text(encoding="utf-8")
    return [fence.body for fence in fences(text) if fence.info == "python"]


def cells(text: str) -> Iterator[tuple[str, str]]:
    """("markdown" or "code", text) for a page.  What a snippet prints is dropped."""
    prose, last, printed = "", 0, False
    for match in FENCE.finditer(text):
        info = match[2].strip()
        prose += text[last : match.start()]
        last = match.end()
        if info == "python":
            yield "markdown", prose
            yield "code", match[3].rstrip()
            prose, printed = "", True
        elif not (info == "text" and printed):
            prose += "```" + (info.split()[0] if info else "") + "\n" + match[3] + "```"
    yield "markdown", prose + text[last:]


def notebook(part: contents.Part) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for page in part.pages:
        if not _snippets(page):
            continue
        for kind, text in cells((contents.DOCS / page).read_text(encoding="utf-8")):
            text = _without_links(text).strip() if kind == "markdown" else text
            if text:
                cell = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
                cell |= {"id": f"cell-{len(found)}"}
                found.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": found, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _without_links(text: str) -> str:
    text = re.sub(r"!\[([^\]]*)\]\((?![a-z]+:)[^)]*\)", r"*Picture: \1*", text)
    text = re.sub(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", text)
    return re.sub(r"\n(?:Previous|Next): [^\n]*\s*\Z", "\n", text)


def write(folder: Path) -> list[Path]:
    """Write all notebooks into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, part in _parts().items():
        path = folder / name
        path.write_text(json.dumps(notebook(part), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in write(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "notebooks"):
        print(written)
