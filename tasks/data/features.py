"""Images as vectors of 512 numbers: what tasks/vgg.py has extracted from CIFAR-100, and a stand-in for it.

Features lie in a folder of plain arrays, each mapped into memory when it is read:

    train.npy, test.npy                   (N, 512) float32, a row for each image
    train_labels.npy, test_labels.npy     (N,) uint8, the class 0 to 99 of each
    about.json                            of which data they are, and the network's accuracy; written last
"""

from __future__ import annotations

import tokenize
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minisets.atomic import atomic_write
from tasks.data.cifar100 import CLASSES, COARSE, PER_CLASS
from tasks.data.store import DataError, data_folder
from tasks.folder import Folder, read_json, sentences

D = 512
PARTS = ("train", "test")
DAMAGE = (ValueError, TypeError, KeyError, OverflowError, EOFError, MemoryError, RecursionError)
DAMAGE += (SyntaxError, tokenize.TokenError)  # the head of a .npy file is the text of a dictionary


class Features(NamedTuple):
    """Vectors (N, 512), and the class of each (N,)."""

    vectors: np.ndarray
    labels: np.ndarray


def place() -> Path:
    """Where features of the real CIFAR-100 are kept for whoever wants them."""
    return data_folder() / "cifar-100-features"


def save(folder: Path, parts: dict[str, Features], about: dict[str, Any]) -> None:
    """Write all of it; about.json, without which nobody will read the rest, comes last."""
    with sentences(f"cannot write {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "about.json").unlink(missing_ok=True)
        for part, (vectors, labels) in parts.items():
            for name, array in ((part, vectors.astype("float32")), (f"{part}_labels", labels.astype("uint8"))):
                with atomic_write(folder / f"{name}.npy") as file:
                    np.save(file, array, allow_pickle=False)
    Folder(folder).write(folder / "about.json", about)


def about(folder: Path) -> dict[str, Any]:
    """What about.json says: "data" and "accuracy"."""
    path = folder / "about.json"
    if not path.exists():
        raise DataError(f"{folder} holds no features of images: there is no about.json; python -m tasks.vgg makes them")
    said = read_json(path)
    known = isinstance(said, dict) and isinstance(said.get("data"), str)
    if not known or not isinstance(said.get("accuracy"), int | float):
        raise DataError(f"{path} does not say of which data the features are, and how accurate the network was")
    return said


def load(folder: Path, part: str) -> Features:
    """The features of the part "train" or "test"."""
    vectors, labels = _array(folder / f"{part}.npy", "float32"), _array(folder / f"{part}_labels.npy", "uint8")
    if vectors.ndim != 2 or vectors.shape[1] != D or labels.shape != vectors.shape[:1] or not len(labels):
        raise DataError(
            f"{folder / part}.npy and {part}_labels.npy have the shapes {vectors.shape} and {labels.shape}; "
            f"expected (N, {D}) and (N,)"
        )
    if labels.max() >= CLASSES:
        raise DataError(
            f"{folder / part}_labels.npy has the label {labels.max()}, but there are only 0 to {CLASSES - 1}"
        )
    if not np.isfinite(vectors).all():
        raise DataError(f"{folder / part}.npy has numbers that are not finite; make the features again")
    return Features(vectors, labels.astype(np.int64))


def _array(path: Path, dtype: str) -> np.ndarray:
    with sentences(f"cannot read {path}"):
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except DAMAGE as error:
            raise DataError(f"{path} is damaged or cut off ({error}); make the features again") from None
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        raise DataError(f"{path} is no array of {dtype}; make the features again")
    return array


def standardise(features: Features) -> Features:
    """Each of the 512 numbers brought to mean 0 and variance 1 over all images; one that never changes becomes 0."""
    vectors = features.vectors - features.vectors.mean(axis=0)
    spread = vectors.std(axis=0)
    return Features(vectors / np.where(spread > 1e-6, spread, 1), features.labels)


# ---- the stand-in ---------------------------------------------------------------------------------------------------


FAMILY, OWN, WITHIN, NOISE = 1.0, 0.7, 0.5, 0.5  # how far families, classes and images lie apart: standard deviations


def synthetic_labels(per_class: int = PER_CLASS["train"]) -> np.ndarray:
    return np.repeat(np.arange(CLASSES), per_class)


def synthetic(per_class: int = PER_CLASS["train"], seed: int = 0) -> Features:
    """Vectors with the structure of a network's features, made up from a seed: 100 classes in 20 families of 5.

    x = max(A (family + class + within) + noise, 0): what tells classes apart, and most of what differs within a class,
    lies in the same 24 directions A of the 512, and a class has its own preferences among them for how it varies.
    """
    rng, r = np.random.default_rng([seed, 0]), 24
    A = rng.standard_normal((r, D)) / np.sqrt(r)
    family = np.repeat(rng.standard_normal((COARSE, r)), CLASSES // COARSE, axis=0)
    centre = FAMILY * family + OWN * rng.standard_normal((CLASSES, r))  # (classes, r)
    spread = WITHIN * rng.uniform(0.5, 1.5, size=(CLASSES, r))
    labels = synthetic_labels(per_class)
    hidden = centre[labels] + spread[labels] * rng.standard_normal((len(labels), r))
    vectors = hidden.astype("float32") @ A.astype("float32")
    vectors += NOISE * rng.standard_normal(vectors.shape, dtype="float32")
    return Features(np.maximum(vectors, 0), labels)
