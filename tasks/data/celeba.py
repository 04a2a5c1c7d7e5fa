"""CelebA (Liu et al., 2015): 202,599 photographs of faces with 40 binary attributes, given out by its authors.

    celeba/list_attr_celeba.txt      202599 / 5_o_Clock_Shadow Arched_Eyebrows … / 000001.jpg -1  1  1 …
    celeba/list_eval_partition.txt   000001.jpg 0: 0 for training, 1 for validation, 2 for test; no person is in two
    celeba/img_align_celeba/         000001.jpg …, 178 × 218, or img_align_celeba.zip as it comes

The lists are read whole.  Of the images, those that are asked for, and no others, are cropped to the square in the
middle, made smaller, and kept in a file of bytes that later runs map into memory.
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

from tasks.data.array_cache import prepared
from tasks.data.locations import DataError, data_folder, locate
from tasks.harness.errors import as_usage_error

LIST_BYTES = 100 * 2**20  # the list of attributes has 26 MB
JPEG_BYTES = 2**20  # a photograph has about 7 kB
SIDES = (16, 1_024)  # the shortest and the longest side that an image may have


@dataclass(frozen=True)
class Faces:
    """Images of faces with their attributes, the real ones or the stand-in's."""

    names: tuple[str, ...]  # of the attributes
    attributes: np.ndarray  # (images, attributes), True where an image has it
    part: np.ndarray  # (images,): 0 for training, 1 for validation, 2 for test
    images: Callable[[np.ndarray, int], np.ndarray]  # numbers of images, and a size -> (…, 3, size, size) of uint8


def load() -> Faces:
    """The attributes and the parts of all images, and a way to get at the images."""
    folder = data_folder() / "celeba"
    files, names, attributes = read_attributes(folder / "list_attr_celeba.txt")
    part = read_parts(folder / "list_eval_partition.txt", files)

    def images(numbers: np.ndarray, size: int) -> np.ndarray:
        return decoded([files[i] for i in numbers], size)

    return Faces(names, attributes, part, images)


# ---- the lists ----------------------------------------------------------------------------------------------------


def read_attributes(path: Path) -> tuple[list[str], tuple[str, ...], np.ndarray]:
    """The files' names, the attributes' names, and which file has which: (files, attributes) of bool."""
    count, head, *rows = _lines(path, at_least=2)
    names = tuple(head.split())
    if not count.strip().isdigit() or len(count.strip()) > 9:
        raise DataError(f"{path}, line 1: expected the number of images, found {_said(count)}")
    if len(names) < 2 or len({*names}) < len(names):
        raise DataError(f"{path}, line 2: expected the names of two or more different attributes, found {_said(head)}")
    if int(count) != len(rows):
        raise DataError(f"{path}: line 1 promises {int(count):,} images, and {len(rows):,} follow; is it complete?")
    files, values = _rows(path, rows, 3, rf"((?:[ \t]+-?1){{{len(names)}}})", f"a name and {len(names)} times 1 or -1")
    # From here on every value is "1" or "-1": with "0" for the latter, and no blanks, each is one character.
    characters = "".join(values).replace("-1", "0").translate({ord(blank): None for blank in " \t"})
    marks = np.frombuffer(characters.encode(), dtype=np.uint8)
    return files, names, (marks == ord("1")).reshape(len(files), len(names))


def read_parts(path: Path, files: list[str]) -> np.ndarray:
    """The part that each file belongs to, (files,): 0 for training, 1 for validation, 2 for test."""
    rows = _lines(path, at_least=0)
    if len(rows) != len(files):
        raise DataError(f"{path} has {len(rows):,} images, and the list of attributes {len(files):,}; is it complete?")
    listed, values = _rows(path, rows, 1, r"[ \t]+([012])", "a name and 0, 1 or 2")
    if listed != files:
        line = next(i for i, (a, b) in enumerate(zip(listed, files, strict=True), 1) if a != b)
        raise DataError(
            f"{path}, line {line}: {listed[line - 1]} stands where the list of attributes has {files[line - 1]}"
        )
    return np.frombuffer("".join(values).encode(), dtype=np.uint8) - ord("0")


