"""What `minisets data check` does with data that has no published checksum: it reads all of it, as a trainer would."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tasks.data import celeba, cifar100, modelnet40, omniglot
from tasks.data.counts import shortfall
from tasks.data.locations import DataError
from tasks.harness.errors import UsageError


def _drawings(characters: int, path: Path) -> str:
    count = len(omniglot.read(path, characters)) * omniglot.DRAWERS
    return f"{count:,} drawings of {characters} characters"


def _photographs(splits: tuple[str, ...], path: Path) -> str:
    read = []
    for split in splits:
        labels = cifar100.load(split).labels
        images, classes = len(labels), len(np.unique(labels))
        _require_complete("cifar100", split, path, images=images, classes=classes)
        read.append(f"{images:,} {split} images of {classes} classes")
    return " and ".join(read)


def _faces(path: Path) -> str:
    files, names, _ = celeba.read_attributes(path.with_name("list_attr_celeba.txt"))
    _require_complete("celeba", "all", path, images=len(files), attributes=len(names))
    for _ in celeba.decode(files, celeba.SIDES[0], path):  # raises a DataError for one that is missing or damaged
        pass
    return f"{len(files):,} photographs"


def _shapes(path: Path) -> str:
    if path.name.endswith(("hdf5_2048", ".h5")) and importlib.util.find_spec("h5py") is None:
        raise UsageError(f"reading {path} needs h5py, which is not installed: pip install h5py")
    layout = modelnet40.LAYOUTS[path.name](path)
    counts = []
    for split in ("train", "test"):
        labels = layout.load(split).labels
        _require_complete("modelnet40", split, path, shapes=len(labels), classes=len(np.unique(labels)))
        counts.append(f"{len(labels):,}")
    return f"{' + '.join(counts)} shapes of {layout.points:,} points"


def _require_complete(data: str, part: str, path: Path, **found: int) -> None:
    if problem := shortfall(data, part, **found):
        raise DataError(f"{path}, {part}: {problem}")


READERS: dict[str, Callable[[Path], str]] = {  # path -> a function that says what it has read, or raises a DataError
    **{
        f"omniglot/images_{half}{end}": functools.partial(_drawings, characters)
        for half, characters in zip(("background", "evaluation"), omniglot.CHARACTERS, strict=True)
        for end in (".zip", "")
    },
    "cifar-100-binary/train.bin": functools.partial(_photographs, ("train",)),
    "cifar-100-binary/test.bin": functools.partial(_photographs, ("test",)),
    "cifar-100-binary.tar.gz": functools.partial(_photographs, ("train", "test")),
    "celeba/img_align_celeba": _faces,
    "celeba/img_align_celeba.zip": _faces,
    **dict.fromkeys(modelnet40.LAYOUTS, _shapes),
}
