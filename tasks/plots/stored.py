"""The figures of docs/results, plotted from the runs that are stored there.

python -m tasks.plots.stored            plot them all, and note in figures.json what each was plotted from
python -m tasks.plots.stored --check    whether they are up to date

A folder of runs has its figures beside the runs.  A figure is out of date if its runs or tasks/plots have changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from tasks.harness.options import deviations
from tasks.harness.run_folder import RunFolder, find_runs
from tasks.plots import bench, scaling

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
INPUTS = ("config.json", "metrics.jsonl", "result.json", "examples.npz")


def groups(results: Path = RESULTS) -> dict[Path, list[RunFolder]]:
    """Where figures go, and the runs that they show: a folder with all its runs if they share a protocol, else each."""
    found: dict[Path, list[RunFolder]] = {}
    for run in find_runs([results]):
        found.setdefault(run.path if run.path.parent.parent == results else run.path.parent, []).append(run)
    separate = {folder for folder, runs in found.items() if len({_protocol(run) for run in runs}) > 1}
    return {
        (run.path if folder in separate else folder): ([run] if folder in separate else runs)
        for folder, runs in found.items()
        for run in runs
    }


def _protocol(run: RunFolder) -> tuple[str, ...]:
    points = getattr(run.options(), "points", None)
    return (*map(str, deviations(run.options())), str(points))


def figures(folder: Path, runs: list[RunFolder]) -> Iterator[tuple[Path, Figure]]:
    """The figures of some runs, and where they go; those whose examples were not stored are left out."""
    for name, plot in runs[0].experiment.figures.items():
        figure = plot(runs)
        if figure is not None:
            yield folder / f"{name}.png", figure


def digests(results: Path = RESULTS) -> dict[str, str]:
    """For each folder with figures, a digest of all that they are plotted from."""
    code = sorted(Path(__file__).parent.glob("*.py"))
    found = {}
    for folder, runs in groups(results).items():
        files = [run.path / name for run in sorted(runs, key=lambda run: run.path) for name in INPUTS]
        found[str(folder.relative_to(results))] = _digest([*code, *files])
    timings = sorted((results / "bench").glob("*.json"))
    return found | {"bench": _digest([*code, ROOT / "tasks" / "bench" / "cost_model.py", *timings])}


def _digest(paths: list[Path]) -> str:
    content = hashlib.sha256()
    for path in paths:
        if path.exists():
            content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="plot nothing; exit code 1 if something is out of date")
    check, notes = parser.parse_args().check, RESULTS / "figures.json"
    now, noted = digests(), json.loads(notes.read_text()) if notes.exists() else {}
    stale = sorted(folder for folder in now.keys() | noted.keys() if now.get(folder) != noted.get(folder))
    if check:
        print(f"out of date: {', '.join(stale)}; make figures" if stale else "all figures are up to date")
        return 1 if stale else 0
    for folder, runs in groups().items():
        for path, plotted in figures(folder, runs):
            plotted.savefig(path, dpi=120)
            print(path.relative_to(ROOT), flush=True)
    for path in sorted((RESULTS / "bench").glob("*.json")):
        timings = json.loads(path.read_text())
        if path.stem == "scaling":
            plotted = scaling.figure(timings)
        elif any("ours" in row for row in timings["rows"]):
            plotted = bench.figure(timings["rows"], timings)
        else:
            continue
        plotted.savefig(path.with_suffix(".png"), dpi=120)
        print(path.with_suffix(".png").relative_to(ROOT), flush=True)
    notes.write_text(json.dumps(now, indent=2, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
