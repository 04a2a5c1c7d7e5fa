"""Whether a damaged data file is still a valid one of its format, so that nothing in it could tell.

Each function gets the path of the damaged file, and its content before and after.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
from PIL import Image

from tests.faults import fixtures


def never(path: Path, old: bytes, new: bytes) -> bool:
    """The format has a checksum: any damage can be known."""
    return False


def valid_records(path: Path, old: bytes, new: bytes) -> bool:
    """As many records, and all labels are labels: the rest are pixels."""
    return len(new) == len(old) and all(new[i] < 20 and new[i + 1] < 100 for i in range(0, len(new), 3_074))


def valid_rows(path: Path, old: bytes, new: bytes) -> bool:
    """The same number of rows of six numbers; or a list of shapes."""
    lines = new.decode("latin-1").split("\n")
    if path.name.startswith("modelnet40_"):
        return all(re.fullmatch(r"\w+_\d+", line) for line in lines[:-1])
    return len(lines) == len(old.split(b"\n")) and all(
        len(row.split(",")) == 6 and all(map(_is_number, row.split(","))) for row in lines[:-1]
    )


def valid_mesh(path: Path, old: bytes, new: bytes) -> bool:
    """As many numbers as the first line says, and all corners are vertices."""
    words = new.decode("latin-1").replace("OFF", "", 1).split()
    if not all(map(_is_number, words)) or not all(word.isdigit() for word in words[:3]):
        return False
    V, F = int(words[0]), int(words[1])
    corners = words[3 + 3 * V :]
    return len(corners) == 4 * F and all(0 <= float(x) < V for x in corners)


def valid_list(path: Path, old: bytes, new: bytes) -> bool:
    """As many rows as before, each a file name and as many values; names of attributes may be any."""
    rows, before = (text.decode("latin-1").split("\n") for text in (new, old))
    first = 2 if "attr" in path.name else 0
    return len(rows) == len(before) and all(re.fullmatch(r"\d+\.jpg(\s+-?\d)+\s*", row) for row in rows[first:-1])


def valid_jpeg(path: Path, old: bytes, new: bytes) -> bool:
    """Pillow decodes it to an image of that size: the format has no checksum."""
    if path.suffix != ".jpg":
        return valid_list(path, old, new)
    with Image.open(path) as image:
        return image.convert("RGB").size == (178, 218)


def valid_h5(path: Path, old: bytes, new: bytes) -> bool:
    """The library itself reads finite points and labels of the same shape: only compressed chunks have a checksum."""
    if path.suffix != ".h5":
        return new.decode("latin-1").replace("\n", "").isprintable()  # names of classes, or of the same files
    with h5py.File(path) as file:
        data, label = file["data"][:], file["label"][:]
    return data.shape[1:] == (fixtures.POINTS, 3) and len(data) == len(label) and bool(np.isfinite(data).all())


def same_head(path: Path, old: bytes, new: bytes) -> bool:
    """Only the numbers after the header differ: the format has no checksum."""
    if path.suffix == ".json":
        return json.loads(old).keys() == json.loads(new).keys()
    head = 8 + int.from_bytes(old[:8], "little") if path.suffix == ".safetensors" else 128
    return len(new) == len(old) and new[:head] == old[:head]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", text) is not None
