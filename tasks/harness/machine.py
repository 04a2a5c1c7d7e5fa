"""The machine and the software of a run, waiting for a device, and measuring memory."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import platform
import re
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

try:
    import resource
except ImportError:  # not POSIX
    resource = None

import autograd
from autograd.cupy_import import import_cupy

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ROOT = Path(__file__).resolve().parents[2]  # of the checkout, where this is one


def describe(device: str) -> dict[str, str]:
    """A description of the device: for a GPU, its name, driver and versions."""
    if device == "cpu":
        return {"device": "cpu", "numpy": np.__version__}
    cupy = import_cupy(device)
    _, _, index = device.partition(":")
    runtime, number = cupy.cuda.runtime, int(index) if index else cupy.cuda.Device().id
    about = runtime.getDeviceProperties(number)

    def version(number: int) -> str:  # 12090 is 12.9
        return f"{number // 1000}.{number % 1000 // 10}"

    driver = Path("/proc/driver/nvidia/version")  # on Linux; elsewhere, CUDA's version has to do
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
    """Wait until a GPU has finished its queued work; on the CPU there is nothing to wait for."""
    if device != "cpu":
        import_cupy(device).cuda.get_current_stream().synchronize()


def responds(device: str) -> bool:
    """False once a GPU can do nothing more in this process, as after an illegal memory access."""
    try:
        synchronize(device)
    except Exception:  # CuPy's errors; there is no use in telling them apart
        return False
    return True


def keep_memory() -> bool:
    """Make the C library keep freed memory for the next arrays; True if it can (glibc).

    By default every large array is returned to the kernel when it is freed and requested again a moment later, page by
    page.  A training step allocates arrays of the same sizes over and over, and is faster without that.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not glibc
        return False
    M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD = -4, -1, -2  # from malloc.h
    return bool(mallopt(M_MMAP_MAX, 0) & mallopt(M_TRIM_THRESHOLD, 2**31 - 1) & mallopt(M_TOP_PAD, 64 * 2**20))


def memory() -> float:
    """The bytes of memory that this machine has; infinity where it cannot be known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not POSIX
        return math.inf


def peak_memory(function: Callable[[], Any], device: str) -> int:
    """The peak memory, in bytes, of the arrays that the function creates."""
    if device != "cpu":
        pool = import_cupy(device).get_default_memory_pool()
        pool.free_all_blocks()
        before = pool.total_bytes()
        function()
        return pool.total_bytes() - before  # the pool never shrinks
    tracemalloc.start()  # NumPy reports every array to it
    try:
        before, _ = tracemalloc.get_traced_memory()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def peak_of_process() -> float:
    """The largest amount of memory, in bytes, that this process has had so far; nan where it cannot be known."""
    if resource is None:
        return math.nan
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if platform.system() == "Darwin" else peak * 1_024)


# ---- what a result may depend on ------------------------------------------------------------------------------------


def environment(device: str = "cpu") -> dict[str, Any]:
    """Versions, machine and commit: what the last bits of a result may depend on; on a GPU, its driver and CUDA too."""
    versions = {"minisets": autograd.__version__, "python": platform.python_version()}
    versions |= {"numpy": np.__version__, "scipy": scipy.__version__}
    with contextlib.suppress(Exception):  # NumPy's build information differs between builds
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        versions["blas"] = f"{blas['name']} {blas['version']}"
    threads = {name: os.environ[name] for name in THREADS if name in os.environ}
    machine = {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count(), "threads": threads}
    if device != "cpu":
        gpu = describe(device)
        versions |= {name: gpu.pop(name) for name in ("cupy", "CUDA", "driver")}
        machine |= gpu
    return {"versions": versions, "machine": machine, "source": dict(_commit())}


@functools.cache
def _commit() -> dict[str, Any]:
    """The commit of this checkout, and whether the tree had no changes; nothing where it is not a checkout."""
    if not (ROOT / ".git").exists():
        return {}
    try:
        git = functools.partial(subprocess.run, capture_output=True, text=True, cwd=ROOT, timeout=20, check=True)
        commit = git(["git", "rev-parse", "HEAD"]).stdout.strip()
        # Without optional locks, as git calls them, nothing is written that would stay if this process is killed.
        status = git(["git", "--no-optional-locks", "status", "--porcelain"])
        return {"commit": commit, "clean": not status.stdout.strip()}
    except (OSError, subprocess.SubprocessError):  # no git, or it refuses
        return {}


def _processor() -> str:
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo") as file:
        return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    return platform.processor() or platform.machine()
