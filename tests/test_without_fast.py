"""Everything but speed works without the folders of faster forms; `make test-plain` runs the full suite that way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commandline import ROOT

WITHOUT = Path(__file__).parent / "helpers" / "without_fast"
AUTOGRAD = ("tape", "arguments", "op_details", "gradcheck", "drawing", "drawing_svg")
MINISETS = ("nn", "blocks", "optim", "proofs", "defects", "architectures", "interop", "masks", "ragged", "recording")
FILES = [f"autograd/test_{name}.py" for name in AUTOGRAD] + [f"minisets/test_{name}.py" for name in MINISETS]


@pytest.mark.skipif("sitecustomize" in sys.modules and hasattr(sys.modules["sitecustomize"], "BLOCKED"), reason="it is")
def test_the_engine_and_the_networks_without_faster_forms():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(WITHOUT), str(ROOT)])}
    code = "import sys, autograd, minisets; print(sum('.fast' in m or '.kernels' in m for m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "0"
    files = [str(ROOT / "tests" / name) for name in FILES]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-cov", *files]
    run = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]
