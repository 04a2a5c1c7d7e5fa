"""Runtime of SAB and ISAB: how time and memory grow with the size of a set.

The supplement's benchmark: one SAB(64, 8) and one ISAB₄(64, 8) on sets of n three-dimensional zeros.  Attention among
all pairs grows with n², attention through four inducing points with n.

    python -m tasks.runtime --preset quick
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import backend
from minisets import ISAB, SAB
from minisets.nn import Module
from tasks.harness import machine
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import Settings, flag, option
from tasks.harness.progress import report
from tasks.harness.run import WEIGHTS, Run, rng_for
from tasks.plots.runtime import runtime_figure

D_IN, D, HEADS, M = 3, 64, 8, 4


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    sets: int = option(
        help="report the seconds for this many sets (measured on fewer, and scaled)", paper=10_000, least=1
    )
    batch: int = option(1, "sets per call", least=1)
    n_min: int = option(10, "size of the smallest set", least=1)
    n_sab: int = option(
        help="size of the largest set for SAB; larger ones did not fit the paper's GPU", paper=2_000, least=1
    )
    n_isab: int = option(50_000, "size of the largest set for ISAB", least=1)
    seconds: float = option(2.0, "seconds to spend on each size")
    threshold: int = option(500, "fit the growth to sets of at least this size; below it, overhead dominates", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_sab", "n_isab"):
            low, high = self.n_min, getattr(self, name)
            self.require(low <= high, f"--n-min {low} is more than {flag(name)} {high}")


# ---- measuring ----------------------------------------------------------------------------------------------------


def block(name: str, config: Config) -> Module:
    rng = rng_for(config.seed, WEIGHTS)
    made = SAB(D_IN, D, HEADS, rng=rng) if name == "SAB" else ISAB(D_IN, D, HEADS, M, rng=rng)
    return made.astype(config.dtype).to(config.device)


def sizes(low: int, high: int) -> list[int]:
    """10, 20, 50, 100, …: from low to high, both included."""
    series = {digit * 10**power for power in range(9) for digit in (1, 2, 5)}
    return sorted({n for n in series if low < n < high} | {low, high})


def measure(net: Module, n: int, config: Config) -> dict[str, float]:
    """Seconds per set for the forward pass (recording the graph) and for forward and backward; peak bytes."""
    X = backend.to_device(np.zeros((config.batch, n, D_IN), dtype=config.dtype), config.device)

    def forward() -> Any:
        return net(X)

    def step() -> None:
        for p in net.parameters():
            p.grad = None
        net(X).sum().backward()

    step()  # the first call includes loading and compiling
    return {
        "forward": _seconds(forward, config) / config.batch,
        "both": _seconds(step, config) / config.batch,
        "memory": machine.peak_memory(step, config.device) / config.batch,
    }


def _seconds(function: Callable[[], Any], config: Config) -> float:
    """The median over as many calls as fit into the time, at least three."""
    times, end = [], time.perf_counter() + config.seconds / 2
    while len(times) < 3 or time.perf_counter() < end:
        before = time.perf_counter()
        function()
        machine.synchronize(config.device)
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def train(config: Config, run: Run) -> dict[str, Any]:
    """Nothing is trained here; sizes measured before an interruption are not measured again."""
    points = run.folder.rewind(sys.maxsize)
    run.seconds = sum(point.get("spent", 0) for point in points)
    largest = {"SAB": config.n_sab, "ISAB": config.n_isab}
    plan = [(name, n) for name, high in largest.items() for n in sizes(config.n_min, high)]
    report(f"  {'':5}{'n':>7}  {f'seconds for {config.sets:,} sets':>24}  {'with backward':>14}  {'MiB at peak':>12}")
    for i, (name, n) in enumerate(plan[len(points) :], start=len(points) + 1):
        begun = time.perf_counter()
        point = {"step": i, "block": name, "n": n, **measure(block(name, config), n, config)}
        point["spent"] = time.perf_counter() - begun
        run.folder.append(point)
        run.seconds += point["spent"]
        points.append(point)
        forward, step, memory = point["forward"] * config.sets, point["both"] * config.sets, point["memory"] / 2**20
        report(f"  {name:5}{n:7,}  {forward:24,.1f}  {step:14,.1f}  {memory:12.2f}")
    exponents = {
        f"{name} {what}": exponent([p for p in points if p["block"] == name], key, config.threshold)
        for what, key in (("time", "both"), ("memory", "memory"))
        for name in ("SAB", "ISAB")
    }
    return {name: value for name, value in exponents.items() if value is not None} | {"points": points}


def exponent(points: list[dict[str, Any]], key: str, threshold: int) -> float | None:
    """The slope a of log y = a log n + b, by least squares; None with fewer than two sizes above the threshold."""
    large = [(p["n"], p[key]) for p in points if p["n"] >= threshold]
    if len(large) < 2:
        return None
    n, y = np.log(np.array(large, dtype=float)).T
    return float(np.polyfit(n, y, 1)[0])


EXPERIMENT = Experiment(
    name="runtime",
    title="Runtime of SAB(64, 8) and ISAB₄(64, 8)",
    description=__doc__,
    config=Config,
    presets={"quick": {"n_isab": 10_000, "seconds": 0.5}, "paper": {}},
    train=train,
    table=Table(
        columns={
            "SAB time": "exponent of SAB's time",
            "ISAB time": "exponent of ISAB's time",
            "SAB memory": "exponent of SAB's memory",
            "ISAB memory": "exponent of ISAB's memory",
        },
        notes=(
            "Exponents a of growth as nᵃ, fitted to forward and backward together. The paper has a figure and no "
            "numbers. Time depends on the machine: result.json describes it."
        ),
    ),
    figures={"runtime": runtime_figure},
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "runtime", *sys.argv[1:]]))
