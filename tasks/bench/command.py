"""How long a training step takes: ours, its matrix products alone, and PyTorch's where it is installed.

Ten networks of the paper.  A step is forward, loss = mean y², backward and Adam.  Each contestant is a process of its
own, and they take their steps in turn, so that whatever else the machine does befalls all of them.  Before that they
start from the same weights and must agree on the losses of their first steps.

    minisets bench                              all ten
    minisets bench --story                      ours with one thing less each: threads, orders of products, ...
    minisets bench runtime_sab --n 500 1000 2000 5000
    minisets bench --against ../before          ours and the code of another checkout
    minisets bench --trainers                   what trainers spend on data, logging and saving
    pip install 'minisets[torch]'               for PyTorch beside ours
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
from matplotlib.figure import Figure

from tasks.bench.trainers import trainers
from tasks.bench.worker import SHAPES, TURN, WITHOUT, Contestant, Shape
from tasks.harness.errors import UsageError
from tasks.harness.machine import environment
from tasks.harness.parser import Parser, reader
from tasks.harness.run_folder import RunFolder

REST = 0.3  # seconds between two turns: the threads of BLAS and OpenMP go on spinning for a while after their work
COMPARED = 3  # first steps whose losses must agree


def race(name: str, shape: Shape, steps: int, kinds: Sequence[str], checkout: Path | None = None) -> dict[str, Any]:
    """All contestants on one network, in turn; ours is the first of them."""
    with tempfile.TemporaryDirectory() as place:
        contestants = [Contestant(kind, name, shape.n, Path(place) / "weights.npz") for kind in kinds]
        if checkout:
            contestants.append(Contestant("other", name, shape.n, Path(place) / "other.npz", checkout))
        try:
            for _ in range(1 + math.ceil(steps / (TURN - 1))):  # the first turn is not counted
                for contestant in contestants:
                    time.sleep(REST)
                    contestant.turn()
        finally:
            for contestant in contestants:
                contestant.close()
    losses = {c.kind: [s["loss"] for s in c.turns[0][:COMPARED]] for c in contestants if c.kind != "products"}
    for kind, values in losses.items():
        if not np.allclose(values, losses["ours"], rtol=1e-3):
            raise UsageError(f"{name}: ours and {kind} do not compute the same: losses {losses['ours']} and {values}")
    row: dict[str, Any] = {"name": name, "n": shape.n, "sets": shape.sets}
    for contestant in contestants:
        counted = [step for turn in contestant.turns[1:] for step in turn[1:]]
        row[contestant.kind] = {
            "ms": statistics.median(s["ms"] for s in counted),
            "peak_mib": counted[-1]["peak"] / 2**20,
            "step_mib": counted[-1]["more"] / 2**20,
        }
    if checkout:
        row["against"] = row["ours"]["ms"] / row["other"]["ms"]
    row["sets_per_second"] = shape.sets / row["ours"]["ms"] * 1e3
    peers = [row[kind]["ms"] for kind in kinds if kind.startswith("torch")]
    row["ratio"] = row["ours"]["ms"] / min(peers) if peers else None
    return row


# ---- the command ----------------------------------------------------------------------------------------------------


def main(argv: list[str]) -> int:
    look = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = Parser(prog="minisets bench", **look)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"{', '.join(SHAPES)} (default: all)")
    parser.add_argument(
        "--n", nargs="+", type=reader(int), metavar="N", help="sizes of the sets instead of the paper's"
    )
    parser.add_argument("--steps", type=reader(int), default=15, help="steps to take the median of (default: 15)")
    parser.add_argument(
        "--torch", action=argparse.BooleanOptionalAction, help="PyTorch as well (default: if installed)"
    )
    parser.add_argument("--story", action="store_true", help="instead of PyTorch, our step with one thing less each")
    parser.add_argument("--against", type=Path, metavar="DIR", help="instead of PyTorch, another checkout of minisets")
    parser.add_argument("--trainers", action="store_true", help="what trainers spend beside their steps, and no more")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"), metavar="DIR", help="default: runs/bench")
    given = parser.parse_args(argv)
    unknown = [name for name in given.networks if name not in SHAPES]
    if unknown:
        raise UsageError(f"there is no network {unknown[0]!r}; the networks are {', '.join(SHAPES)}")
    if given.steps < 1 or any(n < 1 for n in given.n or []):
        raise UsageError("--steps and --n must be at least 1")
    installed = importlib.util.find_spec("torch") is not None
    if given.torch and not installed:
        raise UsageError("PyTorch is not installed; pip install 'minisets[torch]', or leave --torch out")
    if given.against and not (given.against / "tasks" / "contestants.py").is_file():
        raise UsageError(f"--against takes a checkout of minisets; {given.against} has no tasks/bench/worker.py")
    folder, rows = RunFolder(given.out), []
    folder.make()
    if given.trainers:
        folder.write(given.out / "trainers.json", {"rows": trainers(), **environment()})
        return 0
    peers = ["torch eager", "torch sdpa"] if installed and given.torch is not False else []
    kinds = ["ours", *WITHOUT] if given.story else ["ours"] if given.against else ["ours", "products", *peers]
    line = story if given.story else against_checkout if given.against else against_peers
    print(line(None), flush=True)
    for name in given.networks or SHAPES:
        for n in given.n or [SHAPES[name].n]:
            rows.append(race(name, replace(SHAPES[name], n=n), given.steps, kinds, given.against))
            print(line(rows[-1]), flush=True)
    exponents = growth(rows)
    for text in exponents:
        print(text)
    name = "story" if given.story else "against" if given.against else "growth" if given.n else "bench"
    folder.write(given.out / f"{name}.json", {"rows": rows, "growth": exponents, "steps": given.steps, **environment()})
    print(f"figure: {folder.save_figure(name, figure(rows))}")
    return 0


def against_peers(row: dict[str, Any] | None) -> str:
    """A line of the table, or its head."""
    if row is None:
        return (
            f"{'network':16}{'n':>7}{'ours ms':>10}{'products':>10}{'eager':>10}{'sdpa':>10}{'ratio':>7}"
            f"{'sets/s':>10}{'MiB':>8}{'torch MiB':>11}"
        )
    eager, sdpa = row.get("torch eager"), row.get("torch sdpa")
    cells = [
        f"{row['name']:16}{row['n']:7,}{row['ours']['ms']:10.2f}{row['products']['ms']:10.2f}",
        *(f"{peer['ms']:10.2f}" if peer else f"{'–':>10}" for peer in (eager, sdpa)),
        f"{row['ratio']:7.2f}" if row["ratio"] else f"{'–':>7}",
        f"{row['sets_per_second']:10,.0f}{row['ours']['step_mib']:8.0f}",
        f"{min(eager['step_mib'], sdpa['step_mib']):11.0f}" if eager else f"{'–':>11}",
    ]
    return "".join(cells)


def against_checkout(row: dict[str, Any] | None) -> str:
    """Ours and that of another checkout, and the ratio of the two."""
    if row is None:
        return f"{'network':16}{'n':>7}{'ours ms':>10}{'other ms':>10}{'ratio':>7}{'MiB':>8}{'other MiB':>11}"
    ours, other = row["ours"], row["other"]
    return (
        f"{row['name']:16}{row['n']:7,}{ours['ms']:10.2f}{other['ms']:10.2f}{row['against']:7.2f}"
        f"{ours['step_mib']:8.0f}{other['step_mib']:11.0f}"
    )


def story(row: dict[str, Any] | None) -> str:
    """How much longer our step takes with one thing less."""
    if row is None:
        return f"{'network':16}{'n':>7}{'ours ms':>10}" + "".join(f"{kind:>19}" for kind in WITHOUT)
    ours = row["ours"]["ms"]
    return f"{row['name']:16}{row['n']:7,}{ours:10.2f}" + "".join(
        f"{row[kind]['ms'] / ours:18.2f}×" for kind in WITHOUT
    )


def growth(rows: list[dict[str, Any]]) -> list[str]:
    """How time and memory grow with n, for networks measured at several sizes."""
    said = []
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = [row for row in rows if row["name"] == name]
        if len(mine) > 2:
            n = np.log([row["n"] for row in mine])
            for what, key in (("time", "ms"), ("memory", "step_mib")):
                slope = np.polyfit(n, np.log([max(row["ours"][key], 1e-3) for row in mine]), 1)[0]
                said.append(f"{name}: {what} grows as n^{slope:.2f}")
    return said


def figure(rows: list[dict[str, Any]]) -> Figure:
    """Bars of milliseconds, a group for each network."""
    kinds = {
        "products": ("the equations' products alone", "#bbbbbb"),
        "ours": ("ours", "#0077bb"),
        "other": ("the other checkout", "#999933"),
        "torch sdpa": ("PyTorch, SDPA", "#ee7733"),
        "torch eager": ("PyTorch, eager", "#cc3311"),
        "one thread": ("one thread", "#33bbee"),
        "textbook order": ("textbook order", "#009988"),
        "memory given back": ("memory given back", "#ee3377"),
        "plain forms": ("plain forms", "#ccbb44"),
    }
    present = [kind for kind in kinds if kind in rows[0]]
    drawn = Figure(figsize=(max(6, 1.3 * len(rows) + 2), 4.4), layout="constrained")
    axes = drawn.subplots()
    for i, kind in enumerate(present):
        places = np.arange(len(rows)) + (i - (len(present) - 1) / 2) * 0.8 / len(present)
        label, color = kinds[kind]
        axes.bar(places, [row[kind]["ms"] for row in rows], 0.8 / len(present), label=label, color=color)
    axes.set_xticks(range(len(rows)), [f"{row['name']}\nn = {row['n']:,}" for row in rows], fontsize=7)
    axes.set(yscale="log", ylabel="milliseconds for a training step (median)")
    axes.legend(fontsize=8)
    return drawn


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
