"""Distributed runs: mpiexec -n P minisets train EXPERIMENT --distributed

Every process builds the network, samples the batch of each step from the seed, and computes with its share of the sets;
the gradients are averaged.  Process 0, the leader, does all else alone: it plans, locks and writes the run folder,
evaluates, and reports.  The others, its followers, wait for it to announce a run, take the steps of that run with it,
and wait again.

When something goes wrong between runs (the folder is taken, say), the leader announces the end.  During a run the
others are waiting somewhere in the middle of a step, so a process that fails alone ends all of them, after its
sentence.  A stop that was asked for, and a loss that is no longer finite, are known to all after the same step.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import Tensor, backend
from minisets import distributed
from minisets.distributed import World
from minisets.nn import Module
from minisets.optim import Optimizer
from tasks.harness import machine
from tasks.harness.errors import Diverged, Interrupted, UsageError
from tasks.harness.experiment import Experiment
from tasks.harness.options import Settings, Stepping, from_json
from tasks.harness.progress import Signals
from tasks.harness.reporting import reported
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder

THE_END = ""  # announced by the leader instead of a run


def train(experiment: Experiment, lead: Callable[[Team], int], argv: list[str]) -> int:
    """Train together: lead(team) in process 0, which calls team.run for each run; the others follow."""
    team = Team(distributed.world(required=True))
    world, command = team.world, ["minisets", "train", *argv]
    if world.size > 1:
        command = ["mpiexec", "-n", str(world.size), *command]
    if world.rank == 0:
        code = reported(lambda: lead(team), command)
    else:
        code = reported(lambda: team.follow(experiment), command, who=f"process {world.rank}: ")
    if team.run_under_way:
        world.abort(code or 1)
    elif world.rank == 0:
        world.broadcast_text(THE_END)
    if world.orphaned():
        os._exit(code)  # MPI would wait for its launcher
    return code


class Team:
    """The processes of a distributed run, as one of them sees them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.run_under_way = False  # all processes are in the training loop, or on their way there

    def check(self, config: Settings) -> None:
        """Refuse, before anything is written, what cannot be shared."""
        if not isinstance(config, Stepping):
            raise UsageError(
                "this experiment has no training steps that processes could share; leave out --distributed"
            )
        if config.batch < self.world.size:
            raise UsageError(
                f"--batch {config.batch} cannot be shared by {self.world.size} processes, each of which needs a set at "
                "least; choose a larger --batch, or start fewer"
            )

    def run(self, folder: RunFolder, config: Stepping, title: str) -> Run:
        """The leader's run, announced to the others."""
        self.world.broadcast_text(json.dumps({"title": title, "options": dataclasses.asdict(config)}))
        self.run_under_way = True
        use_own_gpu(self.world, config.device)
        return Leader(self, folder, config, title)

    def follow(self, experiment: Experiment) -> int:
        """Take part in every run that the leader announces."""
        machine.keep_memory()
        while (announcement := self.world.broadcast_text()) != THE_END:
            about = json.loads(announcement)
            config = from_json(experiment.config, about["options"], "the leader's configuration")
            self.run_under_way = True
            with _silence(), np.errstate(over="ignore", invalid="ignore"):  # the leader reports
                use_own_gpu(self.world, config.device)
                try:
                    experiment.train(config, Follower(self, RunFolder(os.devnull, experiment), config, about["title"]))
                except (Interrupted, Diverged, _Followed):
                    self.run_under_way = False
        return 0


class _Followed(Exception):
    """The steps are done; what remains of a run is the leader's."""


