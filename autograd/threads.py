"""Threads that share the work of one op, and how they coexist with the threads of BLAS.

NumPy releases the GIL while it computes, so threads can run in parallel: each takes the next piece of a list until
none is left.  Pieces are cut by size alone and their results are combined in order, so a result is bit-identical for
any number of threads.

BLAS, which multiplies matrices for NumPy, has its own threads.  Both kinds on the same cores are slower than either
alone, so inside `single_threaded_blas` BLAS uses one thread, and the ops split large work themselves.

The number of threads is MINISETS_THREADS if set, otherwise the number BLAS would use (from OPENBLAS_NUM_THREADS or
OMP_NUM_THREADS).  If BLAS has no function to set it (Apple's, or on Windows), it is 1, and BLAS keeps its threads.

A process may fork at any time.  Its child has a single thread, the one that forked, so locks that others held and jobs
that they were doing would stay as they were for good: what is shared between threads is reset there.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import reprlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined] # the library that links BLAS


def _find_blas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """BLAS's functions that get and set its number of threads."""
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)  # symbols are also looked up in the libraries it links
    except (OSError, AttributeError, TypeError):
        return None
    for name in ("scipy_openblas_%s_num_threads64_", "openblas_%s_num_threads64_", "openblas_%s_num_threads"):
        if hasattr(library, name % "set"):
            return getattr(library, name % "get"), getattr(library, name % "set")
    return None


MOST = 1024  # threads, more than any machine has a use for
_blas = _find_blas()
_count: int | None = None  # read from the environment on first use
_queue: SimpleQueue[Callable[[], None]] = SimpleQueue()  # the workers' jobs
_workers = 0
_local = threading.local()  # .busy is True in a thread that is working on a piece


class SettingError(ValueError):
    """An environment variable has an invalid value."""


def _at_fork(**functions: Callable[[], Any]) -> None:
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(**functions)


def count() -> int:
    """The number of threads that work on an op, including the calling thread."""
    global _count
    if _count is None:
        setting = os.environ.get("MINISETS_THREADS", "").strip()
        if setting and not (setting.isdecimal() and len(setting) <= 4 and 1 <= int(setting) <= MOST):
            raise SettingError(f"MINISETS_THREADS must be an integer from 1 to {MOST}, given {reprlib.repr(setting)}")
        _count = int(setting) if setting else _blas[0]() if _blas else 1
    return _count


@contextlib.contextmanager
def use(threads: int) -> Iterator[None]:
    """Inside `with use(1):` ops use that many threads, regardless of the environment."""
    global _count
    before, _count = count(), threads
    try:
        yield
    finally:
        _count = before


def parallel_map(function: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """[function(piece) for piece in pieces], computed by all threads.

    NumPy's warnings about invalid values are off: if rows are shorter than a vector register, BLAS also computes on the
    memory after them, which may contain nan.  Those values are discarded.  (A nan in a result is still nan.)
    """
    if len(pieces) < 2 or count() == 1 or getattr(_local, "busy", False):
        with np.errstate(invalid="ignore"):
            return [function(piece) for piece in pieces]
    job = _Job(function, pieces)
    _start_workers()
    for _ in range(min(count(), len(pieces)) - 1):
        _queue.put(job.work)
    job.work()
    job.finished.acquire()  # a worker that wakes up after this finds no pieces left
    if job.error is not None:
        raise job.error
    return job.results


class _Job:
    """The remaining pieces, and the results of the others."""

    def __init__(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> None:
        self.function = function
        self.remaining = deque(enumerate(pieces))
        self.results: list[Any] = [None] * len(pieces)
        self.error: BaseException | None = None
        self.completed = itertools.count(1)
        self.finished = threading.Lock()  # released by the thread that finishes the last piece
        self.finished.acquire()

    def work(self) -> None:
        _local.busy = True
        try:
            while True:
                i, piece = self.remaining.popleft()
                try:
                    with np.errstate(invalid="ignore"):
                        self.results[i] = self.function(piece)
                except BaseException as error:  # raised again in the waiting thread
                    self.error = error
                if next(self.completed) == len(self.results):
                    self.finished.release()
        except IndexError:  # no pieces are left
            pass
        finally:
            _local.busy = False


def _start_workers() -> None:
    global _workers
    while _workers < count() - 1:
        worker = threading.Thread(target=_run_worker, args=(_queue,), name=f"minisets-{_workers + 1}", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # the system has no more of them: results are the same with fewer
            return
        _workers += 1


def _run_worker(queue: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        queue.get()()


def fork_safe_lock() -> threading.RLock:
    """A lock for which a fork waits, so that a child finds it free, and what it guards complete.

    It is reentrant, since a signal handler may fork in a thread that holds it.
    """
    lock = threading.RLock()
    _at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


class _SingleThreadedBlas:
    """Inside `with single_threaded_blas:` BLAS uses one thread.

    It is reentrant, and can be entered from several threads.
    """

    def __init__(self) -> None:
        self.lock = fork_safe_lock()
        self.depth, self.before = 0, 1
        self.own = _Own()

    def __enter__(self) -> None:
        count()  # reads BLAS's number of threads before it is changed
        with self.lock:
            self.own.depth += 1
            self.depth += 1
            if self.depth == 1 and _blas:
                self.before = _blas[0]()
                _blas[1](1)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.own.depth -= 1
            self._set_depth(self.depth - 1)

    def reset_after_fork(self) -> None:
        """The other threads, which would have given BLAS its threads back, are not in the child."""
        if self.depth:
            self._set_depth(self.own.depth)

    def _set_depth(self, depth: int) -> None:
        self.depth = depth
        if depth == 0 and _blas:
            _blas[1](self.before)


class _Own(threading.local):
    depth = 0  # of a _SingleThreadedBlas, entered by this thread


single_threaded_blas = _SingleThreadedBlas()


def _reset_after_fork() -> None:
    global _workers, _queue
    _workers, _queue = 0, SimpleQueue()
    single_threaded_blas.reset_after_fork()


_at_fork(after_in_child=_reset_after_fork)
