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
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from minisets.files import DamagedFile
from tasks.data.array_cache import cached_array
from tasks.data.counts import COMPLETE, warn_unless_complete
from tasks.data.images import decode_image
from tasks.data.locations import DataError, data_folder, locate
from tasks.data.reading import excerpt, open_file, read_file

IMAGES, ATTRIBUTES = COMPLETE["celeba", "all"].values()
LIST_BYTES = 32 * 2**20  # the attribute list has 26 MB
ZIP_BYTES = 2 * 2**30  # the archive of all images has 1.4 GB
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
    warn_unless_complete("celeba", "all", folder, images=len(files), attributes=len(names))

    def images(indices: np.ndarray, size: int) -> np.ndarray:
        return load_images([files[i] for i in indices], size)

    return Faces(names, attributes, split, images)


# ---- the lists ----------------------------------------------------------------------------------------------------


def read_attributes(path: Path) -> tuple[list[str], tuple[str, ...], np.ndarray]:
    """The file names, the attribute names, and which file has which attribute: (files, attributes) of bool."""
    count, header, *rows = _lines(path, at_least=2)
    names = tuple(header.split())
    if not re.fullmatch(r"[ \t]*[0-9]{1,9}[ \t\r]*", count):
        raise DataError(f"{path}, line 1: expected the number of images, found {excerpt(count)}")
    if not 2 <= len(names) <= ATTRIBUTES or len({*names}) < len(names) or not "".join(names).isprintable():
        raise DataError(
            f"{path}, line 2: expected the names of 2 to {ATTRIBUTES} different attributes, found {excerpt(header)}"
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
    try:
        text = read_file(path, LIST_BYTES).decode("ascii").rstrip()
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a CelebA list: it is not plain text") from None
    count = text.count("\n") + 1 if text else 0
    if count < max(at_least, 1):
        raise DataError(f"{path} is not a CelebA list: it ends before the first image")
    if count > IMAGES + at_least:
        raise DataError(f"{path} is not a CelebA list: it has {count:,} lines for {IMAGES:,} images")
    return text.split("\n")


def _rows(path: Path, rows: list[str], first: int, values: str, expected: str) -> tuple[list[str], list[str]]:
    """The file names and the text after each; DataError for a row that does not match."""
    matches = list(map(re.compile(rf"(\d{{1,9}}\.jpg){values}[ \t\r]*").fullmatch, rows))
    if None in matches:
        i = matches.index(None)
        raise DataError(f"{path}, line {first + i}: expected {expected}, found {excerpt(rows[i])}")
    names, found = [match[1] for match in matches], [match[2] for match in matches]
    if len({*names}) < len(names):
        raise DataError(f"{path} lists the same image twice")
    return names, found


# ---- the images ---------------------------------------------------------------------------------------------------


def load_images(files: list[str], size: int) -> np.ndarray:
    """These images as a memory-mapped array (images, 3, size, size) of uint8, decoded on first use."""
    source = locate("celeba/img_align_celeba", "celeba/img_align_celeba.zip")
    if source is None:
        raise DataError(f"there is no celeba/img_align_celeba or celeba/img_align_celeba.zip in {data_folder()}")
    sources = [source]
    if source.is_dir():
        sources = [source / name for name in files]  # so that an image that is replaced is decoded again
        missing = [path.name for path in sources if not path.is_file()]
        if missing:
            raise _incomplete(source, missing)
    key = hashlib.sha256("\n".join(files).encode()).hexdigest()[:12]
    shape = (len(files), 3, size, size)
    return cached_array(f"celeba-{size}-{key}", sources, shape, "uint8", decode(files, size, source))


def _incomplete(source: Path, missing: list[str]) -> DataError:
    many = f"{missing[0]} is" if len(missing) == 1 else f"{missing[0]} and {len(missing) - 1:,} other images are"
    return DataError(f"{many} in the attribute list but not in {source}; is that complete?")


def decode(files: list[str], size: int, source: Path) -> Iterator[np.ndarray]:
    with _image_reader(source) as read:
        for name in files:
            try:
                yield crop_and_resize(read(name), size)
            except DamagedFile as error:
                raise DataError(f"{name} in {source} is damaged or not a CelebA image: {error}") from None


def crop_and_resize(jpeg: bytes, size: int) -> np.ndarray:
    """The central square of an image, resized: (3, size, size) of uint8; DamagedFile if it is not an image."""
    image = decode_image(jpeg, "JPEG", SIDES, ("RGB", "L", "CMYK"))
    w, h = image.size
    side = min(w, h)
    left, top = (w - side) // 2, (h - side) // 2
    box = (left, top, left + side, top + side)
    image = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=box)  # with antialiasing
    return np.asarray(image).transpose(2, 0, 1)


@contextlib.contextmanager
def _image_reader(source: Path) -> Iterator[Callable[[str], bytes]]:
    """A function that reads the bytes of an image, given its file name, from the folder or the zip archive."""
    if source.is_dir():
        yield lambda name: read_file(source / name, JPEG_BYTES)
        return
    with open_file(source, ZIP_BYTES) as file:
        try:
            archive = zipfile.ZipFile(file)
        except Exception:  # zipfile raises many kinds of errors for damaged archives, some with long quotations
            raise DataError(f"{source} is damaged or not a zip archive; download it again") from None

        def read(name: str) -> bytes:
            try:
                with archive.open(f"{source.stem}/{name}") as member:
                    content = member.read(JPEG_BYTES + 1)  # to its end, where the checksum is compared
            except KeyError:
                raise _incomplete(source, [name]) from None
            except Exception:
                raise DataError(f"{source} is damaged: {name} in it cannot be read; download it again") from None
            if len(content) > JPEG_BYTES:
                raise DamagedFile(f"it has more than {JPEG_BYTES:,} bytes")
            return content

        yield read
