"""Chapter 24, several processes: write your answers here, then run python -m pytest docs/exercises/test_ch24.py

No MPI is needed: a process is an entry of a list.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def shares(B: int, P: int) -> list[slice]:
    """The rows of a batch of B that each of P processes takes: consecutive ones, sizes that differ by one at most."""
    raise NotImplementedError


def average(gradients: list[Array], sizes: list[int]) -> Array:
    """The gradient of the mean over the whole batch, from those of the means over the shares, of the given sizes."""
    raise NotImplementedError


def statistics(parts: list[tuple[int, Array, Array]]) -> tuple[Array, Array]:
    """Mean and variance over the whole batch, for batch norm, from each process's (n, mean, variance) over its rows.

    All variances are divided by n.  They must stay right when the means are large and the variances small.
    """
    raise NotImplementedError


def ring_allreduce(arrays: list[Array]) -> tuple[list[Array], list[int]]:
    """What every process has after an Allreduce, the sum of all arrays (n,), and how many numbers each has sent.

    In a ring, process r sends only to r + 1.  Cut the arrays into P pieces.  In P − 1 steps each process passes on one
    piece, which the receiver adds to its own; then in P − 1 steps the finished pieces go round.  No process may send
    more than 2 (P − 1) ⌈n / P⌉ numbers.
    """
    raise NotImplementedError


def step_time(P: int, B: int, fixed: float, whole: float, work: float) -> float:
    """The chapter's model of a step that P processes share, without packing and exchanges."""
    raise NotImplementedError


def smallest_batch(P: int, fixed: float, whole: float, work: float) -> int | None:
    """The smallest batch that P divides with which P processes are at least P / 2 times as fast as one, or None.

    Without packing and exchanges.  Do not search through all batches: solve the inequality.
    """
    raise NotImplementedError
