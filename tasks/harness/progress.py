"""What goes on between a run and its user: lines of text, a progress bar, and signals that ask it to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

if TYPE_CHECKING:
    from tasks.harness.run import Run


def report(text: str) -> None:
    """Print a line; a run continues even if the output is gone (a closed pipe, a log on a full disk)."""
    try:
        print(text, flush=True)
    except OSError:
        discard_output()


def discard_output() -> None:
    """Send further output nowhere, so that flushing it at exit does not fail."""
    with contextlib.suppress(OSError, ValueError):  # an output without a file behind it needs nothing
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Signals:
    """Within the block, Ctrl-C, SIGTERM and SIGHUP let the current step finish; a second one interrupts at once.

    A signal that the process was started to ignore (nohup) stays ignored.
    """

    NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP

    def __init__(self, run: Run) -> None:
        self.run = run

    def __enter__(self) -> None:
        self.old = {}
        if threading.current_thread() is threading.main_thread():
            numbers = [getattr(signal, name) for name in self.NAMES if hasattr(signal, name)]
            heeded = [number for number in numbers if signal.getsignal(number) not in (signal.SIG_IGN, None)]
            self.old = {number: signal.signal(number, self.ask) for number in heeded}

    def ask(self, number: int, frame: Any) -> None:
        if self.run.asked_to_stop:
            raise KeyboardInterrupt
        self.run.asked_to_stop = True

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self.old.items():
            signal.signal(number, handler)


class ProgressBar:
    """Loss, metrics, steps/s and time left: a bar on a terminal, otherwise a plain line at each evaluation."""

    def __init__(self, run: Run) -> None:
        self.run, self.on_terminal = run, sys.stderr.isatty()

    def __enter__(self) -> ProgressBar:
        total = self.run.config.steps
        look = {"desc": self.run.title, "unit": " steps", "mininterval": 0.5, "dynamic_ncols": True}
        self.bar = tqdm(total=total, initial=self.run.done, disable=not self.on_terminal, **look)
        self.start, self.first, self.shown = time.perf_counter(), self.run.done, {}
        return self

    def show(self, line: dict[str, float]) -> None:
        with contextlib.suppress(OSError):  # a terminal that was closed is no reason to lose the step
            self._show(line)

    def _show(self, line: dict[str, float]) -> None:
        self.bar.update()
        if not line:
            return
        self.shown |= line
        text = "  ".join(f"{name} {value:.4g}" for name, value in self.shown.items())
        if self.on_terminal:
            self.bar.set_postfix_str(text, refresh=False)
        elif line.keys() - {"loss"}:
            done, total = self.run.done, self.run.config.steps
            spent, taken = time.perf_counter() - self.start, done - self.first
            pace = f"{taken / spent:.1f}" if spent > 0 else "?"  # a coarse clock may stand still between two steps
            left = tqdm.format_interval((total - done) * spent / taken)
            report(f"  step {done:,} of {total:,}  {text}  {pace} steps/s  {left} left")

    def __exit__(self, *exception: Any) -> None:
        with contextlib.suppress(OSError):
            self.bar.close()
