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

if TYPE_CHECKING:
    from h5py import Dataset

MAX_BYTES = 3 * 2**30  # of an array; the one from Zaheer et al. has 1.2 · 10⁹
MAX_COMPRESSION = 1_100  # slightly more than gzip can reach


@contextlib.contextmanager
def open_array(path: Path, *keys: str) -> Iterator[Dataset]:
    """The array in the file that has one of these names, open for reading."""
    try:
        import h5py
    except ImportError:
        raise DataError(f"reading {path} needs h5py, which is not installed: pip install h5py") from None
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
    except FileNotFoundError:
        raise DataError(f"cannot read {path}: there is no such file") from None
    except Exception as error:  # h5py has no error class of its own: it raises anything from OSError to KeyError
        reason = " ".join(str(error).split())[:120]
        raise DataError(f"{path} cannot be read and may be damaged: {reason}") from None


def _check_size(path: Path, data: Dataset) -> None:
    claimed, chunk = data.size * data.dtype.itemsize, math.prod(data.chunks or ()) * data.dtype.itemsize
    if max(claimed, chunk) > min(MAX_BYTES, MAX_COMPRESSION * path.stat().st_size):
        raise DataError(f"{path} is damaged: its array {data.name} claims to have {claimed:,} bytes")


def points_per_shape(data: Dataset) -> int:
    """P of an array of points (N, P, 3); DataError if it is not one."""
    if data.ndim != 3 or data.shape[2] != 3 or not data.size or data.dtype.kind != "f" or data.dtype.itemsize > 8:
        raise DataError(
            f"{data.file.filename}: {data.name} should have the shape (shapes, points, 3) and a floating type, "
            f"but is {data.shape} of {data.dtype}"
        )
    return data.shape[1]


def require_finite(path: Path, points: np.ndarray) -> None:
    if not np.isfinite(points).all():
        raise DataError(f"{path} is damaged: it contains points that are not finite")


def read_labels(path: Path, count: int, *keys: str) -> np.ndarray:
    """Integers (N,) from an array (N,) or (N, 1)."""
    with open_array(path, *keys) as data:
        if data.dtype.kind not in "iu" or data.size != count or data.shape[0] != count:
            found = f"{data.shape} of {data.dtype}"
            raise DataError(f"{path}: {data.name} should have {count:,} integers, but is {found}")
        labels = data[:].reshape(count).astype("int64")
    if not ((labels >= 0) & (labels < 10_000)).all():
        raise DataError(f"{path} is damaged: its labels range from {labels.min()} to {labels.max()}")
    return labels
