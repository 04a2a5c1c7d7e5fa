"""Copy finished runs into docs/results, without weights and figures: python -m tasks.reproduce.store ../runs

A run of `minisets reproduce` in OUT/TASK/NAME/RUN goes to docs/results/TASK/NAME/RUN, instead of what is there.  Then
`make tables figures` renews the pages.  Photographs of people are not copied.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tasks.harness.run_folder import RunFolder, find_runs
from tasks.plots.stored import INPUTS, RESULTS


def store(run: RunFolder, into: Path) -> None:
    """The files from which tables and figures are made."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    private = getattr(run.options(), "data", None) == "celeba"
    for name in INPUTS:
        if (run.path / name).exists() and not (private and name == "examples.npz"):
            shutil.copyfile(run.path / name, into / name)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder --out of the runs")
    out = parser.parse_args(argv).out
    for run in find_runs([out]):
        into = RESULTS / run.path.relative_to(out)
        result = into / "result.json"
        if run.finished() and not (result.exists() and result.read_bytes() == run.result_path.read_bytes()):
            store(run, into)
            print(into.relative_to(RESULTS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
