"""The runtime library, as Python sees it: what is counted, in which order threads run, what is checked."""

import contextlib
import ctypes
from collections.abc import Iterator
from typing import NamedTuple

from .compiling import runtime_library
from .errors import KernelError


class Counts(NamedTuple):
    launches: int  # of kernels
    products: int  # calls of cuBLAS
    to_device: int  # copies
    to_host: int
    waits: int  # synchronisations
    allocations: int
    bytes_allocated: int
    bytes_handed: int  # of the allocations that each kernel, and the matrices that each product, was given


class _CountsInC(ctypes.Structure):
    """The same as Counts in python.h."""

    _fields_ = tuple((name, ctypes.c_long) for name in Counts._fields)


_library: ctypes.PyDLL | None = None


def load() -> ctypes.PyDLL:
    """The library; global, because the libraries of the kernels call it."""
    global _library
    if _library is None:
        library = ctypes.PyDLL(str(runtime_library()), mode=ctypes.RTLD_GLOBAL)
        library.emulation_set_error.argtypes = [ctypes.py_object]
        library.emulation_replace.argtypes = [ctypes.py_object, ctypes.c_void_p]
        library.emulation_schedule.argtypes = [ctypes.c_int, ctypes.c_uint]
        library.emulation_check.restype = ctypes.py_object
        library.emulation_live.restype = ctypes.c_long
        library.emulation_device_of.argtypes = [ctypes.c_size_t]
        library.emulation_holds.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
        library.emulation_record.argtypes = [ctypes.c_char_p]
        library.emulation_launched.argtypes = [ctypes.c_ssize_t]
        library.emulation_launched.restype = ctypes.py_object
        library.emulation_set_error(KernelError)
        _library = library
    return _library


# ---- counts ----------------------------------------------------------------------------------------------------------


def _counts_in_c() -> _CountsInC:
    return _CountsInC.in_dll(load(), "emulation_counts")


def counts() -> Counts:
    """What has happened since the emulation was installed."""
    counters = _counts_in_c()
    return Counts(*(getattr(counters, name) for name in Counts._fields))


def launched(first: int = 0) -> list[str]:
    """The names of the kernels launched since the emulation was installed, and "gemm" for a product, in order."""
    return load().emulation_launched(first)


class Counting:
    """What happens inside a `with`: the fields of Counts, and the names of what was launched."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.counts = Counts(*[0] * len(Counts._fields))

    def __getattr__(self, name: str) -> int:
        if name in Counts._fields:
            return getattr(self.counts, name)
        raise AttributeError(f"nothing is counted under the name {name}")


@contextlib.contextmanager
def counting() -> Iterator[Counting]:
    """`with counting() as c: ...`; afterwards c.launches and the others tell what happened inside."""
    result = Counting()
    before = counts()
    try:
        yield result
    finally:
        after = counts()
        result.counts = Counts(*(b - a for a, b in zip(before, after, strict=True)))
        result.names = launched(before.launches + before.products)


_GEMM = ctypes.c_char_p(b"gemm")  # here, because the library keeps the pointer


def record_product(bytes_handed: int) -> None:
    """Count a call of cuBLAS."""
    load().emulation_record(_GEMM)
    counters = _counts_in_c()
    counters.products += 1
    counters.bytes_handed += bytes_handed


# ---- memory ----------------------------------------------------------------------------------------------------------


def live() -> int:
    """The device allocations that have not been freed."""
    return load().emulation_live()


def check() -> None:
    """Raise a KernelError if something was written before the start of an allocation. (Past its end faults at once.)"""
    load().emulation_check()


def device_of(address: int) -> int:
    """The device whose memory this is in; -1 if it is in none."""
    return load().emulation_device_of(address)


def current_device() -> int:
    return load().runtime_getDevice(0)


def holds(address: int, size: int) -> bool:
    """Are these bytes inside one live allocation?"""
    return bool(load().emulation_holds(address, size))


@contextlib.contextmanager
def lasting_errors() -> Iterator[None]:
    """As on a GPU: after an illegal access every launch, copy and wait fails, until the end (there, of the process)."""
    load().emulation_errors_stay(1)
    try:
        yield
    finally:
        load().emulation_errors_stay(0)


# ---- schedules -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def only_ends(skipped: str = "") -> Iterator[None]:
    """Run only the first and the last block of each grid: for sizes at which all of them would take hours.

    Kernels whose name begins with `skipped` are not run at all.
    """
    load().emulation_only_ends(1, skipped.encode())
    try:
        yield
    finally:
        load().emulation_only_ends(0, b"")


_ORDERS = {"forward": 0, "reverse": 1}
_RANDOM = 2
_order = (0, 0)


@contextlib.contextmanager
def schedule(order: str | int) -> Iterator[None]:
    """Run threads and blocks "forward", in "reverse", or, for an int, at random with that seed, some warps stalling."""
    global _order
    if isinstance(order, str) and order not in _ORDERS:
        raise ValueError(f'a schedule is "forward", "reverse" or the seed of a random one, and not {order!r}')
    previous, _order = _order, ((_ORDERS[order], 0) if isinstance(order, str) else (_RANDOM, order))
    load().emulation_schedule(*_order)
    try:
        yield
    finally:
        _order = previous
        load().emulation_schedule(*_order)
