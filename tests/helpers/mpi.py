"""Running the real command under mpiexec."""

import subprocess
import sys

from tests.helpers.commandline import ENVIRONMENT
from tests.helpers.requirements import MPIEXEC

# Tests may run as root and on fewer cores than there are processes.
OPTIONS = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
PATIENCE = 300  # seconds: a job that takes longer hangs


def start_mpi(processes: int, *arguments: object, module: str = "tasks.harness.cli", **settings) -> subprocess.Popen:
    """Start minisets (or another module) with these arguments in several processes."""
    program = [sys.executable, "-m", module, *(str(argument) for argument in arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    return subprocess.Popen([MPIEXEC, *OPTIONS, "-n", str(processes), *program], **pipes | settings)


def command_mpi(processes: int, *arguments: object, **settings) -> subprocess.CompletedProcess:
    """The same, to its end."""
    process = start_mpi(processes, *arguments, **settings)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
