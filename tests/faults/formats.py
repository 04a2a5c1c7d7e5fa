"""Damaged data sets: loaded, they give the arrays of undamaged ones, or are refused as they are."""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from minisets.interop import load_authors, load_safetensors
from tasks import vgg
from tasks.data import celeba, cifar100, features, modelnet40, omniglot
from tasks.harness.errors import UsageError
from tests.faults import fixtures
from tests.faults.mutations import damage_bytes, replace_file
from tests.faults.outcomes import Outcome, attempt, changes, sentence_problem, snapshot
from tests.faults.validity import (
    never,
    same_head,
    valid_h5,
    valid_jpeg,
    valid_list,
    valid_mesh,
    valid_records,
    valid_rows,
)


@dataclass
class Format:
    """A format of data, how to write and load it, and where nothing in it could tell a damaged file from another."""

    name: str
    write: Callable[[Path], object]
    load: Callable[[Path], Iterable[np.ndarray]]
    files: str  # those to damage
    undetectable: Callable[[Path, bytes, bytes], bool] = never  # given the path, and its content before and after
    special: dict[str, Callable[[Path], Path]] = field(default_factory=dict)  # damage that random bytes would not find
    optional: str = ""  # a file that need not be there
    prepared: bool = False  # load it once before, and damage what that leaves
    full: int = 500
    short: int = 12

    def numbers(self, short: bool) -> list[int]:
        return [i * self.full // self.short for i in range(self.short)] if short else list(range(self.full))

    def prepare(self, work: Path) -> None:
        self.work = work
        self.write(work)
        done = attempt(self.loading(work))
        assert done.code == 0, f"undamaged files of {self.name} were refused: {done.err}"
        self.expected, self.said = done.out, _warnings(done.err)
        shutil.rmtree(work / "prepared", ignore_errors=True)

    def loading(self, root: Path) -> Callable[[], int]:
        """Load the data and print a checksum of the arrays, or the error as the command line shows it."""

        def run() -> int:
            os.environ["MINISETS_DATA"] = str(root)
            digest = hashlib.sha256()
            try:
                for array in map(np.ascontiguousarray, self.load(root)):
                    digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
            except UsageError as error:
                print(error, file=sys.stderr)
                return 2
            print(digest.hexdigest())
            return 0

        return run

    def trial(self, number: int, folder: Path) -> Outcome:
        rng, root = random.Random(f"{self.name} {number}"), folder / "data"
        shutil.copytree(self.work, root)
        if self.prepared:
            attempt(self.loading(root))
        path, what, plain = self._damage(rng, root)
        before = snapshot(root)
        done = attempt(self.loading(root))
        sentences = "\n".join(
            line for line in done.err.splitlines() if not re.match("minisets: warning|building ", line)
        )
        if done.problem:
            return Outcome("wrong", what, done.problem)
        if done.code:
            changed = changes(
                before, {k: v for k, v in snapshot(root).items() if not (k.startswith("prepared") and k not in before)}
            )
            names = (path.name.split(".")[0], *path.relative_to(root).parts)
            problem = sentence_problem(sentences, names) or (changed and f"refused, but it changed {changed}")
            return Outcome("wrong", what, problem) if problem else Outcome("refused", what, sentences.strip())
        if done.out == self.expected:
            return Outcome("right", what)
        if _warnings(done.err) != self.said:
            return Outcome("refused", what, f"loaded, but with a warning: {_warnings(done.err)}")
        verdict = "undetectable" if plain() else "wrong"
        return Outcome(verdict, what, "other arrays than those of undamaged files, and not a word")

    def _damage(self, rng: random.Random, root: Path) -> tuple[Path, str, Callable[[], bool]]:
        """The damaged file, what was done to it, and whether nothing could tell."""
        if self.special and rng.random() < 0.1:
            name = rng.choice(list(self.special))
            return self.special[name](root), name, lambda: False
        paths = sorted(path for pattern in self.files.split() for path in root.glob(pattern) if path.is_file())
        path = rng.choice(paths)
        name, old = path.relative_to(root), path.read_bytes()
        kind = rng.choice(("bytes",) * 8 + ("not a file", "another"))
        if kind == "not a file":
            return path, f"{name}: {replace_file(rng, path)}", lambda: path.name == self.optional
        others = [
            other for other in paths if other.suffix == path.suffix and other.parent == path.parent and other != path
        ]
        if kind == "another" and others and not self.prepared:
            other = rng.choice(others)
            shutil.copy(other, path)
            return path, f"{name}: {other.name} instead", lambda: True
        new, what = damage_bytes(rng, old)
        path.write_bytes(new)
        return path, f"{name}: {what}", lambda: self.undetectable(path, old, new)


def _warnings(text: str) -> list[str]:
    """What is said of counts: the checksum of an archive made here is never the published one."""
    found = [line for line in text.splitlines() if line.startswith("minisets: warning") and "published" not in line]
    return [re.sub(r"\S*/\S*", "", line) for line in found]


# ---- loading --------------------------------------------------------------------------------------------------------


def load_omniglot(root: Path) -> Iterable[np.ndarray]:
    omniglot.CHARACTERS = fixtures.CHARACTERS  # in the child alone
    return omniglot.load().values()


def load_cifar(root: Path) -> Iterable[np.ndarray]:
    vgg.Config(data="cifar100").require_data()  # which compares the counts with those published
    return [array for split in ("train", "test") for array in cifar100.load(split)]


def load_modelnet(root: Path) -> Iterable[np.ndarray]:
    layout = modelnet40.find(5)
    for split in ("train", "test"):
        clouds = layout.load(split)
        yield from (clouds.points, clouds.labels, np.array(clouds.names))


def load_meshes(root: Path) -> Iterable[np.ndarray]:
    modelnet40.MESH_POINTS = 40
    return load_modelnet(root)


def load_celeba(root: Path) -> Iterable[np.ndarray]:
    faces = celeba.load()
    return [faces.attributes, faces.split, np.array(faces.names), faces.images(np.arange(len(faces.split)), 16)]


def load_features(root: Path) -> Iterable[np.ndarray]:
    folder = features.default_folder()
    about = features.read_about(folder)
    yield np.array([str(about["data"]), str(about["accuracy"])])
    for split in ("train", "test"):
        yield from features.load(folder, split)


def load_weights(root: Path) -> Iterable[np.ndarray]:
    net, path = fixtures.safetensors_network(), root / "net.safetensors"
    try:
        state = load_safetensors(path)
    except ValueError as error:  # of the library, which has no command line
        raise UsageError(error) from None
    try:
        load_authors(net, state)
    except ValueError as error:  # which does not know the file
        raise UsageError(f"{path}: {error}") from None
    return [parameter.numpy() for parameter in net.parameters()]


# ---- all of them ----------------------------------------------------------------------------------------------------

FORMATS = (
    Format("Omniglot, zip", fixtures.omniglot_zip, load_omniglot, "omniglot/*.zip",
           special={"a bomb": fixtures.zip_bomb("omniglot/images_background.zip")}),
    Format("Omniglot, PNG files", fixtures.omniglot_folder, load_omniglot, "omniglot/*/*/*/*.png"),
    Format("CIFAR-100, tar.gz", fixtures.cifar_archive, load_cifar, "*.tar.gz",
           special={"a bomb": fixtures.cifar_bomb}),
    Format("CIFAR-100, bin", fixtures.cifar_files, load_cifar, "*/*.bin", valid_records),
    Format("ModelNet40, h5", fixtures.modelnet_h5, load_modelnet, "*/*.h5 */*.h5 */*.txt", valid_h5,
           special={"one coordinate of 1e25": fixtures.h5_value(1e25, False), "nan": fixtures.h5_value(np.nan, False),
                    "a shape of zeros": fixtures.h5_value(0, True), "a claim of 120 GB": fixtures.h5_claims_much,
                    "a file listed 400 times": fixtures.h5_listed_often}, optional="shape_names.txt"),
    Format("ModelNet40, text", fixtures.modelnet_text, load_modelnet, "*/*.txt */*/*.txt", valid_rows),
    Format("ModelNet40, OFF", fixtures.modelnet_meshes, load_meshes, "ModelNet40/*/*/*.off", valid_mesh),
    Format("CelebA, zip", fixtures.celeba_zip, load_celeba, "celeba/*.zip",
           special={"a bomb": fixtures.zip_bomb("celeba/*.zip")}),
    Format("CelebA, JPEG files", fixtures.celeba_folder, load_celeba, "celeba/*/*.jpg", valid_jpeg),
    Format("CelebA, lists", fixtures.celeba_zip, load_celeba, "celeba/*.txt", valid_list,
           special={"20,000 attributes": fixtures.many_attributes}),
    Format("prepared arrays, npy", fixtures.modelnet_text, load_modelnet, "prepared/*.npy", prepared=True),
    Format("features of the VGG", fixtures.vgg_features, load_features, "*/*.npy */*.json", same_head,
           special={"nan": fixtures.features_with(float("nan")), "infinite": fixtures.features_with(float("inf"))}),
    Format("safetensors", fixtures.safetensors_file, load_weights, "*.safetensors", same_head),
)  # fmt: skip
