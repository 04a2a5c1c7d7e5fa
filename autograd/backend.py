"""Where arrays live: the one file that knows of both NumPy and CuPy.

An array is on a device, named "cpu", "cuda" (the current GPU) or "cuda:1" (the second one).  Everything else in the
project asks `array_module(x)` for the module that computes with x, calls it `xp`, and writes NumPy.

CuPy is imported when a GPU is first asked for and never before: the project runs, and imports, without it.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import scipy.special

Array = Any  # numpy.ndarray or cupy.ndarray: NumPy's interface, wherever the numbers are


class DeviceError(RuntimeError):
    """A device was asked for that this machine cannot offer."""


def array_module(*values: Any) -> ModuleType:
    """The module that computes with these values: cupy if one of them is a CuPy array, otherwise numpy."""
    cupy = sys.modules.get("cupy")  # nobody can hold a CuPy array before somebody has imported cupy
    if cupy is not None:
        for value in values:
            if isinstance(value, cupy.ndarray):
                return cupy
    return np


def on_gpu(value: Any) -> bool:
    """True for a CuPy array."""
    return array_module(value) is not np


def is_array(value: Any) -> bool:
    """True for a NumPy or CuPy array (a NumPy scalar is not one)."""
    return isinstance(value, np.ndarray) or on_gpu(value)


def device_of(array: Array) -> str:
    """The name of its device: "cpu", or "cuda:0" for an array on the first GPU."""
    return "cpu" if array_module(array) is np else f"cuda:{array.device.id}"


def to_device(array: Array, device: str) -> Array:
    """The array on the device: itself if it is there already, otherwise a copy.

    Asking for "cuda:1" also makes that GPU the current one, on which the operations that follow run.
    """
    if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise ValueError(f"unknown device {device!r}; expected 'cpu', 'cuda' or 'cuda:1'")
    if device == "cpu":
        return to_host(array)
    cupy = import_cupy(device)
    _, _, index = device.partition(":")
    if not index:
        return cupy.asarray(array)
    if int(index) >= cupy.cuda.runtime.getDeviceCount():
        count = cupy.cuda.runtime.getDeviceCount()
        raise DeviceError(f"device {device!r} was asked for, but CuPy finds {count} GPU(s), counted from cuda:0")
    cupy.cuda.Device(int(index)).use()
    return array if device_of(array) == device else cupy.array(array)


def to_host(array: Array) -> np.ndarray:
    """The array in NumPy: itself if it is there already, otherwise a copy."""
    return np.asarray(array) if array_module(array) is np else array.get()


def same_device(array: Array, other: Array) -> bool:
    """Whether two arrays can be computed with together."""
    return type(array) is type(other) is np.ndarray or device_of(array) == device_of(other)


def beside(array: Array, other: Array) -> Array:
    """The array on the device of another one."""
    return array if same_device(array, other) else to_device(array, device_of(other))


def gpu() -> ModuleType:
    """The module cupy, for whoever holds one of its arrays."""
    return sys.modules["cupy"]


def import_cupy(device: str) -> ModuleType:
    """The module cupy, for a device that was asked for, or a sentence about what is missing."""
    try:
        import cupy
    except ImportError:
        raise DeviceError(
            f"device {device!r} was asked for, but CuPy is not installed; "
            "install it with pip install 'minisets[gpu]', or use device 'cpu'"
        ) from None
    if not cupy.cuda.is_available():
        raise DeviceError(
            f"device {device!r} was asked for, but CuPy finds no CUDA GPU on this machine; "
            "check that nvidia-smi lists one, or use device 'cpu'"
        )
    return cupy


# ---- the few functions whose name or place differs between the two ------------------------------------------------


def scatter_add(target: Array, index: Any, values: Array) -> None:
    """target[index] += values in place, where an index that occurs twice adds twice (plain += would add once)."""
    array_module(target).add.at(target, index, values)


def as_strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of the array's memory with another shape and other strides: overlapping windows without a copy."""
    return array_module(array).lib.stride_tricks.as_strided(array, shape, strides)


def log_gamma(array: Array) -> Array:
    """log Γ(x), so that log k! = log Γ(k + 1)."""
    if array_module(array) is np:
        return scipy.special.gammaln(array)
    import cupyx.scipy.special

    return cupyx.scipy.special.gammaln(array)
