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
from matplotlib.figure import Figure

from autograd import backend
from minisets import ISAB, SAB
from minisets.nn import Module
from tasks.harness import machine
from tasks.harness.options import Settings, flag, option
from tasks.harness.run import WEIGHTS, Run, say, stream
from tasks.harness.run_folder import Folder

D_IN, D, HEADS, M = 3, 64, 8, 4


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    sets: int = option(
        10_000, "report the seconds for so many sets (timed on fewer, and scaled)", paper=10_000, least=1
    )
    batch: int = option(1, "sets in one call", least=1)
    n_min: int = option(10, "the smallest set", least=1)
    n_sab: int = option(2_000, "the largest set for SAB; larger ones did not fit the paper's GPU", paper=2_000, least=1)
    n_isab: int = option(50_000, "the largest set for ISAB", least=1)
    seconds: float = option(2.0, "time to spend on each size")
    threshold: int = option(
        500, "fit the growth to sets of at least this size; below, calls cost more than numbers", least=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_sab", "n_isab"):
            low, high = self.n_min, getattr(self, name)
            self.require(low <= high, f"--n-min {low} is more than {flag(name)} {high}")


TITLE = "Runtime of SAB(64, 8) and ISAB₄(64, 8)"
LABELS = QUICK_LABELS = ()
PRESETS = {"quick": {"n_isab": 10_000, "seconds": 0.5}, "paper": {}}
COLUMNS = {
    "SAB time": "SAB time ~ n^",
    "ISAB time": "ISAB time ~ n^",
    "SAB memory": "SAB memory ~ n^",
    "ISAB memory": "ISAB memory ~ n^",
}
REFERENCES: dict[str, dict[str, str]] = {}
REFERENCE_OPTIONS = ()
NOTES = (
    "Exponents fitted to forward and backward together.  The paper has a figure and no numbers.",
    "Time depends on the machine: result.json names it.",
)


# ---- measuring ----------------------------------------------------------------------------------------------------


def block(name: str, config: Config) -> Module:
    rng = stream(config.seed, WEIGHTS)
    made = SAB(D_IN, D, HEADS, rng=rng) if name == "SAB" else ISAB(D_IN, D, HEADS, M, rng=rng)
    return made.astype(config.dtype).to(config.device)


def sizes(low: int, high: int) -> list[int]:
    """10, 20, 50, 100, …: from low to high, both included."""
    series = {digit * 10**power for power in range(9) for digit in (1, 2, 5)}
    return sorted({n for n in series if low < n < high} | {low, high})


def measure(net: Module, n: int, config: Config) -> dict[str, float]:
    """Seconds for one set, forward (with the graph that backward would need) and with backward; bytes at the peak."""
    X = backend.to_device(np.zeros((config.batch, n, D_IN), dtype=config.dtype), config.device)

    def forward() -> Any:
        return net(X)

    def step() -> None:
        for p in net.parameters():
            p.grad = None
        net(X).sum().backward()

    step()  # the first call pays for what is loaded and compiled
    return {
        "forward": _seconds(forward, config) / config.batch,
        "both": _seconds(step, config) / config.batch,
        "memory": machine.peak_memory(step, config.device) / config.batch,
    }


def _seconds(function: Callable[[], Any], config: Config) -> float:
    """The median of as many calls as fit the time, at least three."""
    times, end = [], time.perf_counter() + config.seconds / 2
    while len(times) < 3 or time.perf_counter() < end:
        before = time.perf_counter()
        function()
        machine.synchronize(config.device)
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def train(config: Config, run: Run) -> dict[str, Any]:
    """Nothing is trained here; sizes that were measured before an interruption are not measured again."""
    run.folder.rewind(sys.maxsize)
    points = run.folder.lines()
    run.seconds = sum(point.get("spent", 0) for point in points)
    largest = {"SAB": config.n_sab, "ISAB": config.n_isab}
    plan = [(name, n) for name, high in largest.items() for n in sizes(config.n_min, high)]
    say(f"  {'':5}{'n':>7}  {f'seconds for {config.sets:,} sets':>24}  {'with backward':>14}  {'MiB at peak':>12}")
    for i, (name, n) in enumerate(plan[len(points) :], start=len(points) + 1):
        begun = time.perf_counter()
        point = {"step": i, "block": name, "n": n, **measure(block(name, config), n, config)}
        point["spent"] = time.perf_counter() - begun
        run.folder.append(point)
        run.seconds += point["spent"]
        points.append(point)
        forward, step, memory = point["forward"] * config.sets, point["both"] * config.sets, point["memory"] / 2**20
        say(f"  {name:5}{n:7,}  {forward:24,.1f}  {step:14,.1f}  {memory:12.2f}")
    exponents = {
        f"{name} {what}": exponent([p for p in points if p["block"] == name], key, config.threshold)
        for what, key in (("time", "both"), ("memory", "memory"))
        for name in ("SAB", "ISAB")
    }
    return {name: value for name, value in exponents.items() if value is not None} | {"points": points}


def exponent(points: list[dict[str, Any]], key: str, threshold: int) -> float | None:
    """a of the line through log y = a log n + b, by least squares; None if fewer than two sizes count."""
    large = [(p["n"], p[key]) for p in points if p["n"] >= threshold]
    if len(large) < 2:
        return None
    n, y = np.log(np.array(large, dtype=float)).T
    return float(np.polyfit(n, y, 1)[0])


# ---- figure -------------------------------------------------------------------------------------------------------


def runtime_figure(runs: list[Folder]) -> Figure:
    """The supplement's figure, with memory beside it; of several runs the last."""
    about, result = runs[-1].about(), runs[-1].outcome()["metrics"]
    sets = about["options"]["sets"]
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, label, color in (("SAB", "SAB(64, 8)", "#cc3311"), ("ISAB", "ISAB₄(64, 8)", "#0077bb")):
        points = [p for p in result["points"] if p["block"] == name]
        n, dots = [p["n"] for p in points], {"color": color, "marker": "o", "markersize": 3}
        for key, text, style in (("both", "forward and backward", "-"), ("forward", "forward", ":")):
            fit = f", grows as n^{result[f'{name} time']:.2f}" if key == "both" and f"{name} time" in result else ""
            left.plot(n, [p[key] * sets for p in points], style, **dots, label=f"{label} {text}{fit}")
        fit = f", grows as n^{result[f'{name} memory']:.2f}" if f"{name} memory" in result else ""
        right.plot(n, [p["memory"] / 2**20 for p in points], "-", **dots, label=f"{label}{fit}")
    left.set(xlabel="size of the set", ylabel=f"seconds for {sets:,} sets", xscale="log", yscale="log")
    right.set(xlabel="size of the set", ylabel="peak memory of one set (MiB)", xscale="log", yscale="log")
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.set_ylim(top=axes.get_ylim()[1] * 12)  # room for the legend
        axes.legend(fontsize=8, loc="upper left")
    device = about["machine"]["processor"] if about["options"]["device"] == "cpu" else about["options"]["device"]
    figure.suptitle(f"Runtime of one block on sets of zeros ({device}, {about['options']['dtype']})", fontsize=10)
    return figure


FIGURES = {"runtime": runtime_figure}


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "runtime", *sys.argv[1:]]))
