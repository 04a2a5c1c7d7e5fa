"""A process of `minisets bench --scaling`: times training steps of experiments, as distributed runs take them.

    python -m tasks.bench.scaling_worker steps REQUESTS                 one process, with its share of a batch
    mpiexec -n 2 python -m tasks.bench.scaling_worker steps REQUESTS    two processes that really share it
    mpiexec -n 2 python -m tasks.bench.scaling_worker sums SECONDS      Allreduces alone, for SECONDS per size

REQUESTS is a list of Requests in JSON.  The last line that process 0 prints is JSON: for each Request its Timed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autograd import Tensor
from autograd.backend import Array
from minisets import distributed
from minisets.distributed import World
from minisets.distributed.launcher import launched_rank
from minisets.optim import Optimizer
from tasks.harness import machine
from tasks.harness.distributed import THE_END, Leader, Team
from tasks.harness.errors import Interrupted
from tasks.harness.experiment import find_experiment
from tasks.harness.run_folder import RunFolder

ENDLESS = 1_000_000  # steps of the run, which is stopped long before: nothing is evaluated or tested
SIZES = (8, 512, 4_096, 32_768, 262_144, 2**20, 2**22, 2**24, 2**26)  # of sums, in bytes


@dataclass(frozen=True)
class Request:
    """Which steps to time."""

    experiment: str
    options: dict[str, Any]  # that differ from preset paper; its `batch` is the whole batch
    steps: int  # to time; the first one is not counted
    seconds: float  # after which fewer will do, but at least two
    size: int = 0  # compute as one of so many processes, without the others; 0: with those that mpiexec started


@dataclass
class Timed:
    """What was measured, in seconds."""

    steps: list[float] = field(default_factory=list)
    averaging: list[float] = field(default_factory=list)  # the part of each step that average_gradients took
    exchanges: list[tuple[str, int]] = field(default_factory=list)  # of one step, if the others are absent
    parameters: int = 0


class AsOneOf(World):
    """The last of `size` processes, whose others are absent: it has its share of every batch, and exchanges nothing.

    The last one has the largest share, ⌈B / size⌉ sets.  What the exchanges would have been is recorded.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.rank, self.weight = size, size - 1, 1 / size
        self.exchanges: list[tuple[str, int]] = []  # ("sum" or "gather", bytes)

    def sum(self, array: Array) -> None:
        self.exchanges.append(("sum", array.nbytes))

    def gather(self, array: np.ndarray) -> np.ndarray:
        self.exchanges.append(("gather", array.nbytes))
        return np.stack([array] * self.size)

    def broadcast(self, array: np.ndarray) -> None:
        pass

    def broadcast_text(self, text: str = "") -> str:
        return text


class TimedLeader(Leader):
    """A leader's run that notes how long each step takes, and after some of them asks everybody to stop."""

    def __init__(self, request: Request, *about: Any) -> None:
        super().__init__(*about)
        self.request, self.timed = request, Timed()

    def average(self, loss: Tensor, optimizer: Optimizer) -> Tensor:
        begun = time.perf_counter()
        average = super().average(loss, optimizer)
        self.timed.averaging.append(time.perf_counter() - begun)
        self.timed.parameters = sum(p.size for p in optimizer.parameters)
        return average

    def log(self, loss: Tensor) -> None:
        super().log(loss)
        now, steps = time.perf_counter(), self.timed.steps
        if self.done == 0:
            self.begun = now
        else:
            steps.append(now - self.before)
        self.before = now
        if isinstance(self.world, AsOneOf):
            self.timed.exchanges, self.world.exchanges = self.world.exchanges, []
        enough = len(steps) + 1 >= self.request.steps or now - self.begun > self.request.seconds
        self.asked_to_stop = self.asked_to_stop or (enough and len(steps) > 0)  # after one more step


def time_steps(request: Request, team: Team) -> Timed:
    """Steps of a real run, in a temporary folder."""
    experiment = find_experiment(request.experiment)
    bookkeeping = {"steps": ENDLESS, "evaluate_every": ENDLESS, "save_every": ENDLESS}
    config = experiment.config(**experiment.presets["paper"] | bookkeeping | request.options)
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path), experiment)
        folder.begin("paper", config)
        team.run(folder, config, request.experiment)  # announces it to the others
        run = TimedLeader(request, team, folder, config, request.experiment)
        try:
            experiment.train(config, run)
        except Interrupted:
            return run.timed
    raise AssertionError("a run without end has ended")


def steps(requests: list[Request]) -> list[Timed]:
    """What each request measured; in all processes but the first, nothing."""
    machine.keep_memory()
    team = None
    if not all(request.size for request in requests):
        team = Team(distributed.world(required=True))
        if team.world.rank:
            team.follow(find_experiment(requests[0].experiment))
            return []
    with np.errstate(over="ignore", invalid="ignore"):
        found = [time_steps(request, team or Team(AsOneOf(request.size))) for request in requests]
    if team:
        team.world.broadcast_text(THE_END)
    return found


def sums(seconds: float) -> list[tuple[int, float]]:
    """The bytes of a sum over all processes, and its seconds: the median of as many as fit, and at least five."""
    everybody = distributed.world(required=True)
    found = []
    for size in SIZES:
        array, another, taken = np.zeros(size // 4, "float32"), np.ones(1), []
        while another[0]:
            for _ in range(5):
                begun = time.perf_counter()
                everybody.sum(array)
                taken.append(time.perf_counter() - begun)
            another[0] = sum(taken) < seconds
            everybody.broadcast(another)  # all take as many as process 0
        found.append((size, float(np.median(taken))))
    return found


def main(command: str, argument: str) -> None:
    if command == "sums":
        result: Any = sums(float(argument))
    else:
        result = [asdict(timed) for timed in steps([Request(**request) for request in json.loads(argument)])]
    if launched_rank() == 0:
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
