"""Omniglot (Lake et al., 2015): 1,623 handwritten characters of 50 alphabets, each drawn by 20 people.

    images_background/Alphabet/characterNN/IIII_DD.png      964 characters     105 × 105 pixels, one bit each,
    images_evaluation/Alphabet/characterNN/IIII_DD.png      659 characters     ink is black

Read from the two zip archives or from unpacked folders, under MINISETS_DATA/omniglot.  The images are made smaller by
averaging over areas: a pixel of the result, 3.75 pixels wide, has the share of ink that it covers, so ink is 1.

The paper splits the characters into train, validation and test, and does not say how.  Here test is the evaluation
half, whose 20 alphabets are never seen in training; of the background half, in the order of names, every tenth is for
validation and the others are for training: 868 / 96 / 659 characters.
"""

from __future__ import annotations

import functools
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from tasks.data.array_cache import prepared
from tasks.data.catalogue import DATA_SETS
from tasks.data.locations import DataError, locate
from tasks.data.unpack import damage

SIZE, SMALL = 105, 28  # pixels along a side, as published and for the networks
DRAWERS = 20
CHARACTERS = (964, 659)  # of the background and of the evaluation half
FULL = 15 * 15  # of what `shrink` makes: all ink
_NAME = re.compile(r"(?:.*/)?([^/]+/character[0-9]{1,4})/[0-9]{1,8}_([0-9]{1,4})\.png")
_LARGEST = 100_000  # bytes of a file; the real ones have about 300
_MOST = 100_000  # files

Split = dict[str, np.ndarray]


def load() -> Split:
    """{"train", "validation", "test"}: images (characters, 20, 28, 28) of float32 from 0, paper, to 1, ink."""
    DATA_SETS["omniglot"].require()
    halves = {locate(*forms): count for forms, count in zip(DATA_SETS["omniglot"].needs, CHARACTERS, strict=True)}
    files = [file for half in halves for file in ([half] if half.is_file() else sorted(half.rglob("*.png")))]
    drawings = (drawing for half, count in halves.items() for drawing in read(half, count))
    shape = (sum(CHARACTERS), DRAWERS, SMALL, SMALL)
    images = prepared("omniglot-28x28", files, shape, "uint8", drawings)  # 32,460 files are read once
    return split(*np.split(images, [CHARACTERS[0]]))


def split(background: np.ndarray, evaluation: np.ndarray) -> Split:
    """The characters (C, 20, 28, 28) of the two halves as train, validation and test."""
    held_out = np.arange(1, len(background) + 1) % 10 == 0
    parts = {"train": background[~held_out], "validation": background[held_out], "test": evaluation}
    return {name: images.astype("float32") / FULL for name, images in parts.items()}


# ---- reading --------------------------------------------------------------------------------------------------------


def read(path: Path, expected: int | None = None) -> np.ndarray:
    """All characters in a zip archive or a folder, in the order of names: (characters, 20, 28, 28), of 0 to 225."""
    found: dict[str, dict[int, np.ndarray]] = {}
    for name, content in _files(path):
        character, drawer = _NAME.fullmatch(name).groups()
        found.setdefault(character, {})[int(drawer)] = shrink(decode(f"{path}: {name}", content))
    for character, drawings in found.items():
        if sorted(drawings) != list(range(1, DRAWERS + 1)):
            raise DataError(f"{path} has {len(drawings)} of the {DRAWERS} drawings of {character}; get it again")
    if not found or (expected is not None and len(found) != expected):
        raise DataError(f"{path} has {len(found)} characters, {expected or 'some'} expected; get it again")
    return np.array([[found[name][i + 1] for i in range(DRAWERS)] for name in sorted(found)])


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The drawings in a zip archive or a folder: their names and what they contain."""
    if path.is_dir():
        for file in _few(path, (file for file in sorted(path.rglob("*.png")))):
            name = file.relative_to(path).as_posix()
            if _NAME.fullmatch(name) and file.is_file():
                with open(file, "rb") as opened:
                    yield name, opened.read(_LARGEST)
        return
    with damage(path), zipfile.ZipFile(path) as archive:
        for one in _few(path, archive.infolist()):
            if _NAME.fullmatch(one.filename) and not one.filename.startswith("__MACOSX"):
                with archive.open(one) as opened:
                    yield one.filename, opened.read(_LARGEST)


def _few(path: Path, files: Iterable) -> Iterator:
    for i, file in enumerate(files):
        if i == _MOST:
            raise DataError(f"{path} holds more than {_MOST:,} files; that is not Omniglot")
        yield file


def decode(name: str, content: bytes) -> np.ndarray:
    """A drawing as (105, 105), True where there is ink; a file that is none is named."""
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != (SIZE, SIZE) or image.mode not in ("1", "L"):  # before anything is unpacked
                raise DataError(
                    f"{name} is an image of {image.size} pixels, mode {image.mode}; 105 × 105 of one bit expected"
                )
            return np.asarray(image.convert("L")) < 128
    except DataError:
        raise
    except Exception as error:  # whatever Pillow makes of a broken file
        raise DataError(f"{name} is no PNG image that can be read ({str(error) or type(error).__name__})") from None


@functools.cache
def _areas() -> np.ndarray:
    """(28, 105): how many quarters of each of the 105 pixels fall into each of the 28.  105 / 28 = 15 quarters."""
    quarters = np.arange(4 * SIZE).reshape(SIZE, 4) // 15  # which of the 28 each quarter falls into
    return (quarters[None] == np.arange(SMALL)[:, None, None]).sum(axis=-1).astype("float32")


def shrink(ink: np.ndarray) -> np.ndarray:
    """(…, 105, 105) of bool to (…, 28, 28) of uint8: the ink in each area, in sixteenths of a pixel, at most 225."""
    A = _areas()
    return (A @ ink.astype("float32") @ A.T).astype("uint8")  # whole numbers, and so exact
