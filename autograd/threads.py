"""A few threads that share the work of one op, and the peace between them and BLAS.

NumPy lets go of Python's lock while it computes, so threads can compute side by side: each takes the next piece of a
list until none is left.  The pieces are cut by size alone and their results are put together in their order, so a
result has the same bits whatever the number of threads.

BLAS, which multiplies matrices for NumPy, has threads of its own.  Two kinds of threads on the same cores are slower
than either, so inside `single_threaded_blas` BLAS keeps to one; the ops cut up what is large themselves.

How many threads: MINISETS_THREADS, or else as many as BLAS would take, which has read OPENBLAS_NUM_THREADS or
OMP_NUM_THREADS.  Where the BLAS is one that cannot be told (Apple's, or on Windows), one thread, and BLAS has its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined] # the library in which NumPy calls BLAS


def _find_blas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """BLAS's own functions to read and to set its number of threads."""
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)  # a name is looked up in all that it is linked with
    except (OSError, AttributeError, TypeError):
        return None
    for name in ("scipy_openblas_%s_num_threads64_", "openblas_%s_num_threads64_", "openblas_%s_num_threads"):
        if hasattr(library, name % "set"):
            return getattr(library, name % "get"), getattr(library, name % "set")
    return None


_blas = _find_blas()
_count: int | None = None  # read from the environment when first asked for
_waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()  # what the helpers take their work from
_helpers = 0
_mine = threading.local()  # .busy in a thread that is at work on a piece


class SettingError(ValueError):
    """The environment asks for what cannot be."""


def count() -> int:
    """The number of threads that work on an op, the calling one included."""
    global _count
    if _count is None:
        given = os.environ.get("MINISETS_THREADS", "").strip()
        if given and not (given.isdecimal() and int(given) > 0):
            raise SettingError(f"MINISETS_THREADS must be a whole number of at least 1, given {given!r}")
        _count = int(given) if given else _blas[0]() if _blas else 1
    return _count


@contextlib.contextmanager
def use(threads: int) -> Iterator[None]:
    """Inside `with use(1):` that many threads, whatever the environment says."""
    global _count
    before, _count = count(), threads
    try:
        yield
    finally:
        _count = before


def parallel_map(function: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """[function(piece) for piece in pieces], by all threads together.

    NumPy is told not to warn of invalid values: with rows shorter than a vector register BLAS computes with what lies
    behind them, too, and now and then that is a nan which nobody ever sees.  (A nan in a result is still one.)
    """
    if len(pieces) < 2 or count() == 1 or getattr(_mine, "busy", False):
        with np.errstate(invalid="ignore"):
            return [function(piece) for piece in pieces]
    job = _Job(function, pieces)
    _start_helpers()
    for _ in range(min(count(), len(pieces)) - 1):
        _waiting.put(job.work)
    job.work()
    job.finished.acquire()  # by then a helper that did not wake up in time has nothing to do, and is not waited for
    if job.error is not None:
        raise job.error
    return job.results


class _Job:
    """The pieces that are left, and what has come of the others."""

    def __init__(self, function: Callable[[Any], Any], pieces: Sequence[Any]) -> None:
        self.function = function
        self.left = deque(enumerate(pieces))
        self.results: list[Any] = [None] * len(pieces)
        self.error: BaseException | None = None
        self.done = itertools.count(1)
        self.finished = threading.Lock()  # released by whoever finishes the last piece
        self.finished.acquire()

    def work(self) -> None:
        _mine.busy = True
        try:
            while True:
                i, piece = self.left.popleft()
                try:
                    with np.errstate(invalid="ignore"):
                        self.results[i] = self.function(piece)
                except BaseException as error:  # raised again in the thread that waits
                    self.error = error
                if next(self.done) == len(self.results):
                    self.finished.release()
        except IndexError:  # nothing is left
            pass
        finally:
            _mine.busy = False


def _start_helpers() -> None:
    global _helpers
    while _helpers < count() - 1:
        _helpers += 1
        threading.Thread(target=_help, args=(_waiting,), name=f"minisets-{_helpers}", daemon=True).start()


def _help(waiting: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        waiting.get()()


def _forget_helpers() -> None:
    """In a forked child: threads are not inherited."""
    global _helpers, _waiting
    _helpers, _waiting = 0, SimpleQueue()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


class _SingleThreadedBlas:
    """Inside `with single_threaded_blas:` BLAS keeps to one thread.

    It may be entered again inside, and from several threads.
    """

    def __init__(self) -> None:
        self.inside, self.before, self.lock = 0, 1, threading.Lock()

    def __enter__(self) -> None:
        count()  # asks BLAS for its number of threads before it is told another
        with self.lock:
            self.inside += 1
            if self.inside == 1 and _blas:
                self.before = _blas[0]()
                _blas[1](1)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and _blas:
                _blas[1](self.before)


single_threaded_blas = _SingleThreadedBlas()
