"""The rules of the code base: one-way imports, cupy in one file, no pickle, and our own autograd or a clear error."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.walk import walk

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


PLAIN = [  # formulas, blocks and the tape: none of them mentions speed
    *sorted((ROOT / "autograd" / "ops").glob("*.py")),
    *(ROOT / "autograd" / name for name in ("tape.py", "arguments.py", "operators.py", "methods.py", "registry.py")),
    *(ROOT / "minisets" / f"{name}.py" for name in ("attention", "blocks", "pooling", "masks", "ragged", "recording")),
    *(ROOT / "minisets" / f"{name}.py" for name in ("architectures", "style", "notation", "state_dict")),
    *sorted((ROOT / "minisets" / "nn").glob("*.py")),
    *sorted((ROOT / "minisets" / "optim").glob("*.py")),
]
ABOUT_SPEED = ("fast", "kernels", "forms", "threads")


def names_imported(path: Path) -> set[str]:
    """Every part of every name that a file imports: from autograd.fast import rows has autograd, fast and rows."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {part for alias in node.names for part in alias.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            found |= {*node.module.split("."), *(alias.name for alias in node.names)}
    return found


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: str(path.relative_to(ROOT)))
def test_plain_code_never_mentions_speed(path: Path):
    assert not names_imported(path) & set(ABOUT_SPEED)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not used & {"plain_forms", "form_of", "parallel_map", "single_threaded_blas", "keep_memory"}


def test_the_rule_of_plain_code_can_fail(tmp_path: Path):
    for line in ("from autograd.fast import rows", "from autograd import forms", "import autograd.kernels.norm"):
        (tmp_path / "wrong.py").write_text(line)
        assert names_imported(tmp_path / "wrong.py") & set(ABOUT_SPEED), line


def test_a_reader_of_a_mab_passes_through_little_code():
    """One tiny forward in plain forms, as python -m tests.helpers.walk counts it."""
    seen = walk(plain=True)
    assert len(seen.files) <= 10 and seen.lines <= 1_300 and seen.calls <= 300
    assert {Path(file) for file in seen.files} <= {path.relative_to(ROOT) for path in PLAIN} | {
        Path("autograd/backend.py")
    }


def test_two_files_import_cupy():
    users = [path.relative_to(ROOT) for path in FILES if imported(path) & {"cupy", "cupyx"}]
    assert users == [Path("autograd/backend.py"), Path("autograd/cupy_import.py")]


def test_no_array_is_loaded_with_pickle():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load"):
                assert any(k.arg == "allow_pickle" and k.value.value is False for k in node.keywords), path


@pytest.mark.parametrize("kind", ["package", "leftovers"])
def test_another_package_named_autograd_is_noticed(tmp_path: Path, kind: str):
    """Shadowed by a folder of the user's, or by one of ours that lost its __init__.py: one sentence, what to type."""
    other = tmp_path / "autograd"
    other.mkdir()
    (other / ("__init__.py" if kind == "package" else "core.py")).write_text("def grad(f): ...\n")
    (tmp_path / "minisets").symlink_to(ROOT / "minisets")
    last = failing_import(tmp_path)
    assert last.startswith("ImportError: minisets has its own package named 'autograd'") and str(other) in last
    assert f"rename {other}" in last or "install --force-reinstall --no-deps -e" in last


def failing_import(folder: Path) -> str:
    command = [sys.executable, "-S", "-E", "-c", "import minisets.nn"]  # nothing that is installed, ours included
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 1
    return run.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        (None, "minisets==0.2.0"),
        (
            {"url": "file:///a%20b/minisets-0.2.0-py3-none-any.whl", "archive_info": {}},
            "'/a b/minisets-0.2.0-py3-none-any.whl'",
        ),
        ({"url": "file:///home/me/minisets", "dir_info": {"editable": True}}, "-e /home/me/minisets"),
        ({"url": "file:///home/me/minisets", "dir_info": {}}, "/home/me/minisets"),
    ],
)
def test_the_remedy_names_what_was_installed(tmp_path: Path, direct_url: dict | None, source: str):
    """The public package installed over ours, in site-packages: both commands, with this Python and this minisets."""
    for name, version in (("autograd", "1.8"), ("minisets", "0.2.0")):
        about = tmp_path / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if direct_url:
        (about / "direct_url.json").write_text(json.dumps(direct_url))
    (tmp_path / "autograd").mkdir()
    (tmp_path / "autograd" / "__init__.py").write_text("def grad(f): ...\n")
    shutil.copytree(ROOT / "minisets", tmp_path / "minisets", ignore=shutil.ignore_patterns("__pycache__"))
    last = failing_import(tmp_path)
    pip = f"{sys.executable} -m pip"
    assert f"run  {pip} uninstall -y autograd  and then  {pip} install --force-reinstall --no-deps {source}  (" in last
