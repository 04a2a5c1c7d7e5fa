"""@pytest.mark.set_function: a test that returns a set function."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minisets import PMA, SAB
from minisets.nn import Sequential
from tests.helpers.commandline import ENVIRONMENT


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.set_function(kind="invariant", examples=3)
@pytest.mark.parametrize("k", [1, 2])
def test_a_network_of_a_fixture(rng: np.random.Generator, k: int):
    return Sequential(SAB(3, 8, 2, rng=rng), PMA(8, 2, k, rng=rng))


TESTS = """
import pytest

@pytest.mark.set_function(kind="invariant", examples=5)
def test_right():
    return lambda X: X.mean(axis=1)

@pytest.mark.set_function("invariant", examples=5)
def test_wrong():
    return lambda X: X[:, 0] * 1.0

@pytest.mark.set_function(kind="invariant")
def test_forgotten():
    lambda X: X
"""


def test_two_lines_in_a_project_of_ones_own(tmp_path: Path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["minisets.testing.plugin"]\n')
    (tmp_path / "test_net.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1 and "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "looks like: the first element is special" in done.stdout
    assert "test_forgotten returned nothing; return the set function" in done.stdout
    assert "properties.py" not in done.stdout  # no traceback through the kit
