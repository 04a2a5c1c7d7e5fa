"""How long a training step takes: ours, its matrix products alone, and PyTorch's if it is installed.

Ten networks of the paper.  A step is forward, loss = mean y², backward and Adam.  Each competitor runs in its own
process, and they take turns, so that other load on the machine affects all of them.  They start from the same weights,
and the losses of their first steps must agree.

    minisets bench                              all ten networks
    minisets bench --ablate                     our step without one optimization at a time
    minisets bench runtime_sab --n 500 1000 2000 5000
    minisets bench --against ../before          our step and that of another checkout
    minisets bench --trainers                   the time that trainers spend on data, logging and saving
    minisets bench --scaling                    what sharing a step among processes gains: docs/24-scaling.md
    minisets bench --scaling --plot-only --latency 2e-6     the figure again, for another network
    pip install 'minisets[torch]'               to compare with PyTorch
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autograd import threads
from tasks.bench import scaling
from tasks.bench.networks import SHAPES, Shape
from tasks.bench.tables import ablation_line, checkout_line, growth, pytorch_line
from tasks.bench.trainers import measure_trainers
from tasks.bench.worker import ABLATIONS, STEPS_PER_TURN, Worker, worker_module
from tasks.harness.errors import UsageError
from tasks.harness.machine import environment
from tasks.harness.parser import Parser, hint, reader
from tasks.harness.run_folder import RunFolder
from tasks.plots.bench import figure

PAUSE = 0.3  # seconds between turns: threads of BLAS and OpenMP keep spinning for a while after their work
COMPARED_STEPS = 3  # the first steps, whose losses must agree


def main(argv: list[str]) -> int:
    given = parse(argv)
    folder = RunFolder(given.out)
    folder.make()
    if given.trainers:
        folder.write(given.out / "trainers.json", {"rows": measure_trainers(), **environment()})
        return 0
    if given.scaling:
        print(f"figure: {scaling.run(folder, given)}")
        return 0
    name, kinds, line = "growth" if given.n else "bench", ["ours", "products"], pytorch_line
    if given.ablate:
        name, kinds, line = "ablation", ["ours", *ABLATIONS], ablation_line
    elif given.against:
        name, kinds, line = "against", ["ours"], checkout_line
    elif given.torch:
        kinds += ["torch eager", "torch sdpa"]
    rows = []
    print(line(None), flush=True)
    for network in given.networks or SHAPES:
        for n in given.n or [SHAPES[network].n]:
            rows.append(compare(network, replace(SHAPES[network], n=n), given.steps, kinds, given.against))
            print(line(rows[-1]), flush=True)
    exponents = growth(rows)
    for text in exponents:
        print(text)
    about = {"growth": exponents, "steps": given.steps, "threads": threads.count(), **environment()}
    folder.write(given.out / f"{name}.json", {"rows": rows, **about})
    print(f"figure: {folder.save_figure(name, figure(rows, about))}")
    return 0


def parse(argv: list[str]) -> argparse.Namespace:
    """The options, checked; `torch` is True if PyTorch is to be timed."""
    parser = Parser(prog="minisets bench", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"{', '.join(SHAPES)} (default: all)")
    parser.add_argument("--n", nargs="+", type=reader(int), metavar="N", help="set sizes (default: the paper's)")
    parser.add_argument("--steps", type=reader(int), default=15, help="steps to take the median of (default: 15)")
    text = "time PyTorch as well (default: if it is installed)"
    parser.add_argument("--torch", action=argparse.BooleanOptionalAction, help=text)
    text = "our step without one optimization at a time, instead of PyTorch"
    parser.add_argument("--ablate", action="store_true", help=text)
    text = "another checkout of minisets, instead of PyTorch"
    parser.add_argument("--against", type=Path, metavar="DIR", help=text)
    text = "only measure what trainers spend on data, logging and saving"
    parser.add_argument("--trainers", action="store_true", help=text)
    text = "only measure what sharing a step among processes gains; names experiments instead of networks"
    parser.add_argument("--scaling", action="store_true", help=text)
    text = "with --scaling: measure nothing, plot OUT/scaling.json"
    parser.add_argument("--plot-only", action="store_true", help=text)
    text = "with --scaling: seconds of latency of a cluster's network (default: {:g})"
    latency, bandwidth = scaling.CLUSTER.latency, scaling.CLUSTER.bandwidth
    parser.add_argument("--latency", type=reader(float), default=latency, help=text.format(latency))
    text = "with --scaling: its bytes per second (default: {:g})"
    parser.add_argument("--bandwidth", type=reader(float), default=bandwidth, help=text.format(bandwidth))
    parser.add_argument("--out", type=Path, default=Path("runs/bench"), metavar="DIR", help="default: runs/bench")
    given = parser.parse_args(argv)
    kind, known = ("experiment", scaling.EXPERIMENTS) if given.scaling else ("network", SHAPES)
    for name in given.networks:
        if name not in known:
            others = f"the {kind}s are {', '.join(known)}"
            raise UsageError(f"there is no {kind} {name!r}; {hint(name, known, others)}")
    if not (given.latency >= 0 and 0 < given.bandwidth < math.inf):
        raise UsageError("--latency must be at least 0, and --bandwidth a positive number")
    if given.steps < 1 or any(n < 1 for n in given.n or []):
        raise UsageError("--steps and --n must be at least 1")
    installed = importlib.util.find_spec("torch") is not None
    if given.torch and not installed:
        raise UsageError("PyTorch is not installed; pip install 'minisets[torch]', or leave out --torch")
    given.torch = installed if given.torch is None else given.torch
    if given.against:
        worker_module(given.against)  # refuse a folder that is not a checkout
    return given


def compare(name: str, shape: Shape, steps: int, kinds: Sequence[str], checkout: Path | None = None) -> dict[str, Any]:
    """Time all kinds of steps on one network, in turns; the first kind is ours."""
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for kind in kinds:
                workers.append(Worker(kind, name, shape.n, Path(folder) / "weights.npz"))
            if checkout:
                workers.append(Worker("other", name, shape.n, Path(folder) / "other.npz", checkout))
            for _ in range(1 + math.ceil(steps / (STEPS_PER_TURN - 1))):  # the first turn is not counted
                for worker in workers:
                    time.sleep(PAUSE)
                    worker.take_turn()
        finally:
            for worker in workers:
                worker.close()
    _require_equal_losses(name, workers)
    row: dict[str, Any] = {"name": name, "n": shape.n, "sets": shape.sets}
    for worker in workers:
        counted = [step for turn in worker.turns[1:] for step in turn[1:]]
        row[worker.kind] = {
            "ms": statistics.median(step["ms"] for step in counted),
            "peak_mib": counted[-1]["peak"] / 2**20,
            "step_mib": counted[-1]["more"] / 2**20,
        }
    if checkout:
        row["against"] = row["ours"]["ms"] / row["other"]["ms"]
    row["sets_per_second"] = shape.sets / row["ours"]["ms"] * 1e3
    torch = [row[kind]["ms"] for kind in kinds if kind.startswith("torch")]
    row["ratio"] = row["ours"]["ms"] / min(torch) if torch else None
    return row


def _require_equal_losses(name: str, workers: list[Worker]) -> None:
    losses = {
        worker.kind: [step["loss"] for step in worker.turns[0][:COMPARED_STEPS]]
        for worker in workers
        if worker.kind != "products"
    }
    for kind, values in losses.items():
        if not np.allclose(values, losses["ours"], rtol=1e-3):
            raise UsageError(f"{name}: the losses of ours and {kind} differ: {losses['ours']} and {values}")


if __name__ == "__main__":
    from tasks.harness.cli import main as command

    sys.exit(command(["bench", *sys.argv[1:]]))
