"""CIFAR-100: the binary files and the archive, damaged ones of both, the features, and the stand-ins."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest

from tasks.data import DataError, cifar100, features
from tasks.data.cifar100 import RECORD, Images
from tasks.data.features import Features
from tasks.data.standins import image_features, texture_images
from tasks.harness.errors import UsageError
from tests.helpers.archives import tar


def records(labels: list[int], seed: int = 0) -> bytes:
    """Images in the public format: coarse byte, fine byte, 3,072 pixels."""
    rng = np.random.default_rng(seed)
    content = rng.integers(0, 256, size=(len(labels), RECORD), dtype=np.uint8)
    content[:, 1] = labels
    content[:, 0] = content[:, 1] // 5 % 20
    return content.tobytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    (tmp_path / "cifar-100-binary").mkdir()
    for part, labels in (("train", [3, 99, 0]), ("test", [7])):
        (tmp_path / f"cifar-100-binary/{part}.bin").write_bytes(records(labels))
    return tmp_path


def archive(folder: Path, parts: dict[str, bytes], prefix: str = "") -> Path:
    path = folder / "cifar-100-binary.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for part, content in parts.items():
            about = tarfile.TarInfo(f"{prefix}cifar-100-binary/{part}.bin")
            about.size = len(content)
            file.addfile(about, io.BytesIO(content))
    return path


def remove(folder: Path) -> None:
    for path in (folder / "cifar-100-binary").iterdir():
        path.unlink()


# ---- the real files -------------------------------------------------------------------------------------------------


def same(images: Images, content: bytes) -> None:
    assert images.pixels.shape == (len(content) // RECORD, 3, 32, 32) and images.pixels.dtype == np.uint8
    for i in range(len(images.labels)):  # byte by byte, as the format is described
        one = content[i * RECORD : (i + 1) * RECORD]
        assert images.labels[i] == one[1]
        for channel, row, column in ((0, 0, 0), (0, 31, 5), (1, 0, 31), (2, 17, 4), (2, 31, 31)):
            assert images.pixels[i, channel, row, column] == one[2 + 1024 * channel + 32 * row + column]


def test_images_are_read_from_the_files_and_from_the_archive(folder: Path):
    same(cifar100.load("train"), records([3, 99, 0]))
    same(cifar100.load("test"), records([7]))
    remove(folder)
    for prefix in ("", "./"):
        archive(folder, {"train": records([1, 2], 5), "test": records([4], 6)}, prefix)
        same(cifar100.load("train"), records([1, 2], 5))
        same(cifar100.load("test"), records([4], 6))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"train.bin has 0 bytes, not a multiple of the 3,074 bytes of an image"),
        (records([1, 2])[:-1], r"train.bin has 6,147 bytes, not a multiple"),
        (records([1, 100]), r"train.bin gives image 1 the fine label 100, but labels are 0 to 99"),
        (b"\xff" + records([1])[1:], r"train.bin gives image 0 the coarse label 255, but labels are 0 to 19"),
    ],
)
def test_damaged_files_are_named(folder: Path, content: bytes, message: str):
    (folder / "cifar-100-binary/train.bin").write_bytes(content)
    with pytest.raises(DataError, match=message):
        cifar100.load("train")
    remove(folder)
    archive(folder, {"train": content})
    with pytest.raises(DataError, match=message.replace("train.bin", "train.bin in .*tar.gz")):
        cifar100.load("train")
    with pytest.raises(DataError, match=r"tar.gz contains no cifar-100-binary/test.bin"):
        cifar100.load("test")


def test_missing_files_are_named(folder: Path):
    remove(folder)
    with pytest.raises(DataError, match=r"there is no cifar-100-binary/train.bin; minisets data fetch"):
        cifar100.load("train")
    (folder / "cifar-100-binary/train.bin").mkdir()
    with pytest.raises(DataError, match=r"train.bin"):
        cifar100.load("train")


def test_the_archive_at_its_real_size(tmp_path: Path, monkeypatch):
    """50,000 + 10,000 images: 184 MB, which no reader may ask for at once."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    parts = {}
    for split, count in (("train", 50_000), ("test", 10_000)):
        content = np.zeros((count, RECORD), np.uint8)
        content[:, 1] = np.arange(count) % 100
        content[:, -1] = np.arange(count) % 251  # the last pixel
        parts[split] = content
    with gzip.open(tmp_path / "cifar-100-binary.tar.gz", "wb", compresslevel=1) as file:
        file.write(tar(*((f"cifar-100-binary/{split}.bin", part.tobytes()) for split, part in parts.items()), mode="w"))
    for split, content in parts.items():
        images = cifar100.load(split)
        np.testing.assert_array_equal(images.labels, content[:, 1])
        np.testing.assert_array_equal(images.pixels[:, 2, 31, 31], content[:, -1])
        assert images.pixels.shape == (len(content), 3, 32, 32)


