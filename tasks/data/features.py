"""Images as vectors of 512 features, extracted from CIFAR-100 by tasks/vgg.py.

A folder of plain arrays, each memory-mapped when it is read:

    train.npy, test.npy                   (N, 512) float32, one row per image
    train_labels.npy, test_labels.npy     (N,) uint8, the class of each image, from 0 to 99
    about.json                            the data they were extracted from, the network's accuracy, and the checksums
                                          of the arrays; written last
"""

from __future__ import annotations

import math
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minisets.files import DamagedFile, atomic_write, npy_header, open_regular
from tasks.data.cifar100 import CLASSES
from tasks.data.locations import DataError, data_folder
from tasks.harness.errors import UsageError, as_usage_error, printable
from tasks.harness.records import MAPPING, NUMBER, TEXT, read_json, write_json

D = 512
SPLITS = ("train", "test")
ABOUT = {"data": TEXT, "accuracy": NUMBER, "crc32": MAPPING.or_absent()}  # of about.json; earlier ones have no crc32
MAX_BYTES = 2**30  # of a file; those of CIFAR-100 have 102 MB


class Features(NamedTuple):
    """Vectors (N, 512), and the class of each (N,)."""

    vectors: np.ndarray
    labels: np.ndarray


def default_folder() -> Path:
    """Where the features of the real CIFAR-100 are kept for later experiments."""
    return data_folder() / "cifar-100-features"


def save(folder: Path, splits: dict[str, Features], about: dict[str, Any]) -> None:
    """Write all files; about.json, without which the others are ignored, comes last."""
    with as_usage_error(f"cannot write {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "about.json").unlink(missing_ok=True)
        checksums = {}
        for split, (vectors, labels) in splits.items():
            for name, array in ((split, vectors.astype("float32")), (f"{split}_labels", labels.astype("uint8"))):
                with atomic_write(folder / f"{name}.npy") as file:
                    np.save(file, array, allow_pickle=False)
                checksums[f"{name}.npy"] = zlib.crc32(np.ascontiguousarray(array))
    write_json(folder / "about.json", about | {"crc32": checksums})


def read_about(folder: Path) -> dict[str, Any]:
    """The content of about.json, which has at least "data" and "accuracy"."""
    path = folder / "about.json"
    if not path.exists():
        raise DataError(
            f"{folder} contains no image features: there is no about.json; python -m tasks.vgg extracts them"
        )
    return read_json(path, ABOUT, "a description of image features")


def stored_accuracy(folder: Path) -> float | None:
    """The accuracy of the network behind these features; None if they are missing, incomplete or damaged."""
    try:
        accuracy = read_about(folder)["accuracy"]
        for split in SPLITS:
            load(folder, split)
    except UsageError:
        return None
    return accuracy


def load(folder: Path, split: str) -> Features:
    """The features of the split "train" or "test"."""
    vectors = _read_array(folder / f"{split}.npy", "float32")
    labels = _read_array(folder / f"{split}_labels.npy", "uint8")
    if vectors.ndim != 2 or vectors.shape[1] != D or labels.shape != vectors.shape[:1] or not len(labels):
        raise DataError(
            f"{folder / split}.npy and {split}_labels.npy have the shapes {vectors.shape} and {labels.shape}; "
            f"expected (N, {D}) and (N,)"
        )
    if labels.max() >= CLASSES:
        raise DataError(f"{folder / split}_labels.npy has the label {labels.max()}; expected 0 to {CLASSES - 1}")
    if not np.isfinite(vectors).all():
        raise DataError(f"{folder / split}.npy contains values that are not finite; extract the features again")
    checksums = read_about(folder).get("crc32", {})
    for name, array in ((f"{split}.npy", vectors), (f"{split}_labels.npy", labels)):
        if zlib.crc32(array) != checksums.get(name, zlib.crc32(array)):
            raise DataError(f"{folder / name} is damaged: its checksum is wrong; extract the features again")
    return Features(vectors, labels.astype(np.int64))


def _read_array(path: Path, dtype: str) -> np.ndarray:
    """An array, memory-mapped."""
    try:
        with as_usage_error(f"cannot read {path}"), open_regular(path, MAX_BYTES) as file:
            shape, column_major, found, start = npy_header(file)
            size = os.fstat(file.fileno()).st_size - start
            if found != dtype or column_major or not size or size != math.prod(shape) * found.itemsize:
                raise DamagedFile(f"expected an array of {dtype}, found one of {found}, {shape}, in {size:,} bytes")
            return np.memmap(file, found, mode="r", offset=start, shape=shape)
    except DamagedFile as problem:
        raise DataError(f"{path} is damaged: {printable(problem)}; extract the features again") from None


def standardize(features: Features) -> Features:
    """Each feature shifted and scaled to mean 0 and variance 1 over all images; a constant one becomes 0."""
    vectors = features.vectors - features.vectors.mean(axis=0)
    spread = vectors.std(axis=0)
    return Features(vectors / np.where(spread > 1e-6, spread, 1), features.labels)
