"""What the tests of the pages look for.  Each function returns the problems of a page, as sentences; none is right."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from pathlib import Path

from docs.markdown import anchors, fences, prose
from docs.site.mathml import TexError, mathml

ROOT = Path(__file__).parent.parent.parent
# ---- code of the repository


def source_problems(text: str, root: Path = ROOT) -> list[str]:
    """```python source PATH NAME [body]: the fence holds exactly that function's or class's source."""
    found = []
    for fence in fences(text):
        words = fence.info.split()
        if words[:2] != ["python", "source"]:
            continue
        if len(words) not in (4, 5) or words[4:] not in ([], ["body"]):
            found.append(f"line {fence.line}: write ```python source PATH NAME, or with the word body after the name")
            continue
        try:
            wanted = source(root / words[2], words[3], docstring=len(words) == 4)
        except (FileNotFoundError, LookupError) as error:
            found.append(f"line {fence.line}: {error}")
            continue
        if fence.body.rstrip() != wanted.rstrip():
            found.append(f"line {fence.line}: {words[2]} has {words[3]} as\n{wanted}")
    return found


def source(path: Path, name: str, docstring: bool = True) -> str:
    """The source of a function, class, method (Class.method) or assigned name, dedented, with its decorators."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    text = path.read_text(encoding="utf-8")
    scope: list[ast.stmt] = ast.parse(text).body
    node: ast.stmt | None = None
    for part in name.split("."):
        node = next((n for n in scope if part in _names(n)), None)
        if node is None:
            raise LookupError(f"{path} has no {name}")
        scope = getattr(node, "body", [])
    assert node is not None
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    drop: range | list[int] = []
    if not docstring and isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        drop = range(node.body[0].lineno, node.body[0].end_lineno + 1)
    lines = [line for i, line in enumerate(text.splitlines(), 1) if first <= i <= node.end_lineno and i not in drop]
    return textwrap.dedent("\n".join(lines) + "\n")


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


# ---- names, links, anchors


def name_problems(text: str, root: Path = ROOT) -> list[str]:
    """`minisets/masks.py`, `minisets/masks.py:12` and `autograd.tape.Tensor` exist."""
    found = []
    for number, line in enumerate(prose(text, code=True).split("\n"), 1):
        for code in re.findall(r"`([^`]+)`", line):
            path = re.fullmatch(r"((?:autograd|minisets|tasks|tests|docs|\.ci)/[\w./-]*)(?::(\d+))?", code)
            dotted = re.fullmatch(r"((?:autograd|minisets|tasks|tests|docs)(?:\.\w+)+)(?:\(.*\))?", code)
            if path and not re.search(r"(?<![A-Z])(?:NAME|NN|TASK|PROTOCOL)(?![A-Z])", code):
                target = root / path[1]
                if not target.exists():
                    found.append(f"line {number}: there is no {path[1]}")
                elif path[2] and not _has_line(target, int(path[2])):
                    found.append(f"line {number}: {path[1]} has no text in line {path[2]}")
            elif dotted and not (root / code).exists() and not _importable(dotted[1]):
                found.append(f"line {number}: there is no {dotted[1]}")
    return found


def _has_line(path: Path, number: int) -> bool:
    lines = path.read_text(encoding="utf-8").splitlines()
    return number <= len(lines) and bool(lines[number - 1].strip())


def _importable(dotted: str) -> bool:
    parts = dotted.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for name in parts[i:]:
            fields = getattr(found, "__annotations__", {})
            if not hasattr(found, name) and name not in fields:
                return False
            found = getattr(found, name, None)
        return True
    return False


def link_problems(page: Path, text: str | None = None) -> list[str]:
    """Relative links and images lead to files that exist, and their anchors to headings (or lines) that exist."""
    text = page.read_text(encoding="utf-8") if text is None else text
    found = []
    for number, line in enumerate(prose(text).split("\n"), 1):
        for target in re.findall(r"\]\(([^()\s]+(?:\([^()]*\))?)\)|(?:src|href)=\"([^\"]+)\"", line):
            link = target[0] or target[1]
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists():
                found.append(f"line {number}: there is no file {name}")
            elif anchor and path.suffix == ".md":
                known = anchors(text if path == page else path.read_text(encoding="utf-8"))
                if anchor not in known:
                    found.append(f"line {number}: {path.name} has no heading #{anchor}")
            elif anchor and not (re.fullmatch(r"L\d+", anchor) and _has_line(path, int(anchor[1:]))):
                found.append(f"line {number}: {path.name} has nothing at #{anchor}")
    return found


# ---- mathematics

GITHUB = {"\\,": "\\thinspace", "\\{": "\\lbrace", "\\}": "\\rbrace", "\\\\": "\\cr", "\\!": "\\negthinspace"}


def tex_problems(text: str) -> list[str]:
    """Every $...$ and $$...$$ converts to MathML, none is half open, and GitHub renders them too."""
    found = []
    rest = prose(text)

    def convert(match: re.Match[str]) -> str:
        line = rest.count("\n", 0, match.start()) + 1
        tex = match["display"] or match["inline"]
        row = rest[rest.rfind("\n", 0, match.start()) + 1 :].startswith("|")
        if row and re.search(r"(?<!\\)\|", tex):
            found.append(f"line {line}: a | in a table cuts the formula; write \\lvert or \\mid")
        if "\\operatorname" in tex:
            found.append(f"line {line}: GitHub does not allow \\operatorname; write \\mathrm")
            return ""
        if lost := re.search(r"\\[^a-zA-Z]", tex):
            found.append(f"line {line}: {lost[0]} loses its backslash on GitHub; write {GITHUB.get(lost[0], 'a word')}")
        if "\n\n" in tex:
            found.append(f"line {line}: a formula with an empty line in it")
        try:
            mathml(tex, display=bool(match["display"]))
        except TexError as error:
            found.append(f"line {line}: {error}")
        return ""

    pattern = r"(?<!\\)\$\$(?P<display>.+?)\$\$|(?<![\\$])\$(?P<inline>[^$\s](?:[^$]*?[^$\s])?)\$(?!\d)"
    left = re.sub(pattern, convert, rest, flags=re.S)
    found += [f"a lone $ in: {line.strip()}" for line in left.split("\n") if re.search(r"(?<!\\)\$", line)]
    return found
