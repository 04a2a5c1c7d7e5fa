"""A case of a kernel: its arguments, how they come to a device, and the error of what the kernel makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.backend import Array, as_strided, to_host
from autograd.kernels.registry import KERNELS

TOLERANCES = {"float32": 2e-5, "float64": 1e-12}  # for `relative_error`


@dataclass(frozen=True)
class Case:
    """A kernel and its arguments; floating arrays are converted to the dtype under test."""

    kernel: str
    arguments: tuple[Any, ...]
    label: str
    exact_zeros: bool = False  # where the reference is exactly 0, the kernel has to be, too

    def __str__(self) -> str:
        return f"{self.kernel}: {self.label}"

    def on_device(self, dtype: str, move: Callable[[np.ndarray], Array]) -> list[Any]:
        """The arguments in this dtype, on the device that move() copies arrays to."""
        converted = [x.astype(dtype) if is_floating(x) else x for x in self.arguments]
        return [
            with_strides_of(old, new, move) if isinstance(new, np.ndarray) else new
            for old, new in zip(self.arguments, converted, strict=True)
        ]

    def expected(self, dtype: str) -> list[np.ndarray]:
        """The reference's results in float64, for arguments rounded to the dtype."""
        rounded = [x.astype(dtype).astype("float64") if is_floating(x) else x for x in self.arguments]
        return results(KERNELS[self.kernel].reference(*rounded))

    def error(self, dtype: str, move: Callable[[np.ndarray], Array]) -> float:
        """The kernel's error on the device that move() copies arrays to."""
        actual = results(KERNELS[self.kernel].launch(*self.on_device(dtype, move)))
        others = [z.dtype for z in actual if z.dtype.kind == "f" and z.dtype != dtype]
        if others:
            raise TypeError(f"{self}: a result is {others[0]} instead of {dtype}")
        return self.deviation([to_host(z) for z in actual], dtype)

    def deviation(self, actual: list[np.ndarray], dtype: str) -> float:
        """The error of results for arguments in this dtype; inf if a zero is not exact that has to be."""
        pairs = list(zip(actual, self.expected(dtype), strict=True))
        if self.exact_zeros and any(a.shape == b.shape and np.any(a[b == 0] != 0) for a, b in pairs):
            return np.inf
        return max((relative_error(a, b) for a, b in pairs), default=0.0)


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    """max |actual − expected| / max(|expected|, 1); inf if the shapes or the positions of nan and inf differ."""
    actual, expected = np.asarray(actual, "float64"), np.asarray(expected, "float64")
    finite = np.isfinite(expected)
    if actual.shape != expected.shape or not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return np.inf
    actual, expected = actual[finite], expected[finite]
    if not np.isfinite(actual).all():
        return np.inf
    return float(np.abs(actual - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1))


def with_strides_of(old: np.ndarray, new: np.ndarray, move: Callable[[np.ndarray], Array]) -> Array:
    """`new` on the device, with the strides of `old`, in elements: transposed, broadcast, with gaps or reversed.

    Copying to a device makes an array contiguous, and kernels would never be tested on the views that networks pass.
    Gaps contain nan, or for a mask True.
    """
    if not old.size:
        return move(new)
    steps = [stride // old.itemsize for stride in old.strides]
    ends = [(size - 1) * step for size, step in zip(old.shape, steps, strict=True)]
    start = -sum(end for end in ends if end < 0)  # where the first element is in memory
    gap = np.nan if is_floating(new) else True
    memory = np.full(start + sum(end for end in ends if end > 0) + 1, gap, dtype=new.dtype)
    strides = tuple(step * new.itemsize for step in steps)
    as_strided(memory[start:], new.shape, strides)[...] = new
    return as_strided(move(memory)[start:], new.shape, strides)


def results(result: Any) -> list[Any]:
    """A kernel's results as a list, without None."""
    return [x for x in (result if isinstance(result, tuple) else (result,)) if x is not None]


def is_floating(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"
