"""ModelNet40 in its public layouts: 9,843 training and 2,468 test shapes of 40 classes, as points.

modelnet40_ply_hdf5_2048/ply_data_train0.h5 …        2,048 points per shape; needs h5py
modelnet40_normal_resampled/chair/chair_0001.txt …   10,000 rows x,y,z,nx,ny,nz per shape
ModelNet40/chair/train/chair_0001.off …              meshes, on which we sample 10,000 points
ModelNet40_cloud.h5                                  10,000 points per shape, from Zaheer et al. (2017); needs h5py

The last three take minutes to read, so they are read once and cached in half precision (see array_cache.py).
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tasks.data import hdf5
from tasks.data.array_cache import cached_array
from tasks.data.counts import COMPLETE, warn_unless_complete
from tasks.data.locations import DataError, data_folder, locate
from tasks.data.reading import read_list, read_text
from tasks.data.surfaces import CHUNK, Clouds, measured_up, read_off, require_shapes, sample_points, unit_ball

MESH_POINTS = 10_000  # sampled on each mesh
SPLITS = ("train", "test")
CLASSES = COMPLETE["modelnet40", "train"]["classes"]
MAX_SHAPES = sum(COMPLETE["modelnet40", split]["shapes"] for split in SPLITS)  # in a split
MAX_POINTS = 10_000  # per shape, in all public layouts
TEXT_BYTES, LIST_BYTES = 8 * 2**20, 2**20  # ModelNet40's text files and lists have less than 1 MB and 200 kB


@dataclass(frozen=True)
class Layout:
    """One public layout of the data, as found on disk."""

    path: Path
    points: int  # per shape
    read: Callable[[str], Clouds]  # split, "train" or "test" -> its shapes

    def load(self, split: str) -> Clouds:
        """The shapes of a split, with a warning if some are missing."""
        clouds = self.read(split)
        if len(clouds.names) > CLASSES:
            raise DataError(f"{self.path} has {len(clouds.names)} classes; ModelNet40 has {CLASSES}")
        N, classes = len(clouds.labels), len(np.unique(clouds.labels))
        warn_unless_complete("modelnet40", split, self.path, shapes=N, classes=classes)
        return clouds


def load(points: int, up: str | None = None) -> tuple[Clouds, Clouds]:
    """The training and test shapes, with at least this many points each; the axis that is up is measured if not given.

    All layouts were made from the same meshes, in which z is up, but some turned them: the code published with the HDF5
    and text layouts rotates shapes about y.
    """
    source = find(points)
    train, test = (source.load(split) for split in SPLITS)
    up = up or measured_up(train.points)
    return replace(train, up=up), replace(test, up=up)


def find(points: int) -> Layout:
    """The first layout in the data folder with at least this many points per shape; DataError if there is none."""
    too_small = []
    for name, open_layout in LAYOUTS.items():
        if path := locate(name):
            layout = open_layout(path)
            if layout.points >= points:
                return layout
            too_small.append(layout)
    if not too_small:
        raise DataError(f"ModelNet40 is not in {data_folder()}: there is no {', no '.join(LAYOUTS)}")
    found = " and ".join(f"{layout.path} has {layout.points:,}" for layout in too_small)
    raise DataError(
        f"--points {points:,} is more than the data has per shape: {found}; "
        "minisets data fetch modelnet40_normal_resampled downloads 10,000 per shape"
    )


# ---- HDF5 -----------------------------------------------------------------------------------------------------------


def h5_folder(folder: Path) -> Layout:
    """Files of up to 2,048 shapes, data (N, P, 3) and label (N, 1); shape_names.txt has the names of the classes."""

    def read(split: str) -> Clouds:
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        for path in _h5_files(folder, split):
            parts.append(_read_h5(path, points, MAX_SHAPES - sum(len(labels) for _, labels in parts)))
        clouds, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        listed = folder / "shape_names.txt"
        names = _numbered(labels)
        if listed.exists():
            names = tuple(read_list(listed, LIST_BYTES, r"([\w -]+)", "names of classes such as chair"))
        if labels.max() >= len(names):
            raise DataError(
                f"{folder} has shapes of class {labels.max()}, but {listed.name} has only {len(names)} names"
            )
        return Clouds(clouds, labels, names)

    first = _h5_files(folder, "train")[0]
    with hdf5.open_array(first, "data") as data:
        points = _points_per_shape(first, data)
    return Layout(folder, points, read)


def _h5_files(folder: Path, split: str) -> list[Path]:
    """The files listed in train_files.txt, ignoring their folder there, or without it those found in the folder."""
    listed = folder / f"{split}_files.txt"
    if listed.exists():
        names = read_list(listed, LIST_BYTES, r"(?:.*/)?([\w.-]+\.h5)", "files such as ply_data_train0.h5")
        return [folder / name for name in names]
    found = sorted(folder.glob(f"ply_data_{split}*.h5"), key=lambda path: (len(path.name), path.name))
    if not found:
        raise DataError(f"{folder} has no ply_data_{split}0.h5")
    return found


def _points_per_shape(path: Path, data: hdf5.Dataset) -> int:
    points = hdf5.points_per_shape(path, data)
    if points > MAX_POINTS or data.shape[0] > MAX_SHAPES:
        raise DataError(
            f"{path} is not of ModelNet40: {data.name} claims {data.shape[0]:,} shapes of {points:,} points each"
        )
    return points


def _read_h5(path: Path, points: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The points and labels of a file of at most so many shapes."""
    with hdf5.open_array(path, "data") as data:
        P = _points_per_shape(path, data)
        if points != P:
            raise DataError(f"{path} has {P:,} points per shape, the first file {points:,}")
        if data.shape[0] > most:
            raise DataError(f"up to {path} there are more shapes in one split than the {MAX_SHAPES:,} of ModelNet40")
        clouds = hdf5.read_slice(path, data, slice(None))
    require_shapes(path, clouds, first=0)
    return clouds, hdf5.read_labels(path, len(clouds), "label")