def test_a_flipped_bit_in_the_archive_never_gives_other_images(folder: Path):
    remove(folder)
    path = archive(folder, {"train": records([1, 2]), "test": records([3])})
    whole, rng, refused = path.read_bytes(), random.Random(0), 0
    for _ in range(600):
        changed = bytearray(whole)
        changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            for split, right in (("train", records([1, 2])), ("test", records([3]))):
                same(images := cifar100.load(split), right)
                assert images.pixels.tobytes() == b"".join(
                    right[i + 2 : i + RECORD] for i in range(0, len(right), RECORD)
                )
        except DataError:
            refused += 1
    assert refused > 590  # all but a few bits of the header


def test_a_file_twice_in_the_archive(folder: Path):
    remove(folder)
    content = tar(*[("cifar-100-binary/train.bin", records([1]))] * 2)
    (folder / "cifar-100-binary.tar.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"contains cifar-100-binary/train.bin twice"):
        cifar100.load("train")


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, repeated, or the end cut off."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        i, length = rng.randrange(len(changed) or 1), rng.choice((1, 1, 2, 8, 100))
        match rng.randrange(4):
            case 0:
                changed[i : i + length] = rng.randbytes(length)
            case 1:
                del changed[i : i + length]
            case 2:
                changed[i:i] = changed[i : i + length]
            case 3:
                del changed[i:]
    return bytes(changed)


def test_mutated_files_and_archives_give_images_or_one_sentence(folder: Path):
    rng, read = random.Random(0), 0
    path = folder / "cifar-100-binary/train.bin"
    whole = path.read_bytes()
    for _ in range(1_000):
        path.write_bytes(mutated(whole, rng))
        read += images_or_sentence()
    remove(folder)
    path = archive(folder, {"train": records([1, 2])})
    whole = path.read_bytes()
    for _ in range(1_000):
        path.write_bytes(mutated(whole, rng))
        images_or_sentence()
    assert read > 50  # a pixel may be any byte


def images_or_sentence() -> bool:
    try:
        images = cifar100.load("train")
    except DataError as error:
        assert "\n" not in str(error) and "cifar-100-binary" in str(error)
        return False
    assert images.labels.min() >= 0 and images.labels.max() < 100 and images.pixels.shape[1:] == (3, 32, 32)
    return True


# ---- features -------------------------------------------------------------------------------------------------------


def some(N: int) -> Features:
    rng = np.random.default_rng(N)
    return Features(rng.normal(size=(N, 512)).astype("float32"), rng.integers(0, 100, N))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    features.save(tmp_path / "features", {"train": some(5), "test": some(2)}, {"data": "cifar100", "accuracy": 0.5})
    return tmp_path / "features"


def test_features_come_back_as_they_were(stored: Path):
    assert features.read_about(stored)["accuracy"] == 0.5
    for part, N in (("train", 5), ("test", 2)):
        for got, want in zip(features.load(stored, part), some(N), strict=True):
            np.testing.assert_array_equal(got, want)


def test_damaged_features_are_named(stored: Path, tmp_path: Path):
    def wrong(name: str, array: np.ndarray, message: str, part: str = "train") -> None:
        before = (stored / name).read_bytes()
        np.save(stored / name, array)
        with pytest.raises(DataError, match=message):
            features.load(stored, part)
        (stored / name).write_bytes(before)

    wrong("train.npy", np.zeros((5, 9), "f4"), r"have the shapes \(5, 9\) and \(5,\); expected \(N, 512\)")
    wrong("train.npy", np.zeros((5, 512)), "train.npy is damaged: expected an array of float32, found")
    wrong("train.npy", np.full((5, 512), np.nan, "f4"), "train.npy contains values that are not finite")
    wrong("train_labels.npy", np.full(5, 100, "u1"), "train_labels.npy has the label 100")
    for text in ("[]", '{"data": 1, "accuracy": 1}', '{"data": "cifar100"}', '{"data": "x", "accuracy": NaN}', "{"):
        (stored / "about.json").write_text(text)
        with pytest.raises(UsageError, match=r"about\.json"):
            features.read_about(stored)
    with pytest.raises(DataError, match=r"contains no image features: .*python -m tasks.vgg extracts them"):
        features.read_about(tmp_path / "nothing")


def test_mutated_features_give_an_array_or_one_sentence(stored: Path):
    rng = random.Random(0)
    for name in ("train.npy", "train_labels.npy"):
        whole = (stored / name).read_bytes()
        for _ in range(1_000):
            (stored / name).write_bytes(mutated(whole, rng))
            try:
                for got, right in zip(features.load(stored, "train"), some(5), strict=True):
                    np.testing.assert_array_equal(got, right)
            except DataError as error:
                assert "train" in str(error)
        (stored / name).write_bytes(whole)


def test_standardized_features_have_mean_0_and_variance_1():
    vectors, labels = some(50)
    vectors[:, 7] = 3.0  # never changes
    got = features.standardize(Features(vectors * 4 + 1, labels)).vectors
    np.testing.assert_allclose(got.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(np.delete(got.std(axis=0), 7), 1, rtol=1e-4)
    assert (got[:, 7] == 0).all()


# ---- stand-ins ------------------------------------------------------------------------------------------------------


def test_images_of_the_stand_in_follow_their_seed_and_have_classes():
    images = texture_images.synthesize("train", 4)
    np.testing.assert_array_equal(images.pixels, texture_images.synthesize("train", 4).pixels)
    assert images.pixels.shape == (400, 3, 32, 32) and (np.bincount(images.labels) == 4).all()
    assert not np.array_equal(images.pixels, texture_images.synthesize("test", 4).pixels)
    assert len(np.unique(images.pixels.reshape(400, -1), axis=0)) == 400  # no image twice
    X = images.pixels.mean(axis=(2, 3))  # the mean color separates most families
    means = np.stack([X[images.labels // 5 == f].mean(axis=0) for f in range(20)])
    nearest = np.square(X[:, None] - means).sum(axis=-1).argmin(axis=1)
    assert 0.3 < (nearest == images.labels // 5).mean() < 1


def test_features_of_the_stand_in_have_classes_and_a_structure_within():
    vectors, labels = image_features.synthesize(per_class=20)
    np.testing.assert_array_equal(vectors, image_features.synthesize(per_class=20).vectors)
    assert vectors.shape == (2_000, 512) and vectors.min() == 0 and np.isfinite(vectors).all()
    within = vectors - np.stack([vectors[labels == c].mean(axis=0) for c in range(100)])[labels]
    share = np.linalg.svd(within, compute_uv=False) ** 2
    assert share[:24].sum() > 5 * 24 / 512 * share.sum()  # few of the 512 directions hold much of the variance
