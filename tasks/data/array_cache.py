"""Arrays that take minutes to read from many files: built once, saved as .npy files, and memory-mapped from then on."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from minisets.files import DamagedFile, atomic_write, npy_header, open_regular
from tasks.data.locations import DataError, cache_folder

try:
    import fcntl
except ImportError:  # Windows has no flock: there, two processes may both build the same array
    fcntl = None

HEADER_BYTES, CHECKSUM_BYTES = 2**16, 4  # at most, around an array


def cached_array(name: str, sources: Iterable[Path], shape: tuple[int, ...], dtype: str, items: Iterable) -> np.ndarray:
    """The array of this shape whose rows are the items, read-only and memory-mapped.

    If it is not in the cache, or damaged there, it is built from the items one at a time, with a progress bar.  Its
    file name contains a hash of the sources' paths, sizes and modification times, so changed sources get a new array.
    """
    path = cache_folder() / f"{name}-{_digest(sources, shape, dtype)}.npy"
    array = _open(path, shape, dtype)
    if array is None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _exclusive(path.parent):
                array = _open(path, shape, dtype)  # another process may have built it in the meantime
                if array is None:
                    _write(path, shape, dtype, _read(items, path))
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror or error}") from None
        array = _open(path, shape, dtype) if array is None else array
    if array is None:
        raise DataError(f"{path} was written but cannot be read back; set MINISETS_DATA to a folder on another disk")
    return array


def _digest(sources: Iterable[Path], shape: tuple[int, ...], dtype: str) -> str:
    digest = hashlib.sha256(repr((shape, dtype)).encode())
    for source in sources:
        try:
            status = source.stat()
        except OSError as error:
            raise DataError(f"cannot read {source}: {error.strerror or error}") from None
        digest.update(repr((str(source), status.st_size, status.st_mtime_ns)).encode())
    return digest.hexdigest()[:12]


def _open(path: Path, shape: tuple[int, ...], dtype: str) -> np.ndarray | None:
    """The cached array, or None if the file is missing, damaged or has another shape or dtype."""
    length = math.prod(shape) * np.dtype(dtype).itemsize
    with contextlib.suppress(OSError, ValueError, DamagedFile), open_regular(path, length + HEADER_BYTES) as file:
        *found, header = npy_header(file)
        file.seek(header + length)
        checksum = file.read()
        if found == [shape, False, np.dtype(dtype)] and len(checksum) == CHECKSUM_BYTES:
            array = np.memmap(file, dtype, "r", header, shape)
            if zlib.crc32(array.data) == int.from_bytes(checksum, "little"):
                return array
    return None


def _read(items: Iterable, path: Path) -> Iterator:
    """The items; if reading one fails, the cache is not to blame."""
    try:
        yield from items
    except OSError as error:
        source = error.filename or f"what {path} is made from"
        raise DataError(f"cannot read {source}: {error.strerror or error}") from None


def _write(path: Path, shape: tuple[int, ...], dtype: str, items: Iterable) -> None:
    """Write a .npy file.  After the array it has a CRC-32 of it, which NumPy ignores."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    print(f"building {path} (only once)", file=sys.stderr)
    look = {"total": shape[0], "unit": " items", "dynamic_ncols": True, "disable": None}  # None: only on a terminal
    checksum, rows = 0, 0
    with atomic_write(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for item in tqdm(items, **look):
            row = np.ascontiguousarray(item, dtype=dtype)
            if row.shape != shape[1:]:
                raise ValueError(f"an item of {path.name} must have the shape {shape[1:]}, given {row.shape}")
            file.write(row.data)
            checksum, rows = zlib.crc32(row.data, checksum), rows + 1
        if rows != shape[0]:
            raise ValueError(f"{path.name} must have {shape[0]:,} items, given {rows:,}")
        file.write(checksum.to_bytes(CHECKSUM_BYTES, "little"))


@contextlib.contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Wait for exclusive access to the cache folder, then remove what killed processes left behind."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot lock; there it is as on Windows
            fcntl.flock(handle, fcntl.LOCK_EX)
            for leftover in folder.glob(".*.unfinished"):
                leftover.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)
