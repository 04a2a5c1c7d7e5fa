"""Running the real command in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATHS = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), str(ROOT)]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(PATHS), "OPENBLAS_NUM_THREADS": "1"}

TINY = {  # small enough for a test, every part of a run included
    "max_regression": "--batch 8 --validation-sets 20 --test-sets 50 --log-every 7 --evaluate-every 20 --save-every 15",
    "clustering": "--batch 2 --n-min 5 --n-max 15 --validation-sets 4 --test-sets 6 --em-restarts 1 --log-every 7 "
    "--evaluate-every 20 --save-every 15",
}

SHORT = ["--steps", "6", "--batch", "4", "--validation-sets", "10", "--test-sets", "20", "--evaluate-every", "3"]


def command(*arguments: object, **settings) -> subprocess.CompletedProcess:
    """Run minisets with these arguments to its end."""
    words = [sys.executable, "-m", "tasks.harness.cli", *(str(argument) for argument in arguments)]
    return subprocess.run(words, **{"capture_output": True, "text": True, "env": ENVIRONMENT} | settings)


def start(*arguments: object, **settings) -> subprocess.Popen:
    """The same as a running process."""
    words = [sys.executable, "-m", "tasks.harness.cli", *(str(argument) for argument in arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    return subprocess.Popen(words, **pipes | settings)
