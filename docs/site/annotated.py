"""Annotated sources: code on the right, what it does on the left, made from the files themselves.

docs/annotated/NAME.md says which files a page shows (the links in its first paragraph), and adds explanations to what
the docstrings say, under headings that are names in these files: `## Tensor.backward`, or for a kernel's CUDA
`## norm_forward in CUDA`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.site import docstrings

ROOT = Path(__file__).parent.parent.parent
NOTES = ROOT / "docs" / "annotated"
ORDER = ("tape", "nn", "attention", "blocks", "norm", "clustering")


@dataclass(frozen=True)
class Piece:
    """Some lines of a file that belong together."""

    name: str  # "Tensor.backward", or "" for imports and constants
    heading: str  # of the section that begins here: "# ---- the graph ----"
    docstring: str
    code: str


@dataclass(frozen=True)
class Notes:
    title: str
    introduction: str
    files: tuple[Path, ...]
    notes: dict[str, str]


def pages() -> list[tuple[str, str]]:
    """(file name, Markdown) for each annotated source."""
    return [(f"annotated/{name}.md", page(read(NOTES / f"{name}.md"))) for name in ORDER]


def read(path: Path) -> Notes:
    head, *sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)
    title, _, introduction = head.partition("\n")
    links = re.findall(r"\]\(([^)]+\.(?:py|cu))\)", introduction)
    files = tuple((path.parent / link).resolve() for link in links)
    notes = {name.strip(" `"): text.strip() for name, _, text in (section.partition("\n") for section in sections)}
    return Notes(title.removeprefix("# ").strip(), introduction.strip(), files, notes)


def page(notes: Notes) -> str:
    parts = [f"# {notes.title}", notes.introduction]
    for file in notes.files:
        language = "cuda" if file.suffix == ".cu" else "python"
        if len(notes.files) > 1:
            parts.append(f"## `{file.name}`")
        for piece in pieces(file):
            if piece.heading:
                parts.append(f"## {piece.heading[0].upper()}{piece.heading[1:]}")
            parts.append(row(piece, notes.notes.get(piece.name, ""), language))
    return "\n\n".join(parts) + "\n"


def row(piece: Piece, note: str, language: str) -> str:
    """One row of the page: explanation and code."""
    name = f'<p class="name">{piece.name}</p>' if piece.name else ""
    left = "\n\n".join(
        part for part in (name, docstrings.html(piece.docstring) if piece.docstring else "", note) if part
    )
    note_part = f"`````{{container}} note\n{left or '<p></p>'}\n`````\n"
    if not piece.code:
        return note_part
    return (
        f"``````{{container}} annotated\n{note_part}"
        f"`````{{container}} code\n````{{code-block}} {language}\n\n{piece.code}\n````\n`````\n``````"
    )


def pieces(path: Path) -> list[Piece]:
    text = path.read_text(encoding="utf-8")
    return list(_python(text) if path.suffix == ".py" else _cuda(text))


def definitions(path: Path) -> list[Piece]:
    return [piece for piece in pieces(path) if piece.name]


# ---- Python


def _python(text: str) -> Iterator[Piece]:
    lines, tree = text.split("\n"), ast.parse(text)
    doc = ast.get_docstring(tree) or ""
    start = tree.body[0].end_lineno if doc else 0
    cuts: list[tuple[int, str, str]] = []  # first line (from 0), name, docstring
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = _first(node, lines)
            cuts.append((first, node.name, ast.get_docstring(node) or ""))
            if isinstance(node, ast.ClassDef):
                methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                for method in methods[1:] if methods and methods[0].name == "__init__" else methods:
                    cuts.append((_first(method, lines), f"{node.name}.{method.name}", ast.get_docstring(method) or ""))
        elif cuts and node.lineno - 1 > cuts[-1][0] and cuts[-1][1]:
            cuts.append((_first(node, lines), "", ""))  # constants after a definition
    cuts.sort()
    dropped = _docstring_lines(tree)
    ends = [first for first, _, _ in cuts[1:]] + [len(lines)]
    yield _piece("", doc, lines[start : cuts[0][0] if cuts else len(lines)], set(), start)
    for (first, name, docstring), end in zip(cuts, ends, strict=True):
        yield _piece(name, docstring, lines[first:end], dropped, first)


def _first(node: ast.stmt, lines: list[str]) -> int:
    """Where a statement begins, with its decorators, the comments above it and the heading of its section."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    above = first
    while above and not lines[above - 1].strip():
        above -= 1
    if above and lines[above - 1].startswith("# ----"):
        first = above - 1
    return first


def _docstring_lines(tree: ast.Module) -> set[int]:
    """The lines (from 0) of the docstrings of classes and functions."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            found |= set(range(node.body[0].lineno - 1, node.body[0].end_lineno or 0))
    return found


def _piece(name: str, docstring: str, lines: list[str], dropped: set[int], first: int) -> Piece:
    heading, kept = "", []
    for i, line in enumerate(lines, first):
        if found := re.match(r"# ---- (.*?) -*$", line):
            heading = found[1]
        elif i not in dropped:
            kept.append(line)
    while kept and not kept[0].strip():
        kept.pop(0)
    code = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).rstrip()
    margin = min((len(line) - len(line.lstrip()) for line in code.split("\n") if line.strip()), default=0)
    return Piece(name, heading, docstring, "\n".join(line[margin:] for line in code.split("\n")))


# ---- CUDA


def _cuda(text: str) -> Iterator[Piece]:
    first, *kernels = re.split(r"^(?=template <)", text, flags=re.M)
    comment = "\n".join(line.removeprefix("//").strip() for line in first.split("\n") if line.startswith("//"))
    code = "\n".join(line for line in first.split("\n") if not line.startswith("//")).strip()
    if comment or code:
        yield Piece("", "", comment, code)
    for kernel in kernels:
        found = re.search(r"(\w+)\s*\(", kernel)
        yield Piece(f"{found[1]} in CUDA" if found else "", "", "", kernel.rstrip())
