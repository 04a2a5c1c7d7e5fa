"""CIFAR-100: 50,000 + 10,000 color images of 32 × 32 pixels in 100 classes.

The binary version has a record of 3,074 bytes per image: the coarse label (of 20), the fine label (of 100), then 3,072
pixel values, first all red, then green, then blue, each row by row.  Unlike the Python version, it needs no unpickling.
It is read from cifar-100-binary/train.bin and test.bin under MINISETS_DATA, or from cifar-100-binary.tar.gz.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.data.locations import DataError, locate
from tasks.data.unpack import as_data_error, members
from tasks.harness.errors import as_usage_error

CLASSES, COARSE_CLASSES = 100, 20
SHAPE = (3, 32, 32)  # channels, rows, columns
RECORD = 2 + 3 * 32 * 32  # bytes per image
MAX_IMAGES = 60_000  # in a file: the larger one has 50,000
PER_CLASS = {"train": 500, "test": 100}


class Images(NamedTuple):
    """Pixels (N, 3, 32, 32) from 0 to 255, and the class of each image (N,), from 0 to 99."""

    pixels: np.ndarray
    labels: np.ndarray


def load(split: str) -> Images:
    """The real images of the split "train" or "test"."""
    path = locate(f"cifar-100-binary/{split}.bin", "cifar-100-binary.tar.gz")
    if path is None:
        raise DataError(f"there is no cifar-100-binary/{split}.bin; minisets data fetch cifar100 downloads it")
    if path.suffix == ".bin":
        with as_usage_error(f"cannot read {path}"):
            _require_size(path, path.stat().st_size)
            return _images(path, np.memmap(path, np.uint8, mode="r"))
    return _from_archive(path, f"cifar-100-binary/{split}.bin")


def _from_archive(archive: Path, name: str) -> Images:
    """The images in a file of the archive, read without unpacking it."""
    source, content = f"{name} in {archive}", None
    with as_usage_error(f"cannot read {archive}"), as_data_error(archive):
        for member in members(archive):  # to the end, where gzip has its checksum
            if member.name.removeprefix("./") != name or member.unsupported or member.is_folder:
                continue
            if content is not None:
                raise DataError(f"{archive} contains {name} twice; it is not the expected file")
            _require_size(source, member.size)
            content, filled = np.empty(member.size, np.uint8), 0
            for block in member.blocks():
                content[filled : filled + len(block)] = np.frombuffer(block, np.uint8)
                filled += len(block)
    if content is None:
        raise DataError(f"{archive} contains no {name}; it is not the expected file")
    return _images(source, content)


def _require_size(source: object, size: int) -> None:
    if size == 0 or size % RECORD:
        raise DataError(
            f"{source} has {size:,} bytes, not a multiple of the {RECORD:,} bytes of an image; download it again"
        )
    if size > MAX_IMAGES * RECORD:
        raise DataError(f"{source} has {size:,} bytes, more than all {MAX_IMAGES:,} images of CIFAR-100 have")


def _images(source: object, content: np.ndarray) -> Images:
    records = content.reshape(-1, RECORD)
    for name, column, count in (("coarse", 0, COARSE_CLASSES), ("fine", 1, CLASSES)):
        wrong = np.flatnonzero(records[:, column] >= count)
        if len(wrong):
            raise DataError(
                f"{source} gives image {wrong[0]:,} the {name} label {records[wrong[0], column]}, "
                f"but labels are 0 to {count - 1}; it is damaged or not the expected file"
            )
    return Images(records[:, 2:].reshape(-1, *SHAPE), records[:, 1].astype(np.int64))
