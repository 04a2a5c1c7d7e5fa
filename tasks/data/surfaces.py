"""Surfaces made of triangles: reading them from OFF files, and scattering points on them to make clouds.

A surface is an array (F, 3, 3): F triangles, each of three corners, each of three coordinates.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tasks.data.locations import DataError

LARGEST = 256 * 2**20  # bytes of a file; the largest mesh of ModelNet40 is far below
_HEADER = re.compile(rb"\s*OFF\s*(\d{1,9})\s+(\d{1,9})(?:[ \t]+\d+)?[ \t\r]*\n")  # "OFF490 518 0": no blank between


@dataclass(frozen=True)
class Clouds:
    """N shapes as P points each, with their classes."""

    points: np.ndarray  # (N, P, 3), of any floating type; it may be on the disk
    labels: np.ndarray  # (N,), numbers of classes
    names: tuple[str, ...]  # of the classes


def scatter(rng: np.random.Generator, triangles: np.ndarray, n: int) -> np.ndarray:
    """n points, uniformly by area: (n, 3)

    A triangle is chosen in proportion to its area.  Two numbers u, v ~ Unif(0, 1) then name a point a + u b + v c of
    the parallelogram of two of its sides; one in the wrong half, u + v > 1, is turned round into the triangle.
    """
    a, b, c = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    area = np.cumsum(np.linalg.norm(np.cross(b, c), axis=1))
    chosen = np.searchsorted(area, rng.uniform(0, area[-1], size=n), side="right")
    u, v = rng.uniform(size=(2, n, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    return a[chosen] + u * b[chosen] + v * c[chosen]


def unit_ball(points: np.ndarray) -> np.ndarray:
    """Points (n, 3) with their mean moved to the origin and the farthest one at distance 1."""
    centred = points.astype("float64")
    centred /= max(np.abs(centred).max(), np.finfo(float).tiny)  # first of all a size at which nothing overflows
    centred -= centred.mean(axis=0)
    return centred / max(np.linalg.norm(centred, axis=1).max(), 1e-12)  # a single place is a cloud of zeros


def read_off(path: Path) -> np.ndarray:
    """The triangles of an OFF file, (F, 3, 3), in a cube around the origin.

    The file is the word OFF, the numbers of corners, faces and edges (which nobody keeps), then for each corner x y z
    and for each face its number of corners, here always 3, and which corners they are.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path} is too large for a mesh: more than {LARGEST:,} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)  # comments
    header = _HEADER.match(text)
    if not header:
        raise DataError(f"{path} is not an OFF mesh: it should begin with OFF and the numbers of corners and faces")
    V, F = int(header[1]), int(header[2])
    numbers = _numbers(path, text[header.end() :])
    faces = numbers[3 * V :]
    faces = faces[: len(faces) // 4 * 4].reshape(-1, 4)[:F]  # 3, then the places of three corners
    strange = np.flatnonzero(faces[:, 0] != 3)
    if len(strange):
        count = faces[strange[0], 0]
        raise DataError(f"{path}: face {strange[0]:,} has {count:g} corners; only triangles can be read")
    if numbers.size != 3 * V + 4 * F:
        raise DataError(
            f"{path} is damaged: its header speaks of {V:,} corners and {F:,} triangles, {3 * V + 4 * F:,} numbers, "
            f"and {numbers.size:,} follow"
        )
    corners, places = numbers[: 3 * V].reshape(V, 3), faces[:, 1:]
    if not ((places >= 0) & (places < V) & (places == np.floor(places))).all():
        raise DataError(f"{path} is damaged: a face has a corner that is not one of 0 … {V - 1:,}")
    return _in_cube(path, corners[places.astype(np.intp)])


def _numbers(path: Path, text: bytes) -> np.ndarray:
    """All numbers of a text with blanks and new lines between them; they take at most four times its bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how NumPy says that it met something else
        try:
            numbers = np.fromstring(text, sep=" ") if text.strip() else np.zeros(0)
        except (DeprecationWarning, ValueError):
            raise DataError(f"{path} is damaged: something after its header is not a number") from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{path} is damaged: a number after its header is not finite")
    return numbers


def _in_cube(path: Path, triangles: np.ndarray) -> np.ndarray:
    """The same surface within [−1, 1]³, whatever it is measured in: areas then neither overflow nor vanish."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = (f(triangles, axis=(0, 1)) if triangles.size else np.zeros(3) for f in (np.min, np.max))
        triangles = (triangles - (low / 2 + high / 2)) / max((high / 2 - low / 2).max(), np.finfo(float).tiny)
        b, c = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
        if not np.linalg.norm(np.cross(b, c), axis=1).sum() > 0:
            raise DataError(f"{path} has no surface: all its triangles, if any, have area 0")
    return triangles