def deep_sets_file(path: Path) -> Layout:
    """The file of Zaheer et al.: tr_cloud and test_cloud (N, P, 3), tr_labels and test_labels, without class names."""

    def read(split: str) -> Clouds:
        prefix = {"train": "tr"}.get(split, split)
        with hdf5.open_array(path, f"{prefix}_cloud") as data:
            shape = data.shape[0], _points_per_shape(path, data), 3
            labels = hdf5.read_labels(path, shape[0], f"{prefix}_labels", f"{prefix}_label")
            clouds = cached_array(f"modelnet40-h5-{split}", [path], shape, "float16", chunks(data))
        return Clouds(clouds, labels, _numbered(labels))

    def chunks(data: hdf5.Dataset) -> Iterator[np.ndarray]:
        for first in range(0, data.shape[0], CHUNK):
            clouds = hdf5.read_slice(path, data, slice(first, first + CHUNK))
            require_shapes(path, clouds, first)
            yield from map(unit_ball, clouds)

    with hdf5.open_array(path, "tr_cloud") as data:
        return Layout(path, _points_per_shape(path, data), read)


def _numbered(labels: np.ndarray) -> tuple[str, ...]:
    return tuple(f"class {i}" for i in range(labels.max() + 1))


# ---- text -----------------------------------------------------------------------------------------------------------


def text_folder(folder: Path) -> Layout:
    """chair/chair_0001.txt …; modelnet40_train.txt and modelnet40_test.txt list the shapes, such as chair_0001."""

    def files(split: str) -> list[Path]:
        listed = folder / f"modelnet40_{split}.txt"
        shapes = read_list(listed, LIST_BYTES, r"(\w+_\d+)", "shapes such as chair_0001")
        return [folder / shape.rpartition("_")[0] / f"{shape}.txt" for shape in shapes]

    def read(path: Path) -> np.ndarray:
        rows = read_rows(path)
        if len(rows) != points:
            raise DataError(f"{path} has {len(rows):,} rows, the first file {points:,}")
        require_shapes(path, rows[None])
        return unit_ball(rows)

    points = len(read_rows(files("train")[0]))
    return Layout(folder, points, lambda split: _from_files(files, lambda path: path.parent.name, split, points, read))


def read_rows(path: Path) -> np.ndarray:
    """The points (P, 3) of a text file with rows x,y,z,nx,ny,nz; the normals are ignored and may be missing."""
    text = read_text(path, TEXT_BYTES)
    try:
        rows = np.zeros((0, 6))
        if text.strip():  # of an empty file, NumPy would warn
            rows = np.loadtxt(io.StringIO(text), delimiter=",", comments=None, ndmin=2)
    except Exception:  # NumPy raises more than one kind of error for what is not a number
        raise DataError(f"{path} is damaged: it should have rows of six numbers, x,y,z,nx,ny,nz") from None
    if len(rows) == 0 or rows.shape[1] not in (3, 6) or not np.isfinite(rows).all():
        raise DataError(f"{path} is damaged: it should have rows of six finite numbers, x,y,z,nx,ny,nz")
    return rows[:, :3]


# ---- meshes ---------------------------------------------------------------------------------------------------------


def mesh_folder(folder: Path) -> Layout:
    """chair/train/chair_0001.off …; the random points on a mesh are a function of its file name."""

    def files(split: str) -> list[Path]:
        found = sorted(path for path in folder.glob(f"*/{split}/*.off") if not path.name.startswith("."))
        if not found:
            raise DataError(f"{folder} has no meshes such as chair/{split}/chair_0001.off")
        return found

    def read(path: Path) -> np.ndarray:
        rng = np.random.default_rng(zlib.crc32(path.name.encode()))
        return unit_ball(sample_points(rng, read_off(path), MESH_POINTS))

    def load(split: str) -> Clouds:
        return _from_files(files, lambda path: path.parent.parent.name, split, MESH_POINTS, read)

    return Layout(folder, MESH_POINTS, load)


# ---- shared by the layouts ------------------------------------------------------------------------------------------


def _from_files(
    files: Callable[[str], list[Path]],
    class_of: Callable[[Path], str],
    split: str,
    points: int,
    read: Callable[[Path], np.ndarray],
) -> Clouds:
    """One file per shape, cached.  Classes are numbered in alphabetical order, the same in both splits."""
    names = sorted({class_of(path) for each in SPLITS for path in files(each)})
    found = files(split)
    if len(found) > MAX_SHAPES:
        raise DataError(f"there are {len(found):,} shapes to {split} with, more than the {MAX_SHAPES:,} of ModelNet40")
    labels = np.array([names.index(class_of(path)) for path in found])
    name = f"modelnet40-{found[0].suffix[1:]}-{split}"
    return Clouds(cached_array(name, found, (len(found), points, 3), "float16", map(read, found)), labels, tuple(names))


LAYOUTS: dict[str, Callable[[Path], Layout]] = {  # public name -> how to open it, in order of preference
    "modelnet40_ply_hdf5_2048": h5_folder,
    "modelnet40_normal_resampled": text_folder,
    "ModelNet40": mesh_folder,
    "ModelNet40_cloud.h5": deep_sets_file,
}