class _Together(Run):
    """What the runs of all processes have in common."""

    def __init__(self, team: Team, folder: RunFolder, config: Stepping, title: str) -> None:
        super().__init__(folder, config, title)
        self.team, self.world, self.agreed_to_stop, self.averaged = team, team.world, False, False

    def open(self, model: Module, optimizer: Optimizer) -> None:
        """All start where the leader is."""
        self.world.join(model, optimizer)
        self.done = int(self.world.broadcast_text(str(self.done)))

    def share(self, *arrays: Any) -> Any:
        return self.world.scatter(*arrays)

    def rows(self, batch: int) -> slice:
        return self.world.rows(batch)

    def average(self, loss: Tensor, optimizer: Optimizer) -> Tensor:
        stop = float(self.asked_to_stop or self.world.orphaned())
        value, stop = self.world.average_gradients(optimizer.parameters, loss.item(), stop)
        self.agreed_to_stop, self.averaged = stop > 0, True
        return Tensor(np.array(value))

    @property
    def stopping(self) -> bool:
        """A signal reaches the processes during different steps; here they agree on one."""
        return self.agreed_to_stop

    def stop_if_asked(self) -> None:
        if not self.averaged and self.world.size > 1:
            raise UsageError(
                "the training loop of this experiment does not call run.share and run.average, which --distributed "
                "needs; CONTRIBUTING.md has an example"
            )
        super().stop_if_asked()

    def signals(self) -> Signals:
        return DistributedSignals(self)


class Leader(_Together):
    """The run of process 0: an ordinary one, which the others start from and take steps with."""

    def open(self, model: Module, optimizer: Optimizer) -> None:
        Run.open(self, model, optimizer)
        super().open(model, optimizer)

    def steps(self, model: Module, optimizer: Optimizer) -> Iterator[int]:
        try:
            yield from super().steps(model, optimizer)
        except Interrupted:
            self.team.run_under_way = False
            raise
        self.team.run_under_way = False

    def log(self, loss: Tensor) -> None:
        try:
            super().log(loss)
        except Diverged:
            self.team.run_under_way = False
            raise


class Follower(_Together):
    """The run of every other process: it takes the steps, and writes and evaluates nothing."""

    def steps(self, model: Module, optimizer: Optimizer) -> Iterator[int]:
        self.open(model, optimizer)
        with self.signals():
            while self.done < self.config.steps:
                yield self.done
                self.done += 1
                self.stop_if_asked()
        raise _Followed

    def due(self, every: int) -> bool:
        return False

    def log(self, loss: Tensor) -> None:
        self._require_finite("loss", loss.item())


class DistributedSignals(Signals):
    """Says at once what a signal means: mpiexec leaves a job it ends (as when a process died) a fraction of a second.

    A thread says it, since Python handles signals only between two steps of the main thread, which may be waiting
    inside MPI for a process that is gone.  SIGUSR1, which mpiexec and srun pass on and do not follow up, asks to stop
    as well.
    """

    NAMES = (*Signals.NAMES, "SIGUSR1")

    def __enter__(self) -> None:
        super().__enter__()
        if self.old and self.run.world.rank < 2:  # two, in case that one of them is the process that died
            heard, self.told = os.pipe()
            os.set_blocking(self.told, False)  # as Python requires of what it writes to on a signal
            signal.set_wakeup_fd(self.told, warn_on_full_buffer=False)
            threading.Thread(target=self._speak, args=(heard,), daemon=True).start()

    def _speak(self, heard: int) -> None:
        if os.read(heard, 1):  # nothing, if the pipe was closed
            saved = f"step {self.run.saved:,}" if self.run.saved is not None else "its last checkpoint"
            text = f"the job was asked to stop, or a process of it died; --resume continues it from {saved} at least"
            with contextlib.suppress(OSError):
                print(f"minisets: {text}", file=sys.__stderr__, flush=True)
        os.close(heard)

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        if hasattr(self, "told"):
            signal.set_wakeup_fd(-1)
            os.close(self.told)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
        yield


def use_own_gpu(world: World, device: str) -> None:
    """Where "cuda" was asked for, make a GPU of this process's own the current one, by its number on the machine."""
    if device == "cuda" and world.size > 1:
        count = backend.import_cupy(device).cuda.runtime.getDeviceCount()
        backend.to_device(0, f"cuda:{world.local_rank() % count}")
