"""tests/gpu runs on the GPU where there is one, otherwise on the real CuPy emulated on the host; otherwise not at all.

Tests of what only the emulation can show (schedules, counts, faults) are marked needs("emulation"); tests of compiling
need only CuPy and NVRTC.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from autograd import backend
from tasks.harness import machine
from tests.helpers import requirements

if not requirements.gpu():  # which installs the emulation, before anything imports CuPy
    collect_ignore = [
        "test_counts.py",
        "test_emulation.py",
        "test_execution.py",
        "test_mutants.py",
        "test_selftest.py",
        "test_tables.py",
    ]
    if importlib.util.find_spec("cupy") is None or importlib.util.find_spec("nvidia.cuda_nvrtc") is None:
        collect_ignore.append("test_compile.py")


def pytest_report_header() -> str:
    return f"tests/gpu runs on {requirements.gpu() or 'nothing here'}"


@pytest.fixture(scope="session", autouse=True)
def tried() -> None:
    """The device is tried on its first use: here, before launches and waits are counted."""
    if requirements.gpu():
        backend.import_cupy("cuda")


@pytest.fixture(autouse=True)
def still_responds(tried: None) -> Iterator[None]:
    """An illegal access spoils a GPU for the rest of the process: no later test would say anything."""
    yield
    if requirements.gpu() and not machine.responds("cuda"):
        pytest.exit("the GPU no longer responds, as after an illegal memory access by the test that failed last", 1)
