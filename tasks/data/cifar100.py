"""CIFAR-100: 50,000 + 10,000 color images of 32 × 32 pixels in 100 classes.

Its binary version is a record of 3,074 bytes for each image: a byte for the coarse label (of 20), one for the fine
label (of 100), then 3,072 pixels, all of red, of green, of blue, each row by row.  Nothing in it needs to be unpickled.
Read are cifar-100-binary/train.bin and test.bin under MINISETS_DATA, or cifar-100-binary.tar.gz as it was downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.data.locations import DataError, locate
from tasks.data.unpack import damage, members
from tasks.harness.errors import as_usage_error

CLASSES, COARSE = 100, 20
SHAPE = (3, 32, 32)  # channels, rows, columns
RECORD = 2 + 3 * 32 * 32
MOST = 60_000  # images in a file: the larger has 50,000
PER_CLASS = {"train": 500, "test": 100}


class Images(NamedTuple):
    """Pixels (N, 3, 32, 32) of 0 to 255, and the class 0 to 99 of each image (N,)."""

    pixels: np.ndarray
    labels: np.ndarray


def load(part: str) -> Images:
    """The real images of the part "train" or "test"."""
    path = locate(f"cifar-100-binary/{part}.bin", "cifar-100-binary.tar.gz")
    if path is None:
        raise DataError(f"there is no cifar-100-binary/{part}.bin; minisets data fetch cifar100 gets it")
    if path.suffix == ".bin":
        with as_usage_error(f"cannot read {path}"):
            _require_size(path, path.stat().st_size)
            return _images(path, np.memmap(path, np.uint8, mode="r"))
    return _from_archive(path, f"cifar-100-binary/{part}.bin")


def _from_archive(archive: Path, name: str) -> Images:
    """The images in a file inside of the archive, which need not be unpacked for that."""
    with as_usage_error(f"cannot read {archive}"), damage(archive):
        for member in members(archive):
            if member.name.removeprefix("./") == name and not member.odd and not member.folder:
                _require_size(f"{name} in {archive}", member.size)
                with member.open() as file:
                    content = file.read(member.size)
                if len(content) < member.size:
                    raise EOFError(f"{name} is cut off")
                return _images(f"{name} in {archive}", np.frombuffer(content, np.uint8))
    raise DataError(f"{archive} holds no {name}; it is another file than was expected")


def _require_size(source: object, size: int) -> None:
    if size == 0 or size % RECORD:
        raise DataError(
            f"{source} has {size:,} bytes, which is no whole number of images of {RECORD:,} bytes each; get it again"
        )
    if size > MOST * RECORD:
        raise DataError(f"{source} has {size:,} bytes: more than the {MOST:,} images that CIFAR-100 has in all")


def _images(source: object, content: np.ndarray) -> Images:
    records = content.reshape(-1, RECORD)
    for name, column, count in (("coarse", 0, COARSE), ("fine", 1, CLASSES)):
        wrong = np.flatnonzero(records[:, column] >= count)
        if len(wrong):
            raise DataError(
                f"{source} gives image {wrong[0]:,} the {name} label {records[wrong[0], column]}, "
                f"but there are only 0 to {count - 1}; it is another file than was expected, or damaged"
            )
    return Images(records[:, 2:].reshape(-1, *SHAPE), records[:, 1].astype(np.int64))
