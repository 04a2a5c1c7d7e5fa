"""A sweep under mpiexec: rank 0 plans, watches and prints, and each other rank runs a cell at a time.

mpi4py is imported only here, and only if mpiexec started this process.  When mpiexec is told to stop, it kills all
ranks within a fraction of a second; the children outlive their ranks for as long as they need to save (child.py).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from minisets.distributed.launcher import import_mpi


def terminal_size() -> os.terminal_size | None:
    """The size of the terminal that mpiexec prints to; None if it is not a terminal, or if that cannot be known."""
    try:
        with open(f"/proc/{os.getppid()}/fd/1") as output:
            return os.get_terminal_size(output.fileno())
    except OSError:  # a file or a pipe, a system without /proc, or mpiexec is on another machine
        return None


def spread(prepare: Callable[[], Any], perform: Callable[[Any, Executor | None, int], int]) -> int:
    """Prepare on rank 0 and perform there, with the other ranks as workers; its exit code, and 0 on the others.

    A rank that is alone gets no executor.
    """
    world = import_mpi().COMM_WORLD
    from mpi4py.futures import MPICommExecutor

    threading.Thread(target=_end_with_mpiexec, daemon=True).start()
    request, failure = None, None
    if world.rank == 0:
        try:
            request = prepare()
        except BaseException as error:  # --help, a bad request: the others must not wait for ever
            failure = error
    if world.bcast(failure is not None or isinstance(request, int)):
        if failure is not None:
            raise failure
        return request or 0
    if world.size == 1:
        return perform(request, None, 0)
    code = 0
    with MPICommExecutor(world, root=0) as executor:
        if executor is not None:
            code = perform(request, executor, world.size - 1)
    return code


def _end_with_mpiexec() -> None:
    """Ranks outlive a killed mpiexec; then nobody can stop them any more."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
