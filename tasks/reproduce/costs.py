"""What a run costs: hours and gigabytes, estimated from steps that were timed once on another machine.

costs.json holds, for every kind of run in the plan, the seconds of a step on one core and the memory at its peak, and
how long a small fixed training step took on the same machine.  The same small step is timed here, and the ratio of the
two scales all hours.  Evaluation, which is not counted, takes a few percent more.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minisets import build
from minisets.optim import Adam
from tasks.harness.options import Settings
from tasks.harness.planning import PlannedRun
from tasks.sweep.worker import surroundings

FILE = Path(__file__).with_name("costs.json")
SHAPE = ("arch", "batch", "n_min", "n_max", "k", "points", "style", "size", "depth", "width")  # what a step depends on


@dataclass(frozen=True)
class Cost:
    hours: float
    gigabytes: float

    def __str__(self) -> str:
        return f"{self.hours:.1f} h, {self.gigabytes:.1f} GB"


def kind(task: str, config: Settings) -> str:
    """All that the cost of a step depends on, as text."""
    return json.dumps([task, {name: getattr(config, name) for name in SHAPE if hasattr(config, name)}])


@functools.cache
def measured() -> Mapping[str, Any]:
    """costs.json."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def cost(plan: PlannedRun, slowness: float = 1.0) -> Cost | None:
    """What is needed for a run from its beginning; None if no run of this kind was measured."""
    found = measured()["kinds"].get(kind(plan.folder.experiment.name, plan.config))
    if found is None:
        return None
    return Cost(slowness * found["seconds"] * getattr(plan.config, "steps", 1) / 3_600, found["gigabytes"])


def slowness() -> float:
    """How many times longer than on the machine of costs.json a step takes here."""
    return time_yardstick() / measured()["yardstick"]


def time_yardstick() -> float:
    """Seconds of the small step on one core, in a process that starts with one thread."""
    words = [sys.executable, "-P", "-m", "tasks.reproduce.costs"]
    return float(subprocess.run(words, env=surroundings([], 1, 0), capture_output=True, text=True, check=True).stdout)


def yardstick() -> float:
    """Seconds of a small training step, the fastest of many."""
    rng = np.random.default_rng(0)
    net, X = build("SAB + PMA", d_in=2, d_out=5, rng=rng), rng.normal(size=(10, 100, 2)).astype("float32")
    optimizer, seconds = Adam(net.parameters()), []
    while len(seconds) < 20:
        start = time.process_time()
        optimizer.zero_grad()
        net(X).sum().backward()
        optimizer.step()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    print(yardstick())
