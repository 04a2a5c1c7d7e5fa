"""CIFAR-100: 50,000 + 10,000 colour images of 32 × 32 in 100 classes, and a stand-in for them.

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
from tasks.harness.run_folder import sentences

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
        with sentences(f"cannot read {path}"):
            _require_size(path, path.stat().st_size)
            return _images(path, np.memmap(path, np.uint8, mode="r"))
    return _from_archive(path, f"cifar-100-binary/{part}.bin")


def _from_archive(archive: Path, name: str) -> Images:
    """The images in a file inside of the archive, which need not be unpacked for that."""
    with sentences(f"cannot read {archive}"), damage(archive):
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


# ---- the stand-in ---------------------------------------------------------------------------------------------------


def synthetic(part: str, per_class: int, seed: int = 0) -> Images:
    """Images made up from a seed: in every class a texture and a patch of its own, in every image another view of them.

    The texture is a wave in two colours with the class's direction and length, the patch an ellipse with the class's
    form, size and colours.  Classes come in twenties of five that share their colours, so that these alone do not tell
    them apart.  An image draws its phase, place, turn, brightness, a few blots of other colours, and noise.
    """
    style, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1 + ("train", "test").index(part)])
    palette = style.uniform(0, 1, size=(COARSE, 4, 3))  # colours of two crests of the wave, of the patch and of its rim
    direction, length = style.uniform(0, np.pi, CLASSES), style.uniform(3, 12, CLASSES)
    form, size, rim = style.uniform(0.4, 1, CLASSES), style.uniform(4, 10, CLASSES), style.uniform(0.4, 0.9, CLASSES)

    N = CLASSES * per_class
    labels = np.repeat(np.arange(CLASSES), per_class)
    pixels = np.empty((N, *SHAPE), np.uint8)
    places = np.arange(32) - 15.5
    for start in range(0, N, 500):  # some at a time: the formulas work in float32
        z = labels[start : start + 500]
        B = len(z)

        def around(middle: np.ndarray, spread: float, B: int = B) -> np.ndarray:
            return (middle + spread * rng.standard_normal(B)).astype("float32")[:, None, None]

        row, column = (places.astype("float32") - around(0, 4) for _ in range(2))
        row = row.swapaxes(1, 2)  # (B, 32, 1) and (B, 1, 32)
        angle, turn = around(direction[z], 0.15), around(0, 0.4)
        phase = (np.cos(angle) * row + np.sin(angle) * column) * (2 * np.pi / around(length[z], 0.3).clip(2))
        wave = 0.5 + 0.5 * np.sin(phase + around(0, 3))
        u, v = np.cos(turn) * row + np.sin(turn) * column, np.cos(turn) * column - np.sin(turn) * row
        radius = np.sqrt(u**2 + (v / form[z, None, None]) ** 2) / around(size[z], 0.6).clip(2)

        colours = (palette[z // 5] + 0.12 * rng.standard_normal((B, 4, 3))).astype("float32")[..., None, None]
        image = colours[:, 0] + (colours[:, 1] - colours[:, 0]) * wave[:, None]
        image = np.where((radius < 1)[:, None], colours[:, 3], image)
        image = np.where((radius < rim[z, None, None])[:, None], colours[:, 2], image)
        for _ in range(2):
            blot = (row - around(0, 9)) ** 2 + (column - around(0, 9)) ** 2 < around(2.5, 0.8) ** 2
            image = np.where(blot[:, None], rng.random((B, 3, 1, 1), dtype="float32"), image)
        image = image * around(1, 0.15)[:, None] + 0.06 * rng.standard_normal(image.shape, dtype="float32")
        pixels[start : start + B] = (255 * image.clip(0, 1)).astype(np.uint8)
    return Images(pixels, labels.astype(np.int64))
