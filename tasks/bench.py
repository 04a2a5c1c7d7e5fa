"""How long a training step takes: ours, its matrix products alone, and PyTorch's where it is installed.

Nine networks of the paper.  A step is forward, loss = mean y², backward and Adam.  Each contestant is a process of its
own, and they take their steps in turn, so that whatever else the machine does befalls all of them.  Before that they
start from the same weights and must agree on the losses of their first steps.

    minisets bench                              all nine
    minisets bench --plain                      and with our plain forms
    minisets bench runtime_sab --n 500 1000 2000 5000
    minisets bench --trainers                   what trainers spend on data, logging and saving
    pip install 'minisets[torch]'               for PyTorch beside ours
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from autograd import backend
from minisets import ISAB, PMA, SAB, rFF
from minisets.nn import Linear, Module, Sequential
from minisets.optim import Adam
from tasks.folder import Folder, environment
from tasks.options import Parser, UsageError, reader
from tasks.overhead import trainers


@dataclass(frozen=True)
class Shape:
    """A network and its data: `sets` sets of n vectors of d_in, an encoder of width d, k seeds, SABs, and d_out."""

    encoder: str
    sets: int
    n: int
    d_in: int
    d: int
    heads: int
    seeds: int
    sabs: int
    d_out: int
    m: int = 0
    layers: int = 2


SHAPES = {
    "max_regression": Shape("SAB", 128, 10, 1, 64, 4, seeds=1, sabs=0, d_out=1),
    "clustering_sab": Shape("SAB", 10, 300, 2, 128, 4, seeds=4, sabs=1, d_out=5),
    "clustering_isab": Shape("ISAB", 10, 300, 2, 128, 4, seeds=4, sabs=1, d_out=5, m=16),
    "clustering_rff": Shape("rFF", 10, 300, 2, 128, 4, seeds=4, sabs=1, d_out=5, layers=4),
    "large_isab": Shape("ISAB", 10, 3000, 2, 128, 4, seeds=6, sabs=1, d_out=5, m=32),
    "cloud_100": Shape("ISAB", 64, 100, 3, 256, 4, seeds=1, sabs=0, d_out=40, m=16),
    "cloud_1000": Shape("ISAB", 16, 1000, 3, 256, 4, seeds=1, sabs=0, d_out=40, m=16),
    "runtime_sab": Shape("SAB", 1, 2000, 3, 64, 8, seeds=0, sabs=0, d_out=0, layers=1),
    "runtime_isab": Shape("ISAB", 1, 5000, 3, 64, 8, seeds=0, sabs=0, d_out=0, m=4, layers=1),
}


# ---- ours -----------------------------------------------------------------------------------------------------------


def network(shape: Shape, rng: np.random.Generator) -> Module:
    s, widths = shape, [shape.d_in, *[shape.d] * (shape.layers - 1)]
    match s.encoder:
        case "SAB":
            layers = [SAB(a, s.d, s.heads, rng=rng) for a in widths]
        case "ISAB":
            layers = [ISAB(a, s.d, s.heads, s.m, rng=rng) for a in widths]
        case "rFF":
            layers = [rFF(s.d_in, *[s.d] * s.layers, rng=rng)]
    if s.seeds:
        layers += [PMA(s.d, s.heads, s.seeds, rng=rng), *(SAB(s.d, s.d, s.heads, rng=rng) for _ in range(s.sabs))]
        layers += [Linear(s.d, s.d_out, rng=rng)]
    return Sequential(*layers)


class Ours:
    """Our training step."""

    def __init__(self, shape: Shape) -> None:
        backend.keep_memory()
        rng = np.random.default_rng(0)
        self.net = network(shape, rng)
        self.optimizer = Adam(self.net.parameters(), lr=1e-3)
        self.X = rng.standard_normal((shape.sets, shape.n, shape.d_in), dtype="float32")

    def weights(self) -> dict[str, np.ndarray]:
        return self.net.state_dict()

    def step(self) -> float:
        self.optimizer.zero_grad()
        loss = (self.net(self.X) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Products:
    """The matrix products of a step and nothing else: what a step cannot be faster than, with this BLAS."""

    LARGEST = 2**24  # numbers in a matrix: larger products are made row block by row block, so that they fit in memory

    def __init__(self, shape: Shape) -> None:
        rng = np.random.default_rng(0)
        self.pairs = []  # two matrices, or stacks of them, and how often to multiply them
        for batch, a, b, c in products(shape):
            times, rows = 1, a
            if batch * a * max(b, c) > self.LARGEST:
                rows = max(1, min(a, self.LARGEST // max(b, c)))
                batch, times = 1, batch * math.ceil(a / rows)
            sizes = ((batch, rows, b), (batch, b, c)) if batch > 1 else ((rows, b), (b, c))
            self.pairs.append((*(rng.standard_normal(size, dtype="float32") for size in sizes), times))

    def step(self) -> float:
        for x, y, times in self.pairs:
            for _ in range(times):
                x @ y
        return 0.0


def products(shape: Shape) -> Iterator[tuple[int, int, int, int]]:
    """(batch, a, b, c) for each product (a × b)(b × c) of a step, forward and backward."""
    s, B = shape, shape.sets

    def linear(rows: int, d_in: int, d_out: int, data: bool = False) -> Iterator[tuple[int, int, int, int]]:
        yield 1, rows, d_in, d_out
        yield 1, d_in, rows, d_out  # gW
        if not data:  # the data set wants no gradient
            yield 1, rows, d_out, d_in

    def mab(B_x: int, n: int, d_x: int, m: int, d_y: int, x_data: bool, y_data: bool) -> Iterator:
        rows_x, rows_y, e = B_x * n, B * m, s.d // s.heads
        yield from linear(rows_x, d_x, s.d, x_data)
        for _ in range(2):
            yield from linear(rows_y, d_y, s.d, y_data)
        for sizes in ((n, e, m), (n, m, e), (m, n, e), (n, e, m), (n, m, e), (m, n, e)):
            yield B * s.heads, *sizes
        yield from linear(B * n, s.d, s.d)
        if d_x != s.d:
            yield from linear(rows_x, d_x, s.d, x_data)
        yield from linear(B * n, s.d, s.d)

    for i in range(s.layers):
        d, data = (s.d_in, True) if i == 0 else (s.d, False)
        if s.encoder == "rFF":
            yield from linear(B * s.n, d, s.d, data)
        elif s.encoder == "SAB":
            yield from mab(B, s.n, d, s.n, d, data, data)
        else:
            yield from mab(1, s.m, s.d, s.n, d, False, data)
            yield from mab(B, s.n, d, s.m, s.d, data, False)
    if s.seeds:
        yield from mab(1, s.seeds, s.d, s.n, s.d, False, False)
        for _ in range(s.sabs):
            yield from mab(B, s.seeds, s.d, s.seeds, s.d, False, False)
        yield from linear(B * s.seeds, s.d, s.d_out)


# ---- contestants, each in a process of its own ----------------------------------------------------------------------


def work(kind: str, shape: Shape, weights: Path) -> None:
    """The child's part: answer each line on standard input with a line of JSON."""
    if kind.startswith("torch"):
        from tasks.torch_peer import Peer

        contestant: Any = Peer(shape, kind.removeprefix("torch "), weights)
    else:
        contestant = Products(shape) if kind == "products" else Ours(shape)  # "plain" is ours in another environment
        if kind == "ours":
            np.savez(weights, X=contestant.X, **contestant.weights())
    before = _resident()
    print("ready", flush=True)
    for _ in sys.stdin:
        turn = []
        for _ in range(TURN):
            start = time.perf_counter()
            loss = contestant.step()
            seconds = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            turn.append({"ms": seconds * 1e3, "loss": loss, "peak": peak, "more": peak - before})
        print(json.dumps(turn), flush=True)


