"""The house rules, executed: one-way imports, cupy in one file, no pickle, and our autograd or a clear refusal."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BOOKS = {"autograd": set(), "minisets": {"autograd"}, "tasks": {"autograd", "minisets"}}  # what each may import
FILES = [path for book in BOOKS for path in sorted((ROOT / book).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """The top-level names of everything a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; write the whole name"
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path):
    book = path.relative_to(ROOT).parts[0]
    allowed = BOOKS[book] | {book}
    assert imported(path) & set(BOOKS) <= allowed
    strangers = {"torch", "jax", "tensorflow", "pickle", "tests"}
    if path.name == "torch_peer.py":  # the optional peer of the benchmark
        strangers.remove("torch")
    assert not imported(path) & strangers


def test_one_file_imports_cupy():
    users = [path.relative_to(ROOT) for path in FILES if imported(path) & {"cupy", "cupyx"}]
    assert users == [Path("autograd/backend.py")]


def test_no_array_is_loaded_with_pickle():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load"):
                assert any(k.arg == "allow_pickle" and k.value.value is False for k in node.keywords), path


@pytest.mark.parametrize("kind", ["package", "leftovers"])
def test_another_package_named_autograd_is_noticed(tmp_path: Path, kind: str):
    """Shadowed by another package, or by a folder that lost its __init__.py: one sentence, not an AttributeError."""
    other = tmp_path / "autograd"
    other.mkdir()
    (other / ("__init__.py" if kind == "package" else "core.py")).write_text("def grad(f): ...\n")
    (tmp_path / "minisets").symlink_to(ROOT / "minisets")
    command = [sys.executable, "-S", "-E", "-c", "import minisets.nn"]  # nothing that is installed, ours included
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: minisets brings its own package named 'autograd'")
    assert str(other) in last and "pip uninstall autograd" in last
