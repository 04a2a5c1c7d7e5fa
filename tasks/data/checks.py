"""What `minisets data check` does with data that has no published checksum: it reads all of it, as a trainer would."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tasks.data import celeba, cifar100, modelnet40, omniglot
from tasks.data.locations import DataError
from tasks.harness.errors import UsageError

FACES = 202_599
SHAPES = {"train": 9_843, "test": 2_468}
SHAPE_CLASSES = 40


def _drawings(characters: int, path: Path) -> str:
    count = len(omniglot.read(path, characters)) * omniglot.DRAWERS
    return f"{count:,} drawings of {characters} characters"


def _photographs(splits: tuple[str, ...], path: Path) -> str:
    for split in splits:
        if problem := cifar100.shortfall(split, cifar100.load(split)):
            raise DataError(f"{path} has {problem}")
    return " and ".join(f"{cifar100.PER_CLASS[split]} {split} images of each class" for split in splits)


def _faces(path: Path) -> str:
    files, _, _ = celeba.read_attributes(path.with_name("list_attr_celeba.txt"))
    if len(files) != FACES:
        raise DataError(f"{path.with_name('list_attr_celeba.txt')} lists {len(files):,} images, {FACES:,} expected")
    for _ in celeba._decode(files, celeba.SIDES[0], path):  # raises a DataError for one that is missing or damaged
        pass
    return f"{FACES:,} photographs"


def _shapes(path: Path) -> str:
    if path.name.endswith(("hdf5_2048", ".h5")) and importlib.util.find_spec("h5py") is None:
        raise UsageError(f"reading {path} needs h5py, which is not installed: pip install h5py")
    layout = modelnet40.LAYOUTS[path.name](path)
    for split, expected in SHAPES.items():
        labels = layout.load(split).labels
        count, classes = len(labels), len(np.unique(labels))
        if (count, classes) != (expected, SHAPE_CLASSES):
            raise DataError(
                f"{path} has {count:,} {split} shapes of {classes} classes, {expected:,} of {SHAPE_CLASSES} expected"
            )
    return f"{' + '.join(f'{count:,}' for count in SHAPES.values())} shapes of {layout.points:,} points"


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