def _resident() -> int:
    """Bytes of memory that the process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Contestant:
    """The parent's side of a process that takes steps when told."""

    def __init__(self, kind: str, name: str, n: int, weights: Path) -> None:
        words = [sys.executable, "-m", "tasks.bench", "--work", kind, name, str(n), str(weights)]
        plain = {"MINISETS_PLAIN": "1"} if kind == "plain" else {}
        self.kind, self.turns = kind, []
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | plain
        )
        if self.process.stdout.readline() != "ready\n":
            raise UsageError(f"the process for {kind} did not start")

    def turn(self) -> None:
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise UsageError(f"the process for {self.kind} died, perhaps for want of memory")
        self.turns.append(json.loads(answer))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


REST = 0.1  # seconds between two turns: threads of BLAS and OpenMP go on spinning for a while after their work
TURN = 4  # steps in a turn, of which the first is not counted: it finds the caches full of what others did
COMPARED = 3  # first steps whose losses must agree


def race(name: str, shape: Shape, steps: int, with_torch: bool, with_plain: bool = False) -> dict[str, Any]:
    """All contestants on one network, in turn."""
    kinds = ["ours", "products", *(["torch eager", "torch sdpa"] if with_torch else [])]
    kinds += ["plain"] if with_plain else []
    with tempfile.TemporaryDirectory() as place:
        contestants = [Contestant(kind, name, shape.n, Path(place) / "weights.npz") for kind in kinds]
        try:
            for _ in range(1 + math.ceil(steps / (TURN - 1))):
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
    row["sets_per_second"] = shape.sets / row["ours"]["ms"] * 1e3
    peers = [row[kind]["ms"] for kind in kinds if kind.startswith("torch")]
    row["ratio"] = row["ours"]["ms"] / min(peers) if peers else None
    return row


