"""The process of one cell: the ordinary `minisets train`, which ends when the sweep that started it ends.

    python -m tasks.sweep.child train TASK [options of minisets train]
    python -m tasks.sweep.child rehearse TASK [the same]       prints seconds of a step, of a core, and gigabytes

Standard input is a pipe whose other end only the sweep holds.  However the sweep ends, kill -9 included, the pipe is
then closed, and the run stops as by Ctrl-C: the step is finished and everything is saved.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from minisets.nn import Module
from minisets.optim import Optimizer
from tasks.harness import machine
from tasks.harness.errors import Busy, Diverged, Interrupted
from tasks.harness.planning import planned_runs
from tasks.harness.reporting import reported
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder
from tasks.harness.train import parse, train

DIVERGED, BUSY, INTERRUPTED = 3, 4, 130
CODES = {Diverged: DIVERGED, Busy: BUSY, Interrupted: INTERRUPTED}  # exit codes that tell the sweep what happened
LEAST, MOST, ENOUGH, LONGEST = 3, 20, 2.0, 10.0  # steps of a rehearsal, and seconds to spend on them


def main(argv: list[str]) -> int:
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    what, *words = argv
    return reported(lambda: (_train if what == "train" else _rehearse)(words), ["minisets", "train", *words])


def _end_with_the_sweep() -> None:
    while os.read(0, 1024):  # nothing is ever written to it
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _train(words: list[str]) -> int:
    try:
        return train(words)
    except (Diverged, Busy, Interrupted) as error:
        print(f"minisets: {error}", file=sys.stderr)
        return next(code for kind, code in CODES.items() if isinstance(error, kind))


# ---- how long a step takes ------------------------------------------------------------------------------------------


class Measured(Exception):
    """The rehearsal took its steps."""


class Rehearsal(Run):
    """A run of a few steps that logs, evaluates and saves nothing."""

    def steps(self, model: Module, optimizer: Optimizer) -> Iterator[int]:
        self.name = self.folder.name()
        ends: list[float] = []
        busy: list[float] = []
        while not _enough(ends):
            yield self.done
            self.done += 1
            machine.synchronize(self.config.device)
            ends.append(time.perf_counter())
            busy.append(time.process_time())
        steps = len(ends) - 1  # the first includes loading and compiling
        raise Measured((ends[-1] - ends[0]) / steps, (busy[-1] - busy[0]) / steps)

    def due(self, every: int) -> bool:
        return False


def _enough(ends: list[float]) -> bool:
    """Whether these moments, at which steps ended, are enough to know how long a step takes."""
    if len(ends) < 2:
        return False
    spent = ends[-1] - ends[0]
    return spent > LONGEST or (len(ends) > LEAST and spent > ENOUGH) or len(ends) > MOST


def _rehearse(words: list[str]) -> int:
    experiment, given = parse(words)
    preset, seeds, _ = (given.pop(key) for key in ("preset", "seeds", "out"))
    given = {key: value for key, value in given.items() if key not in ("resume", "start_over", "distributed")}
    machine.keep_memory()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which removes the temporary folder
    with tempfile.TemporaryDirectory() as path:
        (plan,) = planned_runs(experiment, preset, given, seeds, Path(path) / "run")
        folder = RunFolder(plan.folder.path, experiment)
        folder.begin(preset, plan.config)
        try:
            with np.errstate(all="ignore"):
                experiment.train(plan.config, Rehearsal(folder, plan.config, plan.title))
        except Measured as measured:
            seconds, busy = measured.args
            print(f"minisets: {seconds:.6g} {busy:.6g} {machine.peak_of_process() / 1e9:.6g}", file=sys.stderr)
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
