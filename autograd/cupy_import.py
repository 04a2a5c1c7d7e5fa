"""Importing CuPy when a GPU is requested, and trying the GPU: what is missing is one sentence."""

from __future__ import annotations

import functools
from types import ModuleType

INSTALL = "pip install 'cupy-cuda12x[ctk]'"  # CuPy, and the CUDA libraries that it compiles and multiplies with


class DeviceError(RuntimeError):
    """A requested device is not available on this machine."""


def import_cupy(device: str) -> ModuleType:
    """The module cupy, for a requested device; a DeviceError reports what is missing."""
    try:
        import cupy
    except ImportError:
        raise DeviceError(
            f"device {device!r} was requested, but CuPy is not installed; "
            f"install it and the CUDA libraries with {INSTALL}, or use device 'cpu'"
        ) from None
    if not cupy.cuda.is_available():
        raise DeviceError(
            f"device {device!r} was requested, but CuPy finds no CUDA GPU on this machine; "
            "check that nvidia-smi lists one, or use device 'cpu'"
        )
    _, _, index = device.partition(":")
    count = cupy.cuda.runtime.getDeviceCount()
    if index and int(index) >= count:
        raise DeviceError(f"device {device!r} was requested, but CuPy finds {count} GPU(s), numbered from cuda:0")
    try:
        _probe(cupy, int(index) if index else cupy.cuda.Device().id)
    except Exception as error:  # CuPy raises many kinds, depending on what is missing
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise DeviceError(
            f"device {device!r} was requested, but CuPy cannot compute on it ({reason}); "
            f"install the CUDA libraries with {INSTALL}, check the driver with nvidia-smi, or use device 'cpu'"
        ) from error
    return cupy


@functools.cache
def _probe(cupy: ModuleType, index: int) -> None:
    """Compile and launch a kernel and compute a product on a GPU, once: CuPy loads the libraries for it when needed."""
    with cupy.cuda.Device(index):
        ones = cupy.ones((2, 2), "float32")
        if float((ones @ ones + 1).sum()) != 12:
            raise ArithmeticError("ones((2, 2)) @ ones((2, 2)) + 1 is not 3")
