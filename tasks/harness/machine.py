"""The machine that the arrays are on: what it is called, how to wait for it, and how much memory it has used."""

from __future__ import annotations

import ctypes
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from autograd.backend import import_cupy


def describe(device: str) -> dict[str, str]:
    """What the device is, in words: a GPU with its driver and versions."""
    if device == "cpu":
        return {"device": "cpu", "numpy": np.__version__}
    cupy = import_cupy(device)
    runtime, about = cupy.cuda.runtime, cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)

    def version(number: int) -> str:  # 12090 is 12.9
        return f"{number // 1000}.{number % 1000 // 10}"

    driver = Path("/proc/driver/nvidia/version")  # Linux has it; elsewhere CUDA's version has to do
    found = re.search(r"\d+\.\d+(\.\d+)?", driver.read_text()) if driver.exists() else None
    return {
        "GPU": about["name"].decode(),
        "compute capability": f"{about['major']}.{about['minor']}",
        "memory": f"{about['totalGlobalMem'] / 2**30:.1f} GiB",
        "driver": (f"{found[0]}, " if found else "") + f"for CUDA {version(runtime.driverGetVersion())}",
        "CUDA": version(runtime.runtimeGetVersion()),
        "cupy": cupy.__version__,
    }


def synchronize(device: str) -> None:
    """Wait until a GPU has done what it was given; a CPU is never behind."""
    if device != "cpu":
        import_cupy(device).cuda.get_current_stream().synchronize()


def keep_memory() -> bool:
    """Ask the C library to keep freed memory for the next arrays; True if it can (glibc).

    By default it hands every large array back to the kernel when it is freed and asks for it anew a moment later, page
    by page.  A training step makes arrays of the same sizes again and again, and is faster without that.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library has no such function
        return False
    M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD = -4, -1, -2  # as malloc.h numbers them
    return bool(mallopt(M_MMAP_MAX, 0) & mallopt(M_TRIM_THRESHOLD, 2**31 - 1) & mallopt(M_TOP_PAD, 64 * 2**20))


def peak_memory(function: Callable[[], Any], device: str) -> int:
    """The most bytes that arrays made by the function held at one time."""
    if device != "cpu":
        pool = import_cupy(device).get_default_memory_pool()
        pool.free_all_blocks()
        before = pool.total_bytes()
        function()
        return pool.total_bytes() - before  # the pool keeps what it once had
    tracemalloc.start()  # NumPy tells it of every array
    try:
        before, _ = tracemalloc.get_traced_memory()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
