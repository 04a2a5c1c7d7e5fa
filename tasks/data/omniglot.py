"""Omniglot (Lake et al., 2015): 1,623 handwritten characters of 50 alphabets, each drawn by 20 people.

    images_background/Alphabet/characterNN/IIII_DD.png      964 characters     105 × 105 pixels of one bit,
    images_evaluation/Alphabet/characterNN/IIII_DD.png      659 characters     ink is black

Read from the two zip archives, or from unpacked folders, in MINISETS_DATA/omniglot.  The images are downsampled by
averaging over areas: each output pixel is 3.75 input pixels wide, and its value is the fraction of it that is ink.

The paper splits the characters into training, validation and test, but does not say how.  Here the test split is the
evaluation half, whose 20 alphabets never occur in training; of the background half, in alphabetical order, every tenth
character is for validation and the others are for training: 868 / 96 / 659 characters.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from minisets.files import DamagedFile
from tasks.data.array_cache import cached_array
from tasks.data.catalog import DATA_SETS
from tasks.data.images import decode_image
from tasks.data.locations import DataError, locate
from tasks.data.reading import open_file, read_file
from tasks.data.unpack import as_data_error

SIZE, SMALL = 105, 28  # sides in pixels, as published and as the networks see them
DRAWERS = 20
CHARACTERS = (964, 659)  # of the background and of the evaluation half
FULL = 15 * 15  # the value of `downsample` for solid ink
_NAME = re.compile(r"(?:.*/)?([^/]+/character[0-9]{1,4})/[0-9]{1,8}_([0-9]{1,4})\.png")
_MAX_BYTES = 100_000  # of a file; the real ones have about 300
_MAX_ZIP = 64 * 2**20  # the larger archive has 9 MB
_MAX_FILES = 100_000

Split = dict[str, np.ndarray]


def load() -> Split:
    """{"train", "validation", "test"}: images (characters, 20, 28, 28) of float32 from 0 (paper) to 1 (ink)."""
    DATA_SETS["omniglot"].require()
    halves = {locate(*paths): count for paths, count in zip(DATA_SETS["omniglot"].needs, CHARACTERS, strict=True)}
    files = [file for half in halves for file in ([half] if half.is_file() else sorted(half.rglob("*.png")))]
    drawings = (drawing for half, count in halves.items() for drawing in read(half, count))
    shape = (sum(CHARACTERS), DRAWERS, SMALL, SMALL)
    images = cached_array("omniglot-28x28", files, shape, "uint8", drawings)  # the 32,460 files are read once
    return split(*np.split(images, [CHARACTERS[0]]))


def split(background: np.ndarray, evaluation: np.ndarray) -> Split:
    """The characters (C, 20, 28, 28) of the two halves as train, validation and test."""
    held_out = np.arange(1, len(background) + 1) % 10 == 0
    splits = {"train": background[~held_out], "validation": background[held_out], "test": evaluation}
    return {name: images.astype("float32") / FULL for name, images in splits.items()}


# ---- reading --------------------------------------------------------------------------------------------------------


def read(path: Path, expected: int | None = None) -> np.ndarray:
    """All characters in a zip archive or folder, in alphabetical order: (characters, 20, 28, 28), from 0 to 225."""
    found: dict[str, dict[int, np.ndarray]] = {}
    for name, content in _files(path):
        character, drawer = _NAME.fullmatch(name).groups()
        drawings = found.setdefault(character, {})
        if int(drawer) in drawings:
            raise DataError(f"{path} has two files for drawing {int(drawer)} of {character}; download it again")
        drawings[int(drawer)] = downsample(decode(f"{path}: {name}", content))
    for character, drawings in found.items():
        if sorted(drawings) != list(range(1, DRAWERS + 1)):
            raise DataError(f"{path} has {len(drawings)} of the {DRAWERS} drawings of {character}; download it again")
    if not found or (expected is not None and len(found) != expected):
        raise DataError(f"{path} has {len(found)} characters, {expected or 'at least 1'} expected; download it again")
    return np.array([[found[name][i + 1] for i in range(DRAWERS)] for name in sorted(found)])


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The drawings in a zip archive or folder: file names and contents."""
    if path.is_dir():
        for file in _limited(path, sorted(path.rglob("*.png"))):
            name = file.relative_to(path).as_posix()
            if _NAME.fullmatch(name) and file.is_file():
                yield name, read_file(file, _MAX_BYTES)
        return
    with open_file(path, _MAX_ZIP) as file, as_data_error(path), zipfile.ZipFile(file) as archive:
        for info in _limited(path, archive.infolist()):
            if _NAME.fullmatch(info.filename) and not info.filename.startswith("__MACOSX"):
                with archive.open(info) as opened:
                    yield info.filename, opened.read(_MAX_BYTES)


def _limited(path: Path, files: Iterable) -> Iterator:
    for i, file in enumerate(files):
        if i == _MAX_FILES:
            raise DataError(f"{path} contains more than {_MAX_FILES:,} files; it is not Omniglot")
        yield file


def decode(name: str, content: bytes) -> np.ndarray:
    """A drawing as (105, 105), True where there is ink; DataError if it is not one."""
    try:
        return np.asarray(decode_image(content, "PNG", (SIZE, SIZE), ("1", "L")).convert("L")) < 128
    except DamagedFile as error:
        raise DataError(f"{name} is damaged or not a drawing of Omniglot: {error}") from None


@functools.cache
def _overlaps() -> np.ndarray:
    """(28, 105): how many quarters of each of the 105 input pixels each of the 28 output pixels covers, 15 in all."""
    quarters = np.arange(4 * SIZE).reshape(SIZE, 4) // 15  # the output pixel of each quarter
    return (quarters[None] == np.arange(SMALL)[:, None, None]).sum(axis=-1).astype("float32")


def downsample(ink: np.ndarray) -> np.ndarray:
    """(…, 105, 105) of bool to (…, 28, 28) of uint8: the ink in each area, in 1/16 of an input pixel, at most 225."""
    A = _overlaps()
    return (A @ ink.astype("float32") @ A.T).astype("uint8")  # integers, therefore exact
