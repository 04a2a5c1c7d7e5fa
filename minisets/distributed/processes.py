"""World: the processes of a job, and what they do together."""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
import time
import traceback
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd import Tensor, backend
from autograd.backend import Array, array_module
from minisets.checkpoint import array_as_json, json_as_array
from minisets.distributed.launcher import import_mpi, launched_processes, takes_device_memory
from minisets.distributed.layers import WholeBatchDropout, WholeBatchNorm
from minisets.nn import BatchNorm, Dropout, Module
from minisets.optim import Optimizer

PATIENT_AFTER = 0.005  # seconds of waiting after which a process sleeps between two looks


class World:
    """`size` processes, of which this one is number `rank`, from 0.

    Its methods are collective: every process must call them, in the same order, and each waits for the others.
    """

    def __init__(self, comm: Any = None) -> None:
        self.comm = comm
        self.rank: int = 0 if comm is None else comm.Get_rank()
        self.size: int = 1 if comm is None else comm.Get_size()
        self.weight = 1 / self.size  # of this process in averages: its share of the batch
        self.parent = os.getppid()
        self.device_memory = comm is not None and takes_device_memory(import_mpi())

    # ---- sharing a batch --------------------------------------------------------------------------------------------

    def rows(self, n: int) -> slice:
        """This process's part of n rows: consecutive ones, of almost the same number in every process."""
        if n < self.size:
            raise ValueError(f"a batch of {n} cannot be shared by {self.size} processes; each needs a row at least")
        part = slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)
        self.weight = (part.stop - part.start) / n
        return part

    def scatter(self, *arrays: Any) -> Any:
        """This process's rows of arrays that every process has whole, as when all sample them with the same seed."""
        lengths = {len(array) for array in arrays}
        if len(lengths) != 1:
            raise ValueError(f"expected arrays with the same number of rows, given {sorted(lengths) or 'none'}")
        part = self.rows(lengths.pop())
        shares = tuple(array[part] for array in arrays)
        return shares if len(shares) > 1 else shares[0]

    def average_gradients(self, parameters: Iterable[Tensor], *values: float) -> list[float]:
        """Replace each gradient by ḡ = Σ wᵣ gᵣ over the processes r, with wᵣ the fraction of the batch that r had.

        If each process's loss is the mean over its rows, ḡ is the gradient of the mean over the whole batch.  Returns
        the averages of `values`, such as the loss, which travel along: all of it is one Allreduce.
        """
        if self.size == 1:
            return [float(value) for value in values]
        parameters = list(parameters)
        xp, like = array_module(parameters[0].data), parameters[0].data
        with backend.device_guard(like):
            # A parameter that the loss of no process depends on keeps None, as it would in one process.
            tail = xp.asarray([*(p.grad is not None for p in parameters), *values], dtype=like.dtype)
            parts = [xp.zeros_like(p.data) if p.grad is None else p.grad for p in parameters]
            flat = xp.concatenate([*(part.reshape(-1) for part in parts), tail])
            flat *= self.weight
            self.sum(flat)
            present, averages = np.split(backend.to_host(flat[-len(tail) :]), [len(parameters)])
            ends = itertools.accumulate(p.size for p in parameters)
            for p, end, is_present in zip(parameters, ends, present, strict=True):
                p.grad = flat[end - p.size : end].reshape(p.shape) if is_present else None
        return averages.tolist()

    def join(self, net: Module, optimizer: Optimizer | None = None) -> None:
        """Give every process the weights, optimizer state and random generators of process 0.

        BatchNorm and Dropout compute from now on as if this process saw the whole batch (layers.py).
        """
        if self.size == 1:
            return
        parts: list[Module | Optimizer] = [net] if optimizer is None else [net, optimizer]
        for part in parts:
            state = part.state_dict()
            for array in state.values():
                self.broadcast(array)
            part.load_state_dict(state)
        states = [rng.bit_generator.state for _, rng in net.named_generators()]
        states = json.loads(self.broadcast_text(json.dumps(states, default=array_as_json)), object_hook=json_as_array)
        for (_, rng), state in zip(net.named_generators(), states, strict=True):
            rng.bit_generator.state = state
        for module in net.modules():
            # The layer keeps its Tensors, which an optimizer may hold, and its name in checkpoints.
            become = {BatchNorm: WholeBatchNorm, Dropout: WholeBatchDropout}.get(type(module))
            if become is not None:
                module.__class__ = become
                module.world = self  # type: ignore[attr-defined]

    # ---- what these are made of -------------------------------------------------------------------------------------

    def sum(self, array: Array) -> None:
        """Replace an array by its sum over all processes, in place: Allreduce."""
        if self.size == 1:
            return
        through_host = backend.on_gpu(array) and not self.device_memory
        memory = backend.to_pinned_host(array) if through_host else array
        if memory is array and backend.on_gpu(array):
            backend.gpu().cuda.get_current_stream().synchronize()  # MPI does not know of CUDA's queue
        self._meet()
        self.comm.Allreduce(import_mpi().IN_PLACE, memory)
        if through_host:
            array.set(memory)

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The arrays of all processes, stacked by rank: (size, ...)."""
        gathered = np.empty((self.size, *array.shape), array.dtype)
        if self.size == 1:
            gathered[0] = array
        else:
            self._meet()
            self.comm.Allgather(np.ascontiguousarray(array), gathered)
        return gathered

    def broadcast(self, array: np.ndarray) -> None:
        """Overwrite an array, in place, with that of process 0."""
        if self.size > 1:
            self._meet()
            self.comm.Bcast(array, root=0)

    def broadcast_text(self, text: str = "") -> str:
        """The text of process 0."""
        length = np.array([len(text.encode())], dtype=np.int64)
        self.broadcast(length)
        content = np.zeros(length[0], dtype=np.uint8)
        if self.rank == 0:
            content[:] = np.frombuffer(text.encode(), dtype=np.uint8)
        self.broadcast(content)
        return content.tobytes().decode()

    def _meet(self) -> None:
        """Wait until all processes are here, in Python, so that signals are handled and others may have the core.

        What follows then takes no longer than the exchange itself, and MPI's blocking functions are its fastest.
        """
        begun, everybody = time.perf_counter(), self.comm.Ibarrier()
        while not everybody.Test():
            if time.perf_counter() - begun < PATIENT_AFTER:
                _let_others_run()
            else:
                time.sleep(1e-4)

    # ---- the job itself ---------------------------------------------------------------------------------------------

    def orphaned(self) -> bool:
        """Whether the launcher of this process is gone (mpiexec was killed): nobody will end the job any more."""
        return self.size > 1 and os.getppid() != self.parent

    def local_rank(self) -> int:
        """The number of this process among those on the same machine, for choosing a GPU."""
        return 0 if self.comm is None else self.comm.Split_type(import_mpi().COMM_TYPE_SHARED).Get_rank()

    def abort(self, code: int) -> None:
        """End all processes of the job at once, because this one cannot go on and the others would wait for it."""
        if self.size > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            self.comm.Abort(code)

    def __deepcopy__(self, memo: Any) -> World:
        return self  # a copied network belongs to the same world


def _let_others_run() -> None:
    """Give up the core for a moment if another process waits for it; a sleep of 0 seconds takes 75 µs on Linux."""
    os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)


@functools.cache
def world(required: bool = False) -> World:
    """All processes that mpiexec started, connected; without mpiexec a world of one, which does not need MPI.

    An exception that one of several processes does not catch ends all of them, with its traceback.
    If required, a missing mpi4py is an error even for one process.
    """
    if launched_processes() == 1 and not required:
        return World()
    everybody = World(import_mpi().COMM_WORLD)
    if everybody.size > 1:
        sys.excepthook = functools.partial(_abort, everybody)
    return everybody


def _abort(everybody: World, *exception: Any) -> None:
    print(f"process {everybody.rank} of {everybody.size}:", file=sys.stderr)
    traceback.print_exception(*exception)
    everybody.abort(1)
