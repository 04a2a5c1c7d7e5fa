"""Arrays and devices: the only file that computes with both NumPy and CuPy.

An array is on a device, named "cpu", "cuda" (the current GPU) or "cuda:1" (the second one).  The rest of the project
gets the module that computes with x from `array_module(x)`, calls it `xp`, and uses the NumPy API.

CuPy is imported only when a GPU is first requested (cupy_import.py): the project imports and runs without it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from types import ModuleType
from typing import Any

import numpy as np

from autograd.cupy_import import import_cupy

Array = Any  # numpy.ndarray or cupy.ndarray, which share NumPy's interface


def array_module(*values: Any) -> ModuleType:
    """The module that computes with these values: cupy if one of them is a CuPy array, otherwise numpy."""
    cupy = sys.modules.get("cupy")  # no CuPy array can exist before cupy has been imported
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
    """The array on the device: itself if it is already there, otherwise a copy.

    "cuda:1" also makes that GPU the current one, on which subsequent operations run.
    """
    if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise ValueError(f"unknown device {device!r}; expected 'cpu', 'cuda' or 'cuda:1'")
    if device == "cpu":
        return to_host(array)
    cupy = import_cupy(device)
    _, _, index = device.partition(":")
    if not index:
        return cupy.asarray(array)
    cupy.cuda.Device(int(index)).use()
    return array if device_of(array) == device else cupy.array(array)


def to_host(array: Array) -> np.ndarray:
    """The array as a NumPy array: itself if it is one, otherwise a copy."""
    return np.asarray(array) if array_module(array) is np else array.get()


def to_pinned_host(array: Array) -> np.ndarray:
    """A CuPy array copied to pinned host memory, which a GPU exchanges without a copy in between."""
    import cupyx

    return array.get(out=cupyx.empty_pinned(array.shape, array.dtype))


def same_device(array: Array, other: Array) -> bool:
    """Whether two arrays are on the same device, so that an operation can combine them."""
    return type(array) is type(other) is np.ndarray or device_of(array) == device_of(other)


def to_device_of(array: Array, other: Array) -> Array:
    """The array on another array's device."""
    return array if same_device(array, other) else to_device(array, device_of(other))


def device_guard(*values: Any) -> Any:
    """`with device_guard(x):` makes x's GPU the current one, on which CuPy computes and allocates.

    x is the first CuPy array among the values; without one, nothing changes.
    """
    cupy = array_module(*values)
    return _NO_GUARD if cupy is np else next(x for x in values if isinstance(x, cupy.ndarray)).device


_NO_GUARD = contextlib.nullcontext()


def gpu() -> ModuleType:
    """The module cupy, for callers that hold a CuPy array, so that it has been imported."""
    return sys.modules["cupy"]


# ---- the few functions whose name or location differs between the two -----------------------------------------------


def scatter_add(target: Array, index: Any, values: Array) -> None:
    """target[index] += values in place, except that an index that occurs twice adds twice (+= would add once)."""
    array_module(target).add.at(target, index, values)


def as_strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of the array's memory with the given shape and strides: overlapping windows without a copy."""
    return array_module(array).lib.stride_tricks.as_strided(array, shape, strides)


def special(array: Array) -> Any:
    """The module of special functions for the array, scipy.special or its CuPy twin: special(x).gammaln(x)."""
    if array_module(array) is np:
        import scipy.special  # here, because it takes longer to import than all the rest

        return scipy.special
    import cupyx.scipy.special

    return cupyx.scipy.special