# ---- the command ----------------------------------------------------------------------------------------------------


def main(argv: list[str]) -> int:
    if argv[:1] == ["--work"]:
        kind, name, n, weights = argv[1:]
        work(kind, replace(SHAPES[name], n=int(n)), Path(weights))
        return 0
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
    parser.add_argument("--plain", action="store_true", help="our plain forms as well")
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
    folder, rows = Folder(given.out), []
    folder.make()
    if given.trainers:
        folder.write(given.out / "trainers.json", {"rows": trainers(), **environment()})
        return 0
    print(HEAD + (f"{'plain ms':>10}" if given.plain else ""), flush=True)
    for name in given.networks or SHAPES:
        for n in given.n or [SHAPES[name].n]:
            with_torch = installed and given.torch is not False
            rows.append(race(name, replace(SHAPES[name], n=n), given.steps, with_torch, given.plain))
            print(line(rows[-1]), flush=True)
    exponents = growth(rows)
    for text in exponents:
        print(text)
    folder.write(given.out / "bench.json", {"rows": rows, "growth": exponents, "steps": given.steps, **environment()})
    print(f"figure: {folder.draw('bench', figure(rows))}")
    return 0


HEAD = (
    f"{'network':16}{'n':>7}{'ours ms':>10}{'products':>10}{'eager':>10}{'sdpa':>10}{'ratio':>7}"
    f"{'sets/s':>10}{'MiB':>8}{'torch MiB':>11}"
)


def line(row: dict[str, Any]) -> str:
    eager, sdpa = row.get("torch eager"), row.get("torch sdpa")
    cells = [
        f"{row['name']:16}{row['n']:7,}{row['ours']['ms']:10.2f}{row['products']['ms']:10.2f}",
        *(f"{peer['ms']:10.2f}" if peer else f"{'–':>10}" for peer in (eager, sdpa)),
        f"{row['ratio']:7.2f}" if row["ratio"] else f"{'–':>7}",
        f"{row['sets_per_second']:10,.0f}{row['ours']['step_mib']:8.0f}",
        f"{min(eager['step_mib'], sdpa['step_mib']):11.0f}" if eager else f"{'–':>11}",
        f"{row['plain']['ms']:10.2f}" if "plain" in row else "",
    ]
    return "".join(cells)


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
        "products": ("matrix products alone", "#bbbbbb"),
        "ours": ("ours", "#0077bb"),
        "torch sdpa": ("PyTorch, SDPA", "#ee7733"),
        "torch eager": ("PyTorch, eager", "#cc3311"),
        "plain": ("ours, plain forms", "#99ccee"),
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
