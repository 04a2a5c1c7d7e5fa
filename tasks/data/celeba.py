"""CelebA (Liu et al., 2015): 202,599 photographs of faces with 40 binary attributes, available from its authors.

    celeba/list_attr_celeba.txt      202599 / 5_o_Clock_Shadow Arched_Eyebrows … / 000001.jpg -1  1  1 …
    celeba/list_eval_partition.txt   000001.jpg 0: 0 training, 1 validation, 2 test; no person is in two splits
    celeba/img_align_celeba/         000001.jpg …, 178 × 218 pixels, or img_align_celeba.zip as published

The lists are read in full.  Only the requested images are decoded: cropped to the central square, downsampled, and
cached in one array that later runs memory-map.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from tasks.data.array_cache import cached_array
from tasks.data.locations import DataError, data_folder, locate
from tasks.harness.errors import as_usage_error

LIST_BYTES = 100 * 2**20  # the attribute list has 26 MB
JPEG_BYTES = 2**20  # a photograph has about 7 kB
SIDES = (16, 1_024)  # the smallest and largest side of an image, in pixels


@dataclass(frozen=True)
class Faces:
    """Images of faces with their attributes: CelebA's or the stand-in's."""

    names: tuple[str, ...]  # of the attributes
    attributes: np.ndarray  # (images, attributes), True where an image has the attribute
    split: np.ndarray  # (images,): 0 for training, 1 for validation, 2 for test
    images: Callable[[np.ndarray, int], np.ndarray]  # (indices, size) -> images (…, 3, size, size) of uint8


def load() -> Faces:
    """The attributes and splits of all images, and a function that loads the images."""
    folder = data_folder() / "celeba"
    files, names, attributes = read_attributes(folder / "list_attr_celeba.txt")
    split = read_splits(folder / "list_eval_partition.txt", files)

    def images(indices: np.ndarray, size: int) -> np.ndarray:
        return load_images([files[i] for i in indices], size)

    return Faces(names, attributes, split, images)


# ---- the lists ----------------------------------------------------------------------------------------------------


def read_attributes(path: Path) -> tuple[list[str], tuple[str, ...], np.ndarray]:
    """The file names, the attribute names, and which file has which attribute: (files, attributes) of bool."""
    count, header, *rows = _lines(path, at_least=2)
    names = tuple(header.split())
    if not count.strip().isdigit() or len(count.strip()) > 9:
        raise DataError(f"{path}, line 1: expected the number of images, found {_excerpt(count)}")
    if len(names) < 2 or len({*names}) < len(names):
        raise DataError(
            f"{path}, line 2: expected the names of two or more different attributes, found {_excerpt(header)}"
        )
    if int(count) != len(rows):
        raise DataError(f"{path}: line 1 announces {int(count):,} images, but {len(rows):,} follow; is it complete?")
    pattern, expected = rf"((?:[ \t]+-?1){{{len(names)}}})", f"a file name and {len(names)} values of 1 or -1"
    files, values = _rows(path, rows, 3, pattern, expected)
    # Every value is now known to be "1" or "-1".  With "-1" written as "0" and no blanks, each is one character.
    characters = "".join(values).replace("-1", "0").translate({ord(blank): None for blank in " \t"})
    digits = np.frombuffer(characters.encode(), dtype=np.uint8)
    return files, names, (digits == ord("1")).reshape(len(files), len(names))


def read_splits(path: Path, files: list[str]) -> np.ndarray:
    """The split that each file belongs to, (files,): 0 for training, 1 for validation, 2 for test."""
    rows = _lines(path, at_least=0)
    if len(rows) != len(files):
        raise DataError(f"{path} lists {len(rows):,} images, the attribute list {len(files):,}; is it complete?")
    listed, values = _rows(path, rows, 1, r"[ \t]+([012])", "a file name and 0, 1 or 2")
    if listed != files:
        line = next(i for i, (a, b) in enumerate(zip(listed, files, strict=True), 1) if a != b)
        raise DataError(f"{path}, line {line}: found {listed[line - 1]} where the attribute list has {files[line - 1]}")
    return np.frombuffer("".join(values).encode(), dtype=np.uint8) - ord("0")


def _lines(path: Path, at_least: int) -> list[str]:
    """The lines of a file, without empty lines at its end."""
    with as_usage_error(f"cannot read {path}"):
        if path.stat().st_size > LIST_BYTES:
            raise DataError(
                f"{path} has {path.stat().st_size:,} bytes, far more than this list should have; is it another file?"
            )
        text = path.read_bytes()
    try:
        lines = text.decode("ascii").rstrip().split("\n")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a CelebA list: it is not plain text") from None
    if len(lines) < at_least or lines == [""]:
        raise DataError(f"{path} is not a CelebA list: it ends before the first image")
    return lines


def _rows(path: Path, rows: list[str], first: int, values: str, expected: str) -> tuple[list[str], list[str]]:
    """The file names and the text after each; DataError for a row that does not match."""
    matches = list(map(re.compile(rf"(\d{{1,9}}\.jpg){values}[ \t\r]*").fullmatch, rows))
    if None in matches:
        i = matches.index(None)
        raise DataError(f"{path}, line {first + i}: expected {expected}, found {_excerpt(rows[i])}")
    names, found = [match[1] for match in matches], [match[2] for match in matches]
    if len({*names}) < len(names):
        raise DataError(f"{path} lists the same image twice")
    return names, found


def _excerpt(line: str) -> str:
    return repr(line if len(line) <= 60 else line[:60] + "…")


# ---- the images ---------------------------------------------------------------------------------------------------


def load_images(files: list[str], size: int) -> np.ndarray:
    """These images as a memory-mapped array (images, 3, size, size) of uint8, decoded on first use."""
    source = locate("celeba/img_align_celeba", "celeba/img_align_celeba.zip")
    if source is None:
        raise DataError(f"there is no celeba/img_align_celeba or celeba/img_align_celeba.zip in {data_folder()}")
    key = hashlib.sha256("\n".join(files).encode()).hexdigest()[:12]
    shape = (len(files), 3, size, size)
    return cached_array(f"celeba-{size}-{key}", [source], shape, "uint8", _decode(files, size, source))


def _decode(files: list[str], size: int, source: Path) -> Iterator[np.ndarray]:
    with _image_reader(source) as read, warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        for name in files:
            content = read(name)
            if len(content) > JPEG_BYTES:
                raise DataError(
                    f"{name} in {source} has more than {JPEG_BYTES:,} bytes; CelebA images have about 7,000"
                )
            try:
                pixels = crop_and_resize(content, size)
            except Exception as error:  # Pillow raises many kinds of errors for bad files
                raise DataError(f"{name} in {source} is damaged or not a CelebA image: {error}") from None
            yield pixels


def crop_and_resize(jpeg: bytes, size: int) -> np.ndarray:
    """The central square of an image, resized: (3, size, size) of uint8."""
    image = Image.open(io.BytesIO(jpeg), formats=("JPEG",))  # reads only the header
    w, h = image.size
    if min(w, h) < SIDES[0] or max(w, h) > SIDES[1]:
        raise ValueError(f"it has {w} × {h} pixels; expected sides of {SIDES[0]} to {SIDES[1]:,}")
    side = min(w, h)
    left, top = (w - side) // 2, (h - side) // 2
    box = (left, top, left + side, top + side)
    image = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=box)  # with antialiasing
    return np.asarray(image).transpose(2, 0, 1)


@contextlib.contextmanager
def _image_reader(source: Path) -> Iterator[Callable[[str], bytes]]:
    """A function that reads the bytes of an image, given its file name, from the folder or the zip archive."""
    with contextlib.ExitStack() as stack:
        if not source.is_dir():
            try:
                archive = stack.enter_context(zipfile.ZipFile(source))
            except (OSError, ValueError, zipfile.BadZipFile) as error:
                raise DataError(f"cannot read {source}: {error}") from None

        def read(name: str) -> bytes:
            try:
                with open(source / name, "rb") if source.is_dir() else archive.open(f"{source.stem}/{name}") as file:
                    return file.read(JPEG_BYTES + 1)
            except (FileNotFoundError, KeyError):
                raise DataError(f"{name} is in the attribute list but not in {source}; is that complete?") from None
            except Exception as error:  # zipfile raises many kinds of errors for damaged archives
                raise DataError(f"cannot read {name} in {source}: {error}") from None

        yield read
