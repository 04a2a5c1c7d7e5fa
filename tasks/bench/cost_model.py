"""How long a training step takes that P processes share: a model with a handful of measured numbers.

    T(P, B) = fixed + whole · B + work · ⌈B / P⌉ + (P > 1) · (packing + Σ exchanges)

    fixed       what does not depend on the batch: Python's own time, and the step of the optimizer
    whole       per set of the whole batch, in every process: sampling it, and the random numbers of dropout
    work        per set of a process's own share: forward and backward
    packing     copying all gradients into one array and back
    exchanges   a sum of all gradients; two gathers and a sum for each layer of batch norm, a gather for each dropout

    sum(P, n)    = 2 ⌈log₂ P⌉ α + 2 (P − 1)/P · n / β        of n bytes: Allreduce
    gather(P, n) =   ⌈log₂ P⌉ α +     (P − 1) · n / β        of n bytes from each process: Allgather

with the latency α of the network in seconds, and its bandwidth β in bytes per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

Exchange = tuple[str, int]  # "sum" or "gather", and its bytes
Row = dict[str, Any]  # what was measured of an experiment: an entry of scaling.json


@dataclass(frozen=True)
class Network:
    """What connects the processes."""

    latency: float  # α, seconds
    bandwidth: float  # β, bytes per second

    def sum(self, P: int, n: float) -> float:
        return 2 * math.ceil(math.log2(P)) * self.latency + 2 * (P - 1) / P * n / self.bandwidth

    def gather(self, P: int, n: float) -> float:
        return math.ceil(math.log2(P)) * self.latency + (P - 1) * n / self.bandwidth


@dataclass(frozen=True)
class TwoProcesses:
    """Two processes of the machine that was measured: no formula, but its own times, interpolated between the sizes."""

    sums: Sequence[tuple[int, float]]  # bytes and seconds

    def sum(self, P: int, n: float) -> float:
        sizes, seconds = np.log(np.array(self.sums)).T
        return float(np.exp(np.interp(np.log(n), sizes, seconds)))

    gather = sum


@dataclass(frozen=True)
class Costs:
    """Of a training step, in seconds."""

    fixed: float
    whole: float
    work: float
    packing: float
    exchanges: Sequence[Exchange]

    def compute(self, P: int, B: float) -> float:
        """What a process does between exchanges."""
        return self.fixed + self.whole * B + self.work * math.ceil(B / P) + (self.packing if P > 1 else 0.0)

    def exchange(self, P: int, network: Network | TwoProcesses) -> float:
        return sum(getattr(network, kind)(P, n) for kind, n in self.exchanges) if P > 1 else 0.0

    def step(self, P: int, B: float, network: Network) -> float:
        """T(P, B)"""
        return self.compute(P, B) + self.exchange(P, network)

    def speedup(self, P: int, B: float, network: Network) -> float:
        """T(1, B) / T(P, B)"""
        return self.step(1, B, network) / self.step(P, B, network)

    def batch_that_pays(self, P: int, network: Network) -> int | None:
        """The smallest batch, a multiple of P, with T(1, B) ≥ ½ P T(P, B): an efficiency of 50 %; None if none has it.

        With x = packing + Σ exchanges, B = (½ P (fixed + x) − fixed) / (½ work − (½ P − 1) whole).
        """
        x = self.packing + self.exchange(P, network)
        gain = self.work / 2 - (P / 2 - 1) * self.whole
        if gain <= 0:
            return None
        return P * max(1, math.ceil((P / 2 * (self.fixed + x) - self.fixed) / gain / P))

    def most(self) -> float:
        """What the speedup tends to with ever larger batches on ever more processes: 1 + work / whole."""
        return 1 + self.work / self.whole if self.whole else math.inf


# ---- from measurements ----------------------------------------------------------------------------------------------


def fit_costs(points: Sequence[Mapping[str, Any]], exchanges: Sequence[Exchange]) -> Costs:
    """Costs of at least 0 with the smallest sum of squared relative errors.

    A point has the seconds of a step of one process without the others: its `batch`, the `size` of the world whose last
    process it was, and the part of the seconds that was `packing`.
    """
    seconds = np.array([point["seconds"] - (point["packing"] if point["size"] > 1 else 0) for point in points])
    terms = np.array([[1, point["batch"], math.ceil(point["batch"] / point["size"])] for point in points])
    (fixed, whole, work), _ = nnls(terms / seconds[:, None], np.ones(len(points)))
    packing = float(np.median([point["packing"] for point in points if point["size"] > 1]))
    return Costs(float(fixed), float(whole), float(work), packing, exchanges)


def fit_network(sums: Sequence[tuple[int, float]]) -> Network:
    """Latency and bandwidth from the seconds of sums of n bytes by two processes: 2 α + n / β."""
    n, seconds = np.array(sums).T
    terms = np.stack([2 * np.ones_like(n), n], axis=1)
    (latency, inverse_bandwidth), _ = nnls(terms / seconds[:, None], np.ones_like(n))
    return Network(float(latency), float(1 / inverse_bandwidth))


def costs_of(row: Row) -> Costs:
    return fit_costs(row["points"], row["exchanges"])


def predicted(row: Row, P: int, here: TwoProcesses) -> float:
    """The seconds of a step on the machine of the measurements: of one process, or of two that keep its cores busy."""
    costs, B = costs_of(row), row["batch"]
    return (row["busy"] if P > 1 else 1) * costs.compute(P, B) + costs.exchange(P, here)
