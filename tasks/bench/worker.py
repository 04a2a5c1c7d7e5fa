"""The contestants of the benchmark: ten networks of the paper, and who takes their training steps.

Each contestant is a process of its own, which takes a few steps whenever it is told to.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from autograd import Tensor, forms, threads
from minisets import ISAB, PMA, SAB, rFF
from minisets.nn import ConvNorm, Linear, Module, Sequential
from minisets.optim import Adam
from tasks.harness import machine
from tasks.harness.errors import UsageError


@dataclass(frozen=True)
class Shape:
    """A network and its data: `sets` sets of n vectors of d_in, an encoder of width d, k seeds, SABs, and d_out.

    With convs the elements are images of 1 × 28 × 28, of which so many Conv(64, 3, 2, BN, ReLU) make the vectors.
    """

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
    convs: int = 0


SIDE, CHANNELS = 28, 64  # of the images, and of what the convolutions make of them

SHAPES = {
    "max_regression": Shape("SAB", 128, 10, 1, 64, 4, seeds=1, sabs=0, d_out=1),
    "characters": Shape("SAB", 32, 8, 256, 64, 4, seeds=1, sabs=0, d_out=1, convs=4),
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


class Images(Module):
    """Each image of a set to a vector: (B, n, 1, 28, 28) -> (B, n, 256)"""

    def __init__(self, convs: int, rng: np.random.Generator) -> None:
        self.layers = [ConvNorm(CHANNELS if i else 1, CHANNELS, stride=2, rng=rng) for i in range(convs)]

    def forward(self, X: Any) -> Tensor:
        B, n, *image = X.shape
        X = X.reshape(B * n, *image)
        for layer in self.layers:
            X = layer(X)
        return X.reshape(B, n, X.size // (B * n))


def network(shape: Shape, rng: np.random.Generator) -> Module:
    s, widths = shape, [shape.d_in, *[shape.d] * (shape.layers - 1)]
    match s.encoder:
        case "SAB":
            layers = [SAB(a, s.d, s.heads, rng=rng) for a in widths]
        case "ISAB":
            layers = [ISAB(a, s.d, s.heads, s.m, rng=rng) for a in widths]
        case "rFF":
            layers = [rFF(s.d_in, *[s.d] * s.layers, rng=rng)]
    if s.convs:
        layers.insert(0, Images(s.convs, rng))
    if s.seeds:
        layers += [PMA(s.d, s.heads, s.seeds, rng=rng), *(SAB(s.d, s.d, s.heads, rng=rng) for _ in range(s.sabs))]
        layers += [Linear(s.d, s.d_out, rng=rng)]
    return Sequential(*layers)


def inputs(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Sets of vectors (B, n, d_in), or of images (B, n, 1, 28, 28)."""
    element = (1, SIDE, SIDE) if shape.convs else (shape.d_in,)
    return rng.standard_normal((shape.sets, shape.n, *element), dtype="float32")


class Ours:
    """Our training step."""

    def __init__(self, shape: Shape) -> None:
        machine.keep_memory()
        rng = np.random.default_rng(0)
        self.net = network(shape, rng)
        self.optimizer = Adam(self.net.parameters(), lr=1e-3)
        self.X = inputs(shape, rng)

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

    side = SIDE
    for i in range(s.convs):
        side = (side + 1) // 2
        yield from linear(B * s.n * side**2, 9 * (CHANNELS if i else 1), CHANNELS, data=i == 0)
    for i in range(s.layers):
        d, data = (s.d_in, not s.convs) if i == 0 else (s.d, False)
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


WITHOUT = {  # our step with one thing less
    "one thread": lambda: threads.use(1),
    "textbook order": lambda: mock.patch("minisets.fast.blocks.cheapest", lambda *arguments: "textbook"),
    "memory given back": lambda: mock.patch.object(machine, "keep_memory", bool),
    "plain forms": forms.plain_forms,
}


def work(kind: str, shape: Shape, weights: Path) -> None:
    """The child's part: answer each line on standard input with a line of JSON."""
    if kind.startswith("torch"):
        from tasks.bench.torch_peer import Peer

        contestant: Any = Peer(shape, kind.removeprefix("torch "), weights)
    elif kind == "products":
        contestant = Products(shape)
    else:
        without = WITHOUT.get(kind, contextlib.nullcontext)()
        without.__enter__()  # until this process ends
        contestant = Ours(shape)
        if kind == "ours":
            np.savez(weights, X=contestant.X, **contestant.weights())
    before = _memory("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux's way to say: forget the peak so far
    print("ready", flush=True)
    for _ in sys.stdin:
        turn = []
        for _ in range(TURN):
            start = time.perf_counter()
            loss = contestant.step()
            seconds = time.perf_counter() - start
            peak = _memory("VmHWM")
            turn.append({"ms": seconds * 1e3, "loss": loss, "peak": peak, "more": peak - before})
        print(json.dumps(turn), flush=True)


def _memory(name: str) -> int:
    """Bytes of memory that the process has now (VmRSS), or had at its peak (VmHWM).

    Not from getrusage, whose peak a process inherits from the one that started it.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0  # not Linux: no figures of memory
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024


TURN = 4  # steps in a turn, of which the first is not counted: it finds the caches full of what others did


class Contestant:
    """The parent's side of a process that takes steps when told."""

    def __init__(self, kind: str, name: str, n: int, weights: Path, checkout: Path | None = None) -> None:
        """checkout: another copy of this project, whose code is to run."""
        words = [sys.executable, "-m", "tasks.bench.worker", "ours" if checkout else kind, name, str(n), str(weights)]
        self.kind, self.turns = kind, []
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=checkout)
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


if __name__ == "__main__":
    _, kind, name, n, weights = sys.argv
    work(kind, replace(SHAPES[name], n=int(n)), Path(weights))
