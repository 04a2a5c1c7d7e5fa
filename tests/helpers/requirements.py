"""What some tests need and not every machine has.  Where it is missing they are not collected, and one line says so."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAPER = Path(os.environ.get("MINISETS_PAPER") or ROOT.parent / "shared" / "paper" / "set_transformer.tex").absolute()
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@dataclass(frozen=True)
class Missing:
    """Tests that cannot run here, why, and the command that runs them."""

    tests: str
    reason: str
    command: str

    def __str__(self) -> str:
        return f"{self.tests} ({self.reason}: {self.command})"


@functools.cache
def gpu() -> str:
    """Where tests/gpu can run: "a GPU", "the emulation", or nowhere: ""."""
    if importlib.util.find_spec("cupy_backends") is None:
        return ""
    from cupy_backends.cuda.api import runtime

    from tests.gpu import emulation

    try:
        if runtime.getDeviceCount():
            return "a GPU"
    except runtime.CUDARuntimeError:  # no driver
        pass
    try:
        emulation.install()  # before anything imports CuPy
    except emulation.Unavailable:
        return ""
    return "the emulation"


@functools.cache
def missing() -> dict[str, Missing]:
    """The requirements that this machine does not meet, by the name that pytest.mark.needs takes."""
    found = {}
    if not gpu():
        reason = "neither CuPy with a GPU nor its emulation is here"
        found["gpu"] = Missing("tests/gpu", reason, "make test-gpu")
    if gpu() != "the emulation":
        found["emulation"] = Missing("what only the emulation can show", "it does not run here", "make test-gpu")
    if importlib.util.find_spec("torch") is None:
        found["torch"] = Missing("parity with PyTorch", "torch is not installed", "pip install -e '.[torch]'")
    if importlib.util.find_spec("jax") is None:
        found["jax"] = Missing("checks of JAX functions", "jax is not installed", "pip install jax")
    if shutil.which("strace") is None:
        found["strace"] = Missing("faults at an exact system call", "strace is not installed", "make test-faults")
    if importlib.util.find_spec("mpi4py") is None or MPIEXEC is None:
        found["mpi"] = Missing("tests/mpi", "mpi4py or mpiexec is not installed", "make test-mpi")
    if importlib.util.find_spec("selenium") is None or CHROMIUM is None or shutil.which("chromedriver") is None:
        found["page"] = Missing("tests/page", "selenium, Chromium or its driver is not installed", "make test-page")
    if not PAPER.is_file():
        reason = f"its source is not at {PAPER}"
        found["paper"] = Missing("the paper's text", reason, "MINISETS_PAPER=set_transformer.tex make test")
    return found


def summary() -> str:
    """One line about all that was left out; "" if nothing was."""
    left_out = [str(one) for name, one in missing().items() if name != "emulation" or gpu() == "a GPU"]
    return f"not collected: {'; '.join(left_out)}" if left_out else ""
