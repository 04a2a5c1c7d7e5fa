"""ModelNet40 in its public forms: 9,843 shapes to train on and 2,468 to test on, of 40 classes, as points.

modelnet40_ply_hdf5_2048/ply_data_train0.h5 …        2,048 points of each shape; needs h5py
modelnet40_normal_resampled/chair/chair_0001.txt …   10,000 rows x,y,z,nx,ny,nz of each
ModelNet40/chair/train/chair_0001.off …              meshes, on which we scatter 10,000 points
ModelNet40_cloud.h5                                  10,000 points of each, from Zaheer et al. (2017); needs h5py

The last three take minutes to read.  They are read once, into arrays of half precision (see prepared.py).
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tasks.data import hdf5
from tasks.data.array_cache import prepared
from tasks.data.locations import DataError, data_folder, locate
from tasks.data.surfaces import Clouds, read_off, scatter, unit_ball

SCATTERED = 10_000  # points on a mesh
LARGEST = 64 * 2**20  # bytes of a text file; those of ModelNet40 have less than one million
SOME = 64  # shapes to read at a time


@dataclass(frozen=True)
class Form:
    """One form of the data: how many points it has of each shape, and its shapes of a split, "train" or "test"."""

    path: Path
    points: int
    load: Callable[[str], Clouds]


def find(points: int) -> Form:
    """The first form in the data folder that has so many points of each shape, or a sentence."""
    short = []
    for name, form in FORMS.items():
        if path := locate(name):
            found = form(path)
            if found.points >= points:
                return found
            short.append(found)
    if not short:
        raise DataError(f"ModelNet40 is not in {data_folder()}: there is no {', no '.join(FORMS)}")
    there = " and ".join(f"{form.path} has {form.points:,}" for form in short)
    raise DataError(
        f"--points {points:,} is more than there are of each shape: {there}; "
        "minisets data fetch modelnet40_normal_resampled gets 10,000 of each"
    )


# ---- HDF5 -----------------------------------------------------------------------------------------------------------


def h5_folder(folder: Path) -> Form:
    """Files of up to 2,048 shapes, data (N, P, 3) and label (N, 1), and the names of the classes in shape_names.txt."""

    def load(split: str) -> Clouds:
        parts = [_read_h5(path, points) for path in _h5_files(folder, split)]
        clouds, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        named = folder / "shape_names.txt"
        names = tuple(_lines(named)) if named.exists() else _numbered(labels)
        if labels.max() >= len(names):
            raise DataError(f"{folder} has shapes of class {labels.max()}, but {named.name} only {len(names)} names")
        return Clouds(clouds, labels, names)

    with hdf5.array(_h5_files(folder, "train")[0], "data") as data:
        points = hdf5.require_clouds(data)
    return Form(folder, points, load)


def _h5_files(folder: Path, split: str) -> list[Path]:
    """Those that train_files.txt lists, whatever folder it says they are in, or else those that are there."""
    listed = folder / f"{split}_files.txt"
    found = (
        [folder / Path(line).name for line in _lines(listed)]
        if listed.exists()
        else sorted(folder.glob(f"ply_data_{split}*.h5"), key=lambda path: (len(path.name), path.name))
    )
    if not found:
        raise DataError(f"{folder} has no ply_data_{split}0.h5")
    return found


def _read_h5(path: Path, points: int) -> tuple[np.ndarray, np.ndarray]:
    with hdf5.array(path, "data") as data:
        P = hdf5.require_clouds(data)
        if points != P:
            raise DataError(f"{path} has {P:,} points of each shape, and the first file {points:,}")
        clouds = data[:]
    hdf5.require_finite(path, clouds)
    return clouds, hdf5.labels(path, len(clouds), "label")


def deep_sets_file(path: Path) -> Form:
    """The file of Zaheer et al.: tr_cloud and test_cloud (N, P, 3), tr_labels and test_labels, which have no names."""

    def load(split: str) -> Clouds:
        short = {"train": "tr"}.get(split, split)
        with hdf5.array(path, f"{short}_cloud") as data:
            shape = data.shape[0], hdf5.require_clouds(data), 3
            labels = hdf5.labels(path, shape[0], f"{short}_labels", f"{short}_label")
            clouds = prepared(f"modelnet40-h5-{split}", [path], shape, "float16", slices(data))
        return Clouds(clouds, labels, _numbered(labels))

    def slices(data: hdf5.Dataset) -> Iterator[np.ndarray]:
        for first in range(0, data.shape[0], SOME):
            clouds = data[first : first + SOME]
            hdf5.require_finite(path, clouds)
            yield from map(unit_ball, clouds)

    with hdf5.array(path, "tr_cloud") as data:
        return Form(path, hdf5.require_clouds(data), load)


def _numbered(labels: np.ndarray) -> tuple[str, ...]:
    return tuple(f"class {i}" for i in range(labels.max() + 1))


# ---- text -----------------------------------------------------------------------------------------------------------


def text_folder(folder: Path) -> Form:
    """chair/chair_0001.txt …; modelnet40_train.txt and modelnet40_test.txt list the shapes, such as chair_0001."""

    def files(split: str) -> list[Path]:
        listed = folder / f"modelnet40_{split}.txt"
        found = []
        for line in _lines(listed):
            shape = re.fullmatch(r"(\w+)_\d+", line)
            if not shape:
                raise DataError(f"{listed} should list shapes such as chair_0001, and has {line[:50]!r}")
            found.append(folder / shape[1] / f"{line}.txt")
        return found

    def read(path: Path) -> np.ndarray:
        rows = read_rows(path)
        if len(rows) != points:
            raise DataError(f"{path} has {len(rows):,} rows, and the first file {points:,}")
        return unit_ball(rows)

    points = len(read_rows(files("train")[0]))
    return Form(folder, points, lambda split: _from_files(files, lambda path: path.parent.name, split, points, read))


def read_rows(path: Path) -> np.ndarray:
    """The points (P, 3) of a text file of rows x,y,z,nx,ny,nz; the normals n may be absent, and are not used."""
    text = _text(path)
    try:
        rows = (
            np.loadtxt(io.StringIO(text), delimiter=",", comments=None, ndmin=2) if text.strip() else np.zeros((0, 6))
        )
    except ValueError:
        raise DataError(f"{path} is damaged: it should have rows of six numbers, x,y,z,nx,ny,nz") from None
    if len(rows) == 0 or rows.shape[1] not in (3, 6) or not np.isfinite(rows).all():
        raise DataError(f"{path} is damaged: it should have rows of six finite numbers, x,y,z,nx,ny,nz")
    return rows[:, :3]


# ---- meshes ---------------------------------------------------------------------------------------------------------


def mesh_folder(folder: Path) -> Form:
    """chair/train/chair_0001.off …: the points on a mesh depend on its name and on nothing else."""

    def files(split: str) -> list[Path]:
        found = sorted(path for path in folder.glob(f"*/{split}/*.off") if not path.name.startswith("."))
        if not found:
            raise DataError(f"{folder} has no meshes such as chair/{split}/chair_0001.off")
        return found

    def read(path: Path) -> np.ndarray:
        rng = np.random.default_rng(zlib.crc32(path.name.encode()))
        return unit_ball(scatter(rng, read_off(path), SCATTERED))

    def load(split: str) -> Clouds:
        return _from_files(files, lambda path: path.parent.parent.name, split, SCATTERED, read)

    return Form(folder, SCATTERED, load)


# ---- what they share ------------------------------------------------------------------------------------------------


def _from_files(
    files: Callable[[str], list[Path]],
    class_of: Callable[[Path], str],
    split: str,
    points: int,
    read: Callable[[Path], np.ndarray],
) -> Clouds:
    """A file for each shape, read once.  Classes have numbers in the order of their names, the same in both splits."""
    names = sorted({class_of(path) for some in ("train", "test") for path in files(some)})
    found = files(split)
    labels = np.array([names.index(class_of(path)) for path in found])
    name = f"modelnet40-{found[0].suffix[1:]}-{split}"
    return Clouds(prepared(name, found, (len(found), points, 3), "float16", map(read, found)), labels, tuple(names))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path} is too large: more than {LARGEST:,} bytes")
        return path.read_text()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is damaged: it is not text") from None


def _lines(path: Path) -> list[str]:
    """The lines of a list, of which there must be some."""
    lines = [line.strip() for line in _text(path).splitlines() if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty")
    return lines


FORMS: dict[str, Callable[[Path], Form]] = {  # by their public names, in the order of preference
    "modelnet40_ply_hdf5_2048": h5_folder,
    "modelnet40_normal_resampled": text_folder,
    "ModelNet40": mesh_folder,
    "ModelNet40_cloud.h5": deep_sets_file,
}
