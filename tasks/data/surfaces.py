"""Triangle meshes: reading them from OFF files, and sampling points on them.

A surface is an array (F, 3, 3): F triangles, each with three vertices, each with three coordinates.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tasks.data.locations import DataError
from tasks.data.reading import read_file

MAX_BYTES = 256 * 2**20  # of a file; ModelNet40's are far smaller
CHUNK = 64  # shapes to look at at a time
LARGEST, SMALLEST = 1e6, 1e-4  # coordinate, and distance between points; published shapes have a size of about 1
OUTLIER = 1_000  # times as far from the center as most points; in ModelNet40 no point is more than 8 times as far
FAR_VERTEX = 1e6  # the same for the vertices of a mesh, which may be dense in a small part of it
_HEADER = re.compile(rb"\s*OFF\s*(\d{1,9})\s+(\d{1,9})(?:[ \t]+\d+)?[ \t\r]*\n")  # also "OFF490 518 0", without a blank


@dataclass(frozen=True)
class Clouds:
    """N shapes with P points each, and their classes."""

    points: np.ndarray  # (N, P, 3), of any floating type; may be memory-mapped
    labels: np.ndarray  # (N,), class indices
    names: tuple[str, ...]  # of the classes
    up: str = "z"  # the axis that points up, "y" or "z"


def sample_points(rng: np.random.Generator, triangles: np.ndarray, n: int) -> np.ndarray:
    """n points, uniform by area: (n, 3)

    A triangle is chosen with probability proportional to its area.  With u, v ~ Unif(0, 1), a + u b + v c is a point of
    the parallelogram spanned by two of its sides; if u + v > 1, it is outside the triangle and is reflected into it.
    """
    a, b, c = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    area = np.cumsum(np.linalg.norm(np.cross(b, c), axis=1))
    chosen = np.searchsorted(area, rng.uniform(0, area[-1], size=n), side="right")
    u, v = rng.uniform(size=(2, n, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    return a[chosen] + u * b[chosen] + v * c[chosen]


def unit_ball(points: np.ndarray) -> np.ndarray:
    """Points (n, 3) shifted and scaled so that their mean is the origin and the farthest one has distance 1."""
    centered = points.astype("float64")
    centered /= max(np.abs(centered).max(), np.finfo(float).tiny)  # first to a scale at which nothing overflows
    centered -= centered.mean(axis=0)
    return centered / max(np.linalg.norm(centered, axis=1).max(), 1e-12)  # if all points coincide, the result is 0


def require_shapes(source: Path, clouds: np.ndarray, first: int | None = None) -> None:
    """DataError if one of the clouds (N, P, 3) cannot be a shape.

    Its points must be finite, of a size that single precision can square, not all in one place, and none so far off
    that the others would become one point in half precision.  first: the index in the file of the first cloud, if the
    file has several.
    """
    for start in range(0, len(clouds), CHUNK):
        some = clouds[start : start + CHUNK].astype("float64")
        with np.errstate(all="ignore"):
            largest = np.abs(some).max(axis=(1, 2))
            distance = np.abs(some - np.median(some, axis=1, keepdims=True)).max(axis=2)  # (N, P)
            farthest, typical = distance.max(axis=1), np.median(distance, axis=1)
        good = (largest <= LARGEST) & (farthest >= SMALLEST) & (farthest <= OUTLIER * typical)  # not if nan
        for i in np.flatnonzero(~good):
            if not np.isfinite(largest[i]):
                reason = "it has points that are not finite"
            elif largest[i] > LARGEST:
                reason = f"it has coordinates of up to {largest[i]:.3g}"
            elif farthest[i] < SMALLEST:
                reason = "all its points are in one place"
            else:
                reason = f"one point is {farthest[i]:.3g} from its center, half of them are within {typical[i]:.3g}"
            what = "it" if first is None else f"shape {first + start + i:,}, counted from 0,"
            raise DataError(f"{source} is damaged: {what} is not a shape, since {reason}")


def measured_up(points: np.ndarray) -> str:
    """The axis of the clouds (N, P, 3) that points up, "y" or "z", by their lack of symmetry.

    Things have more or less mirror images of themselves at their left and right, and often behind, but not below: so
    along the axis that points up, a shape's mean is farthest from the middle between its ends.  In ModelNet40 these
    distances are on average 0.09 upwards and 0.04 and 0.03 sideways, in shapes of radius 1.
    """
    some = points[:: max(len(points) // 2_000, 1), :1_024].astype("float64")
    low, high = some.min(axis=1), some.max(axis=1)
    y, z = (np.abs(some.mean(axis=1) - (low + high) / 2) / (high - low).max(axis=1, keepdims=True)).mean(axis=0)[1:]
    return "y" if y > 1.5 * z else "z"  # if in doubt, as in the meshes that all layouts were made from


def read_off(path: Path) -> np.ndarray:
    """The triangles of an OFF file, (F, 3, 3), scaled to the cube [−1, 1]³.

    The file has the word OFF, the numbers of vertices, faces and edges (the last is ignored), x y z for each vertex,
    and for each face its number of vertices, which must be 3, and their indices.
    """
    text = read_file(path, MAX_BYTES)
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)  # comments
    header = _HEADER.match(text)
    if not header:
        raise DataError(f"{path} is not an OFF mesh: it should start with OFF and the numbers of vertices and faces")
    V, F = int(header[1]), int(header[2])
    numbers = _parse_numbers(path, text[header.end() :])
    faces = numbers[3 * V :]
    faces = faces[: len(faces) // 4 * 4].reshape(-1, 4)[:F]  # 3, then the indices of three vertices
    others = np.flatnonzero(faces[:, 0] != 3)
    if len(others):
        count = faces[others[0], 0]
        raise DataError(f"{path}: face {others[0]:,} has {count:g} vertices; only triangles are supported")
    if numbers.size != 3 * V + 4 * F:
        raise DataError(
            f"{path} is damaged: {V:,} vertices and {F:,} triangles, as in its header, are {3 * V + 4 * F:,} numbers, "
            f"but {numbers.size:,} follow"
        )
    vertices, indices = numbers[: 3 * V].reshape(V, 3), faces[:, 1:]
    if not ((indices >= 0) & (indices < V) & (indices == np.floor(indices))).all():
        raise DataError(f"{path} is damaged: a face has a vertex index that is not one of 0 … {V - 1:,}")
    distance = np.abs(vertices / 2 - np.median(vertices / 2, axis=0)).max(axis=1) if V else np.zeros(1)
    if distance.max() > FAR_VERTEX * np.median(distance) > 0:
        raise DataError(f"{path} is damaged: a vertex is more than {FAR_VERTEX:,.0f} times as far off as most")
    return _scale_to_cube(path, vertices[indices.astype(np.intp)])


def _parse_numbers(path: Path, text: bytes) -> np.ndarray:
    """All numbers in a text, separated by whitespace; the array has at most four times as many bytes as the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy's way to report text that is not a number
        try:
            numbers = np.fromstring(text, sep=" ") if text.strip() else np.zeros(0)
        except (DeprecationWarning, ValueError):
            raise DataError(f"{path} is damaged: something after its header is not a number") from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{path} is damaged: a number after its header is not finite")
    return numbers


def _scale_to_cube(path: Path, triangles: np.ndarray) -> np.ndarray:
    """The surface centered and scaled to [−1, 1]³, so that areas neither overflow nor underflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = (f(triangles, axis=(0, 1)) if triangles.size else np.zeros(3) for f in (np.min, np.max))
        triangles = (triangles - (low / 2 + high / 2)) / max((high / 2 - low / 2).max(), np.finfo(float).tiny)
        b, c = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
        if not np.linalg.norm(np.cross(b, c), axis=1).sum() > 0:
            raise DataError(f"{path} has no surface: it has no triangle with an area above 0")
    return triangles
