"""The library needs NumPy and SciPy alone; the command line says what else it needs."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib

import pytest

from tests.helpers.commandline import ENVIRONMENT, ROOT
from tests.helpers.oldest import oldest

EXTRA = ("matplotlib", "tqdm", "PIL")


def run(code: str, *blocked: str) -> subprocess.CompletedProcess:
    """Run code in a process in which these modules cannot be imported."""
    block = "".join(f"sys.modules[{name!r}] = None; " for name in blocked)
    words = [sys.executable, "-c", f"import sys; {block}{code}"]
    return subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True)


def test_the_declared_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [name.split(">")[0] for name in project["dependencies"]] == ["numpy", "scipy"]
    assert {name.split(">")[0] for name in project["optional-dependencies"]["tasks"]} == {
        "matplotlib",
        "tqdm",
        "pillow",
    }


def test_the_library_without_the_rest():
    code = "import autograd, minisets, minisets.optim, minisets.checkpoint, minisets.interop; print('imported')"
    assert run(code, *EXTRA).stdout == "imported\n"


@pytest.mark.parametrize(("module", "package"), [("matplotlib", "matplotlib"), ("tqdm", "tqdm"), ("PIL", "pillow")])
def test_the_command_says_what_is_missing(module: str, package: str):
    words = "sys.argv = ['minisets', 'train', 'unique_characters', '--help']"
    done = run(f"import tasks.__main__; {words}; sys.exit(tasks.__main__.main())", module)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"minisets: the experiments need {package}, which is not installed: pip install 'minisets[tasks]'\n"
    )


def test_oldest_versions_are_named_for_all_that_the_suite_needs():
    """make test-oldest installs exactly these; everywhere else versions are newer."""
    found = oldest()
    assert {"numpy", "scipy", "matplotlib", "pillow", "h5py", "safetensors", "pytest", "hypothesis"} < found.keys()
    for name, version in found.items():
        installed = importlib.metadata.version(name)
        numbers = [[int(n) for n in re.findall(r"\d+", v)[:3]] for v in (version, installed)]
        assert numbers[0] <= numbers[1], f"{name} {installed} is older than the oldest allowed, {version}"


def test_the_kit_needs_hypothesis_and_nothing_of_other_frameworks():
    done = run("import minisets.testing", "hypothesis")
    assert done.returncode == 1 and done.stderr.endswith(
        "minisets.testing draws sets with Hypothesis, which is not installed: pip install 'minisets[test]'\n"
    )
    code = "import minisets.testing as t; t.check_invariant(lambda X: X.sum(axis=1), examples=2); print('checked')"
    assert run(code, *EXTRA, "torch", "jax", "pytest").stdout == "checked\n"


def test_distributed_training_says_what_is_missing():
    words = ["train", "max_regression", "--distributed", "--out", "/nonexistent/run"]
    done = run(f"from tasks.harness.cli import main; sys.exit(main({words}))", "mpi4py")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(
        "minisets: mpi4py is not installed; install it with pip install 'minisets[mpi]' (Open MPI"
    )
