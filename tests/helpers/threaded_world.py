"""Several processes of a World, played by threads of one: what does not need MPI itself is tested without it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from minisets.distributed import World


class ThreadedWorld(World):
    """A World whose processes exchange arrays through a list."""

    def __init__(self, rank: int, size: int, barrier: threading.Barrier, slots: list[Any]) -> None:
        super().__init__()
        self.rank, self.size, self.weight = rank, size, 1 / size
        self.barrier, self.slots = barrier, slots

    def gather(self, array: np.ndarray) -> np.ndarray:
        self.slots[self.rank] = np.array(array)
        self.barrier.wait()
        gathered = np.stack(self.slots)
        self.barrier.wait()  # nobody overwrites what others have not read
        return gathered

    def sum(self, array: np.ndarray) -> None:
        array[...] = self.gather(array).sum(axis=0)

    def broadcast(self, array: np.ndarray) -> None:
        self.slots[self.rank] = np.array(array)
        self.barrier.wait()
        array[...] = self.slots[0]
        self.barrier.wait()


def in_world(size: int, work: Callable[[World], Any]) -> list[Any]:
    """work(world) of every process; the exception of one of them, if there is one, ends all."""
    barrier, slots, results = threading.Barrier(size, timeout=60), [None] * size, [None] * size
    errors: list[BaseException] = []

    def process(rank: int) -> None:
        try:
            results[rank] = work(ThreadedWorld(rank, size, barrier, slots))
        except threading.BrokenBarrierError as error:  # another one failed
            errors.append(error)
        except BaseException as error:
            errors.insert(0, error)
            barrier.abort()

    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