def _lines(path: Path, at_least: int) -> list[str]:
    """The lines of a file, without empty ones at its end."""
    with as_usage_error(f"cannot read {path}"):
        if path.stat().st_size > LIST_BYTES:
            raise DataError(f"{path} has {path.stat().st_size:,} bytes, far more than such a list; is it another file?")
        text = path.read_bytes()
    try:
        lines = text.decode("ascii").rstrip().split("\n")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a list of CelebA: it is no plain text") from None
    if len(lines) < at_least or lines == [""]:
        raise DataError(f"{path} is not a list of CelebA: it ends before the first image")
    return lines


def _rows(path: Path, rows: list[str], first: int, values: str, expected: str) -> tuple[list[str], list[str]]:
    """The names of files, and what stands behind each, of rows that all look as they should."""
    matches = list(map(re.compile(rf"(\d{{1,9}}\.jpg){values}[ \t\r]*").fullmatch, rows))
    if None in matches:
        i = matches.index(None)
        raise DataError(f"{path}, line {first + i}: expected {expected}, found {_said(rows[i])}")
    names, found = [match[1] for match in matches], [match[2] for match in matches]
    if len({*names}) < len(names):
        raise DataError(f"{path} has the same image in two lines")
    return names, found


def _said(line: str) -> str:
    return repr(line if len(line) <= 60 else line[:60] + "…")


# ---- the images ---------------------------------------------------------------------------------------------------


def decoded(files: list[str], size: int) -> np.ndarray:
    """These images as (images, 3, size, size) of uint8, on the disk, decoded when they are first asked for."""
    source = locate("celeba/img_align_celeba", "celeba/img_align_celeba.zip")
    if source is None:
        raise DataError(f"there is no celeba/img_align_celeba, nor such a zip, in {data_folder()}")
    key = hashlib.sha256("\n".join(files).encode()).hexdigest()[:12]
    shape = (len(files), 3, size, size)
    return prepared(f"celeba-{size}-{key}", [source], shape, "uint8", _squares(files, size, source))


def _squares(files: list[str], size: int, source: Path) -> Iterator[np.ndarray]:
    with _reader(source) as read, warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        for name in files:
            content = read(name)
            if len(content) > JPEG_BYTES:
                raise DataError(
                    f"{name} in {source} has more than {JPEG_BYTES:,} bytes; a face of CelebA has some 7,000"
                )
            try:
                pixels = square(content, size)
            except Exception as error:  # Pillow has many kinds of them for files that are not what they should be
                raise DataError(f"{name} in {source} is damaged, or not an image of CelebA: {error}") from None
            yield pixels


def square(jpeg: bytes, size: int) -> np.ndarray:
    """The square in the middle of an image, made smaller: (3, size, size) of uint8."""
    image = Image.open(io.BytesIO(jpeg), formats=("JPEG",))  # reads no more than the header
    w, h = image.size
    if min(w, h) < SIDES[0] or max(w, h) > SIDES[1]:
        raise ValueError(f"it has {w} × {h} pixels, and sides of {SIDES[0]} to {SIDES[1]:,} were expected")
    side = min(w, h)
    left, top = (w - side) // 2, (h - side) // 2
    box = (left, top, left + side, top + side)
    image = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=box)  # averages as it shrinks
    return np.asarray(image).transpose(2, 0, 1)


@contextlib.contextmanager
def _reader(source: Path) -> Iterator[Callable[[str], bytes]]:
    """What reads the bytes of an image by its name, from the folder or the zip."""
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
                raise DataError(
                    f"{name} is in the list of attributes, and not in {source}; is that complete?"
                ) from None
            except Exception as error:  # damaged zips have many ways to say so
                raise DataError(f"cannot read {name} in {source}: {error}") from None

        yield read
