"""What the tests know of docs/exercises: its stubs, its tests, and what happens when they run."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def chapters(root: Path = ROOT) -> list[str]:
    """["ch01", ...]: every chapter for which there are stubs, tests or solutions."""
    folders = (root / "docs" / "exercises", root / "docs" / "solutions")
    names = [path.stem for folder in folders for path in folder.glob("*ch*.py")]
    return sorted({name.removeprefix("test_") for name in names})


def signatures(path: Path) -> dict[str, str]:
    """Name ("f", "C.method") -> signature, of every function and method of a file."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = signature(node)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{f.name}": signature(f) for f in node.body if isinstance(f, ast.FunctionDef)}
    return found


def signature(node: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(node.args)}){returns}"


def stubs(path: Path) -> dict[str, str]:
    """The functions and methods that are to be answered: a docstring, and raise NotImplementedError."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners = [("", tree)] + [(f"{node.name}.", node) for node in tree.body if isinstance(node, ast.ClassDef)]
    return {
        prefix + node.name: signature(node)
        for prefix, owner in owners
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and ast.unparse(node.body[-1]) == "raise NotImplementedError"
    }


def undocumented(path: Path) -> list[str]:
    """Stubs whose body is more than a docstring and the raise."""
    wanted = {name.split(".")[-1] for name in stubs(path)}
    return [
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name in wanted
        if ast.get_docstring(node) is None or len(node.body) != 2
    ]


def untested(chapter: str, root: Path = ROOT) -> list[str]:
    """The stubs that no test names: a function as ch05.f, a method by its class."""
    folder = root / "docs" / "exercises"
    text = (folder / f"test_{chapter}.py").read_text(encoding="utf-8")
    named = set(re.findall(rf"\b{chapter}\.(\w+)", text))
    return [name for name in stubs(folder / f"{chapter}.py") if name.split(".")[0] not in named]


def run(which: str, root: Path = ROOT, folder: str = "docs/exercises") -> dict[str, dict[str, str]]:
    """Run all tests of all chapters: chapter -> test -> "" if it passed, or the message of its failure."""
    report = root / f".exercises-{which}-{os.getpid()}.xml"
    words = ["-q", "-p", "no:cacheprovider", "-n", "0", "--no-cov", "--tb=short", f"--junitxml={report}"]
    environment = os.environ | {"EXERCISES": which, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", folder, *words]
    try:
        found = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        if found.returncode not in (0, 1):
            raise AssertionError(f"pytest could not run {folder}:\n{found.stdout[-4000:]}{found.stderr[-2000:]}")
        cases = list(ElementTree.parse(report).iter("testcase"))
    finally:
        report.unlink(missing_ok=True)
    results: dict[str, dict[str, str]] = {}
    for case in cases:
        chapter = case.get("classname", "").split(".")[-1].removeprefix("test_")
        trouble = [f"{kind.tag}: {kind.get('message')}\n{kind.text}" for kind in case if kind.tag != "properties"]
        trouble = [text for text in trouble if not text.startswith("system-")]
        results.setdefault(chapter, {})[case.get("name", "")] = "\n".join(trouble)
    return results
