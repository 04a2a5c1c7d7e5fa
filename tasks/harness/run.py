"""What a training loop needs besides its mathematics: resuming, a progress bar, a log, checkpoints, and stopping.

    for step in run.steps(net, optimizer):      # resumes after the last checkpoint
        X, y = run.share(*sample(...))          # all of it, unless the run is distributed (distributed.py)
        ...
        loss.backward()
        loss = run.average(loss, optimizer)     # over the processes; alone, nothing happens
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            run.record(MAE=...)

The data of a step is sampled from the seed and the step number alone (`rng_for`), so it needs no saving.  The state
that is carried from step to step (weights, optimizer, generators inside the network, the sum of losses not yet logged)
is in the checkpoint; lines of metrics.jsonl after the checkpoint are written again.  A run that is killed at any moment
and resumed therefore ends with the same bits.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from autograd import Tensor, backend
from minisets import checkpoint
from minisets.nn import Module
from minisets.optim import Optimizer
from tasks.harness import records
from tasks.harness.errors import Diverged, Interrupted, UsageError
from tasks.harness.metrics_log import chained, digest_of
from tasks.harness.options import Stepping
from tasks.harness.progress import ProgressBar, Signals
from tasks.harness.run_folder import START_OVER, RunFolder

TRAINING, VALIDATION, TEST, WEIGHTS = range(4)  # purposes of random numbers
SHOW_EVERY = 2.0  # seconds: how often progress.json follows the run between checkpoints


def rng_for(seed: int, purpose: int, step: int = 0) -> np.random.Generator:
    """The random generator of one step: a function of the seed, the purpose and the step, and of no earlier step."""
    return np.random.default_rng([seed, purpose, step])


class Run:
    """One training run in its folder."""

    def __init__(self, folder: RunFolder, config: Stepping, title: str) -> None:
        self.folder, self.config, self.title = folder, config, title
        self.done = 0  # steps completed
        self.notes = {"loss": 0.0, "count": 0}  # the sum of losses since the last line of the log
        self.line: dict[str, Any] = {}  # the metrics of the current step
        self.log_digest = digest_of([])  # of the lines of metrics.jsonl so far
        self.seconds, self.asked_to_stop, self.saved = 0.0, False, None
        self.loss: float | None = None  # the mean of the losses lately

    # ---- the loop --------------------------------------------------------------------------------------------------

    def steps(self, model: Module, optimizer: Optimizer) -> Iterator[int]:
        """The remaining step numbers, counted from 0; after each step, whatever is due is written."""
        self.open(model, optimizer)
        with self.signals(), ProgressBar(self) as bar:
            before = shown = time.perf_counter()
            while self.done < self.config.steps:
                yield self.done
                self.done += 1
                now = time.perf_counter()
                self.seconds, before = self.seconds + now - before, now
                if self.line:
                    line = {"step": self.done, **self.line}
                    self.folder.append(line)
                    self.log_digest = chained(self.log_digest, line)
                bar.show(self.line)
                self.line = {}
                if self.stopping or self.done % self.config.save_every == 0 or self.done == self.config.steps:
                    self.save()
                elif now - shown > SHOW_EVERY:
                    shown = now
                    with contextlib.suppress(UsageError):  # it is for people: no reason to lose the run
                        self._write_progress()
                self.stop_if_asked()

    def open(self, model: Module, optimizer: Optimizer) -> None:
        """Continue from the checkpoint, or write the first one."""
        self.parts, self.name = {"model": model, "optimizer": optimizer}, self.folder.name()
        files = self.folder.files()
        if self.folder.checkpoint_path in files:
            self._restore()
        elif self.folder.metrics_path in files:  # which is created after the first checkpoint
            self._refuse_without(self.folder.checkpoint_path)
        else:
            self.save()
        self.adopt_options()
        self.folder.rewind(self.done)

    @property
    def stopping(self) -> bool:
        """Whether the current step is to be the last for now."""
        return self.asked_to_stop

    def stop_if_asked(self) -> None:
        if self.stopping and self.done < self.config.steps:
            raise Interrupted(f"stopped after step {self.done:,} of {self.config.steps:,}, all saved")

    def signals(self) -> Signals:
        return Signals(self)

    def share(self, *arrays: Any) -> Any:
        """The rows of a batch that this process computes with: all of them, unless the run is distributed."""
        return arrays if len(arrays) > 1 else arrays[0]

    def rows(self, batch: int) -> slice:
        """The same, as a slice of 0 … batch − 1."""
        return slice(0, batch)

    def average(self, loss: Tensor, optimizer: Optimizer) -> Tensor:
        """The loss, averaged over the processes of a distributed run, and so are the gradients, in place."""
        return loss

    def due(self, every: int) -> bool:
        """Whether the current step is a multiple of `every`, or the last."""
        return (self.done + 1) % every == 0 or self.done + 1 == self.config.steps

    def log(self, loss: Tensor) -> None:
        """Record the step's loss; metrics.jsonl gets the mean since its last line."""
        on_host = backend.device_of(loss.data) == "cpu"
        value = loss.item() if on_host else loss.data.astype("float64")  # reading it forces a device sync
        if on_host:
            self._require_finite("loss", value)
        self.notes["loss"] += value
        self.notes["count"] += 1
        if self.due(self.config.log_every):
            self.record(loss=self._mean_loss())
            self.notes.update(loss=0.0, count=0)

    def record(self, **metrics: float) -> None:
        """Add metrics to the line of the current step."""
        for name, value in metrics.items():
            self._require_finite(name, value)
            self.line[name] = float(value)

    def keep_best(self, model: Module, value: float) -> None:
        """Save the model as best.npz if the value, an error on validation sets, is the smallest so far."""
        if value < self.notes.get("best", math.inf):
            self.notes |= {"best": float(value), "best_step": self.done + 1}
            self.folder.lock.require_same_folder()
            checkpoint.save(self.folder.best_path, model=model, step=self.done + 1, notes={"run": self.name})

    def restore_best(self, model: Module) -> None:
        self._read_best(model).restore(model=model)

    def save(self) -> None:
        for what, part in (("parameter", "model"), ("optimizer's buffer", "optimizer")):
            for name, array in self.parts[part].state_dict().items():
                if not np.isfinite(array).all():
                    raise Diverged(self._diverged(f"the {what} {name} is no longer finite", self.done))
        self.notes["loss"] = float(backend.to_host(self.notes["loss"]))
        self.folder.lock.require_same_folder()
        notes = self.notes | {"run": self.name, "seconds": round(self.seconds, 2), "log": self.log_digest}
        checkpoint.save(self.folder.checkpoint_path, **self.parts, step=self.done, notes=notes)
        self.saved = self.done
        self._write_progress()

    def _write_progress(self) -> None:
        about = {"run": self.name, "seconds": round(self.seconds, 2), "step": self.done, "steps": self.config.steps}
        loss = self._mean_loss()
        about |= {"saved": self.saved} if self.saved is not None else {}
        about |= {"loss": loss} if loss is not None and math.isfinite(loss) else {}
        self.folder.write(self.folder.progress_path, about)

    def _mean_loss(self) -> float | None:
        """The mean of the losses since the last line of the log, or of those before it if there is none since."""
        if self.notes["count"]:
            self.loss = float(backend.to_host(self.notes["loss"])) / self.notes["count"]
        return self.loss

    def adopt_options(self) -> None:
        """Let config.json say so if the run is extended, or moved to another device."""
        if self.config != self.folder.options():
            self.folder.change(self.config)
            self.name = self.folder.name()

    # ---- resuming --------------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        """Continue from the checkpoint, if all files that it relies on are there and are the ones it was saved with."""
        folder = self.folder
        saved = folder.read_checkpoint(folder.checkpoint_path, self.parts["model"], records.NOTES)
        if saved.step > self.config.steps:
            raise UsageError(f"{folder.checkpoint_path} is of step {saved.step:,}, after the last of this run")
        if saved.step and not folder.metrics_path.exists():
            self._refuse_without(folder.metrics_path)
        logged = digest_of(line for line in folder.metrics() if line["step"] <= saved.step)
        if logged != saved.notes["log"]:
            raise UsageError(f"{folder.metrics_path} is not the log that the checkpoint continues: {START_OVER}")
        if folder.progress_path.exists():
            folder.progress()
        saved.restore(**self.parts)
        self.done = self.saved = saved.step
        self.notes = {name: value for name, value in saved.notes.items() if name not in ("run", "log", "seconds")}
        self.seconds, self.log_digest = float(saved.notes["seconds"]), logged
        if "best" in self.notes:
            self._read_best(self.parts["model"])

    def _read_best(self, model: Module) -> checkpoint.Checkpoint:
        """best.npz, which is of the best step so far, or of a step after the checkpoint, which will be taken again."""
        path = self.folder.best_path
        if not path.exists():
            self._refuse_without(path)
        best = self.folder.read_checkpoint(path, model, records.BEST_NOTES)
        wanted = self.notes.get("best_step", 0)
        if best.step != wanted and not self.done < best.step <= self.config.steps:
            raise UsageError(f"{path} is of step {best.step:,}, but the best was step {wanted:,}: {START_OVER}")
        return best

    def _refuse_without(self, path: Path) -> NoReturn:
        raise UsageError(f"{path} is missing, and the run cannot be resumed without it: {START_OVER}")

    # ---- values that are not finite --------------------------------------------------------------------------------

    def _require_finite(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            raise Diverged(self._diverged(f"the {name} became {float(value)}", self.done + 1))

    def _diverged(self, what: str, step: int) -> str:
        last = (
            f"the last good checkpoint is {self.folder.checkpoint_path}, of step {self.saved:,}"
            if self.saved
            else "there is no earlier checkpoint"
        )
        return (
            f"{what} at step {step:,}; {last}. Try a smaller --lr (it was {self.config.lr:g}), another --style or "
            "--dtype float64, into another --out"
        )
