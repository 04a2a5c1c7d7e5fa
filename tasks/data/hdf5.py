"""Arrays in HDF5 files, through h5py, an optional package: checked before they are read, every trouble a sentence.

An HDF5 file may promise more than any memory holds, and may refer to other files; neither is followed here.
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

MOST = 3 * 2**30  # bytes of an array: that of Zaheer et al. has 1.2 · 10⁹
RATIO = 1_100  # no gzip makes bytes fewer by more


@contextlib.contextmanager
def array(path: Path, *keys: str) -> Iterator[Dataset]:
    """The array in the file that has one of these names, open."""
    try:
        import h5py
    except ImportError:
        raise DataError(f"to read {path} takes h5py, which is not installed: pip install h5py") from None
    try:
        with h5py.File(path, "r") as file:
            found = [key for key in keys if isinstance(file.get(key, getlink=True), h5py.HardLink)]
            data = file[found[0]] if found else None
            if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
                raise DataError(f"{path} has no array {' or '.join(keys)}")
            _require_credible(path, data)
            yield data
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"cannot read {path}: there is no such file") from None
    except Exception as error:  # h5py has no error of its own: it raises what comes to hand, from OSError to KeyError
        reason = " ".join(str(error).split())[:120]
        raise DataError(f"{path} cannot be read, and may be damaged: {reason}") from None


def _require_credible(path: Path, data: Dataset) -> None:
    promised, chunk = data.size * data.dtype.itemsize, math.prod(data.chunks or ()) * data.dtype.itemsize
    if max(promised, chunk) > min(MOST, RATIO * path.stat().st_size):
        raise DataError(f"{path} is damaged: its array {data.name} claims to have {promised:,} bytes")


def require_clouds(data: Dataset) -> int:
    """P, if the array holds points (N, P, 3); otherwise a sentence."""
    if data.ndim != 3 or data.shape[2] != 3 or not data.size or data.dtype.kind != "f" or data.dtype.itemsize > 8:
        raise DataError(
            f"{data.file.filename}: {data.name} should hold points (shapes, points, 3) of a floating type, "
            f"and is {data.shape} of {data.dtype}"
        )
    return data.shape[1]


def require_finite(path: Path, clouds: np.ndarray) -> None:
    if not np.isfinite(clouds).all():
        raise DataError(f"{path} is damaged: it has points that are not finite")


def labels(path: Path, count: int, *keys: str) -> np.ndarray:
    """Integers (N,) from an array (N,) or (N, 1)."""
    with array(path, *keys) as data:
        if data.dtype.kind not in "iu" or data.size != count or data.shape[0] != count:
            what = f"{data.shape} of {data.dtype}"
            raise DataError(f"{path}: {data.name} should hold {count:,} whole numbers, and is {what}")
        found = data[:].reshape(count).astype("int64")
    if not ((found >= 0) & (found < 10_000)).all():
        raise DataError(f"{path} is damaged: its {keys[0]} goes from {found.min()} to {found.max()}")
    return found
