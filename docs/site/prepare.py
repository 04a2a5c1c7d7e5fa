"""Collect the pages of the site in one folder, for Sphinx: the chapters, and what is generated from the sources.

A page keeps its Markdown but for four things: a link to a file of the repository leads to a page that shows the file;
```python source ...``` gets a caption; the line "Previous: ... Next: ..." goes, because the site has its own; and the
index gets the tables of contents from which Sphinx makes its sidebar.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from docs import contents
from docs.markdown import FENCE
from docs.pictures.style import site_style
from docs.site import annotated, api, notebooks

ROOT = Path(__file__).parent.parent.parent
PROJECT = {"README.md": "project/readme.md", "CONTRIBUTING.md": "project/contributing.md"}
PROJECT |= {"CHANGELOG.md": "project/changelog.md"}
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", flags=re.S)
LANGUAGES = {".py": "python", ".cu": "cuda", ".toml": "toml", ".sh": "bash", ".json": "json", ".yml": "yaml"}


def prepare(folder: Path) -> None:
    """Write all pages into an empty folder."""
    site = Site(folder)
    for path in [*contents.DOCS.glob("*.md"), *contents.DOCS.glob("results/*.md"), *(ROOT / name for name in PROJECT)]:
        site.page(path)
    for name, text in [*annotated.pages(), *api.pages()]:
        site.write(name, site.rewrite(text, ROOT / "docs" / name))
    site.sources()
    site.index()
    (folder / "static").mkdir()
    (folder / "static" / "pictures.css").write_text(site_style(), encoding="utf-8")
    shutil.copy(ROOT / "docs" / "site" / "book.css", folder / "static" / "book.css")
    ignored = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(ROOT / "docs" / "pictures", folder / "pictures", ignore=ignored, dirs_exist_ok=True)


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.linked: set[Path] = set()  # files of the repository that some page leads to

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def page(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        if path.parent == contents.DOCS and path.name in contents.chapters():
            text = re.sub(r"\n(?:Previous|Next): \[[^\n]*\n*\Z", "\n", text)
            if not re.match(r"# \d", text):
                text = re.sub(r"\A# .*", f"# {contents.title(path.name)}", text)
        if not re.search(r"^# ", text, flags=re.M):  # the tables of docs/results
            text = re.sub(r"\A\*\*(.*)\*\*\n", r"# \1\n", text)
        self.write(self.place(path), self.rewrite(text, path))

    def place(self, path: Path) -> str:
        """Where the site has a file of the repository."""
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".md":
            return PROJECT.get(name, name.removeprefix("docs/"))
        if path.suffix in (".png", ".gif", ".svg"):
            return name.removeprefix("docs/")
        return f"source/{name.rstrip('/')}.md"

    def rewrite(self, text: str, path: Path) -> str:
        """Every link outside code leads to a page of the site."""

        def link(match: re.Match[str]) -> str:
            target, _, anchor = match[2].partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return match[0]
            file = Path(os.path.normpath(path.parent / target))
            if not file.exists() or ROOT not in file.parents:
                return match[0]  # a page that is generated, or one that Sphinx will complain of
            place = self.place(file)
            if place.startswith("source/"):
                self.linked.add(file)
                anchor = ""
            elif file.suffix in (".png", ".gif"):
                (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, self.folder / place)
            here = os.path.dirname(self.place(path))
            return f"{match[1]}{os.path.relpath(place, here or '.')}{'#' + anchor if anchor else ''}{match[3]}"

        kept: list[str] = []

        def keep(code: str) -> str:
            kept.append(code)
            return f"\0{len(kept) - 1}\0"

        text = FENCE.sub(lambda m: keep(_captioned(m)), text)
        text = LINK.sub(link, CODE.sub(lambda m: keep(m[0]), text))
        while "\0" in text:  # `code` may stand in a link's text, and a fence in nothing
            text = re.sub(r"\0(\d+)\0", lambda m: kept[int(m[1])], text)
        return text

    def sources(self) -> None:
        """A page for every file that some page leads to."""
        for path in sorted(self.linked):
            name = path.relative_to(ROOT).as_posix()
            if path.is_dir():
                files = sorted(
                    p.name + "/" * p.is_dir() for p in path.iterdir() if not p.name.startswith(("__py", "."))
                )
                body = "\n".join(f"- `{file}`" for file in files)
            else:
                code, language = path.read_text(encoding="utf-8"), LANGUAGES.get(path.suffix, "text")
                body = f"``````{{code-block}} {language}\n:linenos:\n\n{code.rstrip()}\n``````"
            self.write(self.place(path), f"---\norphan: true\n---\n\n# `{name}`\n\n{body}\n")

    def index(self) -> None:
        """What the index has on the site alone: generated pages, notebooks, and the sidebar's tables of contents."""
        text = (self.folder / "index.md").read_text(encoding="utf-8")
        sections = {part.title: list(part.pages) for part in contents.parts()}
        generated = {
            "Annotated sources": [name for name, _ in annotated.pages()],
            "Reference": [name for name, _ in api.pages()],
            "The project": list(PROJECT.values()),
        }
        for title, names in generated.items():
            text += f"\n## {title}\n\n" + "".join(f"- []({name})\n" for name in names)
        text += "\n## Notebooks\n\nThe chapters with code as Jupyter notebooks, one for each part, to download:\n\n"
        for name, title in notebooks.names():
            text += f'- <a href="notebooks/{name}" download>{title}</a>\n'
        for title, names in (sections | generated).items():
            pages = "\n".join(name.removesuffix(".md") for name in names)
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"
        results = sorted(path.stem for path in contents.DOCS.glob("results/*.md") if path.stem != "README")
        toctree = "\n```{toctree}\n:hidden:\n\n" + "\n".join(results) + "\n```\n"
        self.write("index.md", text)
        self.write("results/README.md", (self.folder / "results/README.md").read_text(encoding="utf-8") + toctree)


def _captioned(match: re.Match[str]) -> str:
    """```python source PATH NAME``` as a code block with a caption."""
    indent, words = match[1], match[2].split()
    if words[:2] != ["python", "source"]:
        return match[0]
    body = (
        "".join(f"{indent}{line}\n" if line else "\n" for line in match[3].split("\n")[:-1]) if not indent else match[3]
    )
    return f"{indent}```{{code-block}} python\n{indent}:caption: {words[2]}, {words[3]}\n\n{body}{indent}```"
