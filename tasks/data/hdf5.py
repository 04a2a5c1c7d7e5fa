"""Reading arrays from HDF5 files with h5py, an optional package; every failure is a DataError.

An array's shape may claim more bytes than the file can hold, and a dataset may refer to other files; both are refused.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasks.data.locations import DataError
from tasks.data.reading import open_file

if TYPE_CHECKING:
    from h5py import Dataset

MAX_BYTES = 3 * 2**30  # of a file and of an array; the one from Zaheer et al. has 1.2 · 10⁹
MAX_COMPRESSION = 50  # points are close to random: gzip makes those of ModelNet40 smaller by a fifth at most


@contextlib.contextmanager
def open_array(path: Path, *keys: str) -> Iterator[Dataset]:
    """The array in the file that has one of these names, open for reading.  Errors within the block are the file's."""
    try:
        import h5py
    except ImportError:
        raise DataError(f"reading {path} needs h5py, which is not installed: pip install h5py") from None
    open_file(path, MAX_BYTES).close()
    try:
        with h5py.File(path, "r") as file:
            found = [key for key in keys if isinstance(file.get(key, getlink=True), h5py.HardLink)]
            data = file[found[0]] if found else None
            if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
                raise DataError(f"{path} has no array {' or '.join(keys)}")
            _check_size(path, data)
            yield data
    except DataError:
        raise
    except Exception:  # h5py has no error class of its own: it raises anything from OSError to KeyError
        raise DataError(f"{path} is damaged or not an HDF5 file: {keys[0]} cannot be read; get it again") from None


def _check_size(path: Path, data: Dataset) -> None:
    claimed, chunk = data.size * data.dtype.itemsize, math.prod(data.chunks or ()) * data.dtype.itemsize
    if max(claimed, chunk) > min(MAX_BYTES, MAX_COMPRESSION * path.stat().st_size):
        raise DataError(f"{path} is damaged: its array {data.name} claims to have {claimed:,} bytes")


def points_per_shape(path: Path, data: Dataset) -> int:
    """P of an array of points (N, P, 3); DataError if it is not one."""
    if data.ndim != 3 or data.shape[2] != 3 or not data.size or data.dtype.kind != "f" or data.dtype.itemsize > 8:
        raise DataError(
            f"{path}: {data.name} should have the shape (shapes, points, 3) and a floating type, "
            f"but is {data.shape} of {data.dtype}"
        )
    return data.shape[1]


def read_slice(path: Path, data: Dataset, rows: slice) -> np.ndarray:
    """Some rows of an open array."""
    try:
        return data[rows]
    except Exception:  # whatever h5py raises
        raise DataError(f"{path} is damaged: {data.name} cannot be read; get it again") from None


def read_labels(path: Path, count: int, *keys: str) -> np.ndarray:
    """Integers (N,) from an array (N,) or (N, 1)."""
    with open_array(path, *keys) as data:
        if data.dtype.kind not in "iu" or data.size != count or data.shape[0] != count:
            found = f"{data.shape} of {data.dtype}"
            raise DataError(f"{path}: {data.name} should have {count:,} integers, but is {found}")
        labels = read_slice(path, data, slice(None)).reshape(count).astype("int64")
    if not ((labels >= 0) & (labels < 10_000)).all():
        raise DataError(f"{path} is damaged: its labels range from {labels.min()} to {labels.max()}")
    return labels
