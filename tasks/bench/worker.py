"""A worker process of the benchmark: takes a few training steps whenever it is told to, and reports their times.

    python -m tasks.bench.worker KIND NETWORK N WEIGHTS

KIND is ours, one of ABLATIONS, products, or "torch eager" or "torch sdpa".  WEIGHTS is a file that ours writes and
PyTorch reads.  The worker prints "ready", then a line of JSON for each line that it reads: the steps of one turn.
`minisets bench --against` runs the workers of other checkouts, so arguments and JSON must not change.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from autograd import forms, threads
from minisets.optim import Adam
from tasks.bench.networks import SHAPES, Shape, inputs, network
from tasks.bench.products import MatrixProducts
from tasks.harness import machine
from tasks.harness.errors import UsageError

STEPS_PER_TURN = 4  # the first is not counted: it starts with caches full of other workers' data
MODULES = ("tasks.bench.worker", "tasks.contestants")  # where a checkout has its worker: the second in older ones

ABLATIONS = {  # our step without one optimization
    "one thread": lambda: threads.use(1),
    "textbook order": lambda: mock.patch("minisets.fast.blocks.cheapest", lambda *arguments: "textbook"),
    "default malloc": lambda: mock.patch.object(machine, "keep_memory", bool),
    "plain forms": forms.plain_forms,
}


class TrainingStep:
    """Our training step: forward, loss = mean y², backward, Adam."""

    def __init__(self, shape: Shape) -> None:
        machine.keep_memory()
        rng = np.random.default_rng(0)
        self.net = network(shape, rng)
        self.optimizer = Adam(self.net.parameters(), lr=1e-3)
        self.X = inputs(shape, rng)

    def step(self) -> float:
        """Take a step and return its loss."""
        self.optimizer.zero_grad()
        loss = (self.net(self.X) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


# ---- the worker process ---------------------------------------------------------------------------------------------


def work(kind: str, shape: Shape, weights: Path) -> None:
    """Take a turn for each line on standard input."""
    with ABLATIONS.get(kind, contextlib.nullcontext)():
        _serve(_trainer(kind, shape, weights))


def _serve(trainer: Any) -> None:
    before = _memory("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM on Linux
    print("ready", flush=True)
    for _ in sys.stdin:
        steps = []
        for _ in range(STEPS_PER_TURN):
            start = time.perf_counter()
            loss = trainer.step()
            seconds = time.perf_counter() - start
            peak = _memory("VmHWM")
            steps.append({"ms": seconds * 1e3, "loss": loss, "peak": peak, "more": peak - before})
        print(json.dumps(steps), flush=True)


def _trainer(kind: str, shape: Shape, weights: Path) -> Any:
    if kind.startswith("torch"):
        from tasks.bench.torch_peer import TorchTrainingStep

        return TorchTrainingStep(shape, kind.removeprefix("torch "), weights)
    if kind == "products":
        return MatrixProducts(shape)
    trainer = TrainingStep(shape)
    if kind == "ours":
        np.savez(weights, X=trainer.X, **trainer.net.state_dict())
    return trainer


def _memory(name: str) -> int:
    """The resident memory of this process in bytes, now (VmRSS) or at its peak (VmHWM); 0 if not on Linux.

    Not from getrusage, whose peak a process inherits from its parent.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024


# ---- the parent's side ----------------------------------------------------------------------------------------------


class Worker:
    """A worker process, as its parent sees it."""

    def __init__(self, kind: str, name: str, n: int, weights: Path, checkout: Path | None = None) -> None:
        """checkout: another copy of this project, whose code is to run."""
        module = worker_module(checkout) if checkout else MODULES[0]
        command = [sys.executable, "-m", module, "ours" if checkout else kind, name, str(n), str(weights)]
        self.kind, self.turns = kind, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=checkout)
        if self.process.stdout.readline() != "ready\n":
            raise UsageError(f"the process for {kind} did not start")

    def take_turn(self) -> None:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise UsageError(f"the process for {self.kind} died; perhaps it ran out of memory")
        self.turns.append(json.loads(line))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def worker_module(checkout: Path) -> str:
    """The module of a checkout's worker."""
    for module in MODULES:
        if (checkout / f"{module.replace('.', '/')}.py").is_file():
            return module
    raise UsageError(f"--against takes a checkout of minisets; {checkout} has no tasks/bench/worker.py")


if __name__ == "__main__":
    _, kind, name, n, weights = sys.argv
    work(kind, replace(SHAPES[name], n=int(n)), Path(weights))
