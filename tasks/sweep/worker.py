"""One cell at a time: a child process that trains, and how it ended.

A crash, a lack of memory or a divergence ends the child and nothing else.  The functions take and return plain values,
so that they can be called in a thread or by a rank of mpiexec.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable

from autograd.cupy_import import import_cupy
from minisets.distributed.launcher import launched_local_rank, launched_processes, without_launcher
from tasks.harness.errors import printable
from tasks.harness.machine import THREADS

LINES = 40  # of a child's standard error, the last of which say why it failed


class Children:
    """The child processes of this process, so that all of them can be asked to stop."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen] = set()
        self._lock, self._stopping = threading.Lock(), False

    def welcome(self) -> None:
        """Let children start, after earlier ones were stopped."""
        self._stopping = False

    def start(self, words: list[str], environment: dict[str, str]) -> subprocess.Popen:
        with self._lock:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,  # closed when this process ends: see child.py
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C in a terminal is for the sweep alone, which passes it on
            )
            self._processes.add(process)
            if self._stopping:
                process.terminate()
        return process

    def ended(self, process: subprocess.Popen) -> None:
        with self._lock:
            self._processes.discard(process)

    def stop(self, *, at_once: bool = False) -> None:
        """Ask all of them to save and end, or end them."""
        with self._lock:
            self._stopping = True
            for process in self._processes:
                process.kill() if at_once else process.terminate()


CHILDREN = Children()


def run_child(words: list[str], threads: int, slot: int, seconds: float | None) -> tuple[int, str]:
    """The exit code and the last sentence of `python -m tasks.sweep.child WORDS`, stopped politely after so long."""
    environment = surroundings(words, threads, launched_local_rank() if launched_processes() > 1 else slot)
    process = CHILDREN.start([sys.executable, "-P", "-m", "tasks.sweep.child", *words], environment)
    last: deque[str] = deque(maxlen=LINES)
    listener = threading.Thread(target=last.extend, args=(process.stderr,))
    listener.start()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        if process.poll() is None:
            process.terminate()
        code = process.wait()
    finally:
        CHILDREN.ended(process)
        process.stdin.close()
        listener.join()
        process.stderr.close()
    return code, sentence(code, last)


def sentence(code: int, lines: Iterable[str]) -> str:
    """Why a child ended: its own words, or the last line of its traceback, or the signal that killed it."""
    said = [line.strip() for line in lines if line.strip() and not line.startswith("minisets: warning: ")]
    if code < 0:
        name = signal.Signals(-code).name
        return f"it was killed by {name}" + (", as the system does when memory runs out" if name == "SIGKILL" else "")
    ours = [line.removeprefix("minisets: ") for line in said if line.startswith("minisets: ")]
    return printable((ours or said or [f"it ended with exit code {code}"])[-1], 2_000)


def surroundings(words: list[str], threads: int, slot: int) -> dict[str, str]:
    """The environment of a child: its threads, its GPU, the modules of this process, and nothing of mpiexec's."""
    inherited = without_launcher(os.environ)
    inherited |= dict.fromkeys(("MINISETS_THREADS", *THREADS), str(threads))
    inherited |= {"MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    if "--device=cuda" in words and gpus():
        inherited["CUDA_VISIBLE_DEVICES"] = gpus()[slot % len(gpus())]  # workers take turns
    return inherited


def gpus() -> list[str]:
    """The GPUs of this machine, or those of them that CUDA_VISIBLE_DEVICES lists."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return [name.strip() for name in listed if name.strip()] or list(map(str, range(_count_gpus())))


@functools.cache
def _count_gpus() -> int:
    return import_cupy("cuda").cuda.runtime.getDeviceCount()
