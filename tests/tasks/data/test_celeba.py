"""CelebA in its public layout: small copies made here; and thousands of damaged ones, refused in a sentence."""

import io
import os
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tasks.data import DataError, celeba
from tasks.set_anomaly import sample

NAMES = ("Bald", "Bangs", "Eyeglasses", "Male", "Smiling")
COUNT = 60


def jpeg(rng: np.random.Generator, width: int = 178, height: int = 218) -> bytes:
    """A smooth picture, as a photograph is."""
    small = Image.fromarray(rng.integers(256, size=(4, 4, 3), dtype=np.uint8))
    file = io.BytesIO()
    small.resize((width, height), Image.Resampling.BICUBIC).save(file, format="JPEG", quality=95)
    return file.getvalue()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MINISETS_DATA with a CelebA of sixty images."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    folder, rng = tmp_path / "celeba", np.random.default_rng(0)
    (folder / "img_align_celeba").mkdir(parents=True)
    has = attributes()
    rows = [f"{i + 1:06d}.jpg {' '.join(f'{2 * int(x) - 1:2d}' for x in row)}" for i, row in enumerate(has)]
    lines = [str(COUNT), " ".join(NAMES) + " ", *rows]
    (folder / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    parts = [f"{i + 1:06d}.jpg {i % 3}" for i in range(COUNT)]
    (folder / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    for i in range(COUNT):
        (folder / f"img_align_celeba/{i + 1:06d}.jpg").write_bytes(jpeg(rng))
    return folder


def attributes() -> np.ndarray:
    return np.random.default_rng(1).random((COUNT, len(NAMES))) < 0.5


def by_hand(path: Path, size: int) -> np.ndarray:
    """The same picture by plain means: rows 20 to 197, averaged under tents as wide as two new pixels."""
    pixels = np.asarray(Image.open(path).convert("RGB"))[20:198].astype(float)  # (178, 178, 3)
    centers, old = (np.arange(size) + 0.5) * 178 / size, np.arange(178) + 0.5
    weights = np.maximum(1 - np.abs(old - centers[:, None]) * size / 178, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ai,bj,ijc->cab", weights, weights, pixels, optimize=True)


def test_attributes_parts_and_images_are_what_was_written(data: Path):
    faces = celeba.load()
    assert faces.names == NAMES
    np.testing.assert_array_equal(faces.attributes, attributes())
    np.testing.assert_array_equal(faces.split, np.arange(COUNT) % 3)
    images = faces.images(np.array([4, 7, 59]), 64)
    assert images.shape == (3, 3, 64, 64) and images.dtype == np.uint8
    for image, number in zip(images, (5, 8, 60), strict=True):
        expected = by_hand(data / f"img_align_celeba/{number:06d}.jpg", 64)
        assert np.abs(image - expected).max() < 1.6  # rounded twice


def test_a_zip_is_as_good_as_a_folder(data: Path):
    folder = celeba.load().images(np.arange(COUNT), 32).copy()
    with zipfile.ZipFile(data / "img_align_celeba.zip", "w") as archive:
        for path in sorted((data / "img_align_celeba").iterdir()):
            archive.write(path, f"img_align_celeba/{path.name}")
    shutil.rmtree(data / "img_align_celeba")
    np.testing.assert_array_equal(celeba.load().images(np.arange(COUNT), 32), folder)


def test_images_are_decoded_once_and_mapped(data: Path, monkeypatch):
    numbers = np.arange(10)
    first = celeba.load().images(numbers, 32)
    assert isinstance(first, np.memmap) and not first.flags.writeable
    monkeypatch.setattr(celeba, "crop_and_resize", lambda *_: pytest.fail("decoded a second time"))
    np.testing.assert_array_equal(celeba.load().images(numbers, 32), first)


def test_only_the_images_that_are_asked_for_are_needed(data: Path):
    (data / "img_align_celeba/000003.jpg").unlink()
    assert len(celeba.load().images(np.array([0, 1, 3]), 16)) == 3
    with pytest.raises(DataError, match=r"000003.jpg is in the attribute list but not in .*img_align_celeba"):
        celeba.load().images(np.array([0, 1, 2]), 16)
    assert [path for path in (data.parent / "prepared").iterdir() if "unfinished" in path.name] == []


def test_a_replaced_image_is_decoded_again(data: Path):
    """In the folder, whose own time does not change when a file in it is written anew."""
    old = celeba.load().images(np.arange(3), 16).copy()
    path = data / "img_align_celeba/000002.jpg"
    folder = os.stat(path.parent).st_mtime_ns
    path.write_bytes(jpeg(np.random.default_rng(9)))
    assert os.stat(path.parent).st_mtime_ns == folder
    new = celeba.load().images(np.arange(3), 16)
    np.testing.assert_array_equal(new[[0, 2]], old[[0, 2]])
    assert (new[1] != old[1]).any()


def test_an_incomplete_list_is_used_with_a_warning(data: Path, capsys):
    celeba.load()
    celeba.load()
    warning = f"{data}, all: 60 images (202,599 expected) and 5 attributes (40 expected); "
    assert capsys.readouterr().err.count(warning) == 1


def test_a_small_celeba_makes_sets(data: Path):
    members, odd, shared = sample(np.random.default_rng(0), celeba.load(), 0, 50)
    has = attributes()
    for eight, place, pair in zip(members, odd, shared, strict=True):
        np.testing.assert_array_equal(has[eight][:, pair].sum(axis=1), np.where(np.arange(8) == place, 0, 2))


# ---- lists that are not as they should be ---------------------------------------------------------------------------


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("list_attr_celeba.txt", "60\n", "61\n", r"line 1 announces 61 images, but 60 follow"),
        ("list_attr_celeba.txt", "60\n", "sixty\n", r"line 1: expected the number of images, found 'sixty'"),
        ("list_attr_celeba.txt", "Bald", "Ba\x1b[2J", r"line 2: expected the names .* found 'Ba\\x1b\[2J Bangs"),
        ("list_attr_celeba.txt", "Bald Bangs", "Bald Bald", r"line 2: expected the names of 2 to 40 different attr"),
        (
            "list_attr_celeba.txt",
            "000003.jpg",
            "../03.jpg",
            r"line 5: expected a file name and 5 values of 1 or -1, found '\.\.",
        ),
        (
            "list_attr_celeba.txt",
            "000004.jpg ",
            "000004.jpg 1 ",
            r"line 6: expected a file name and 5 values of 1 or -1",
        ),
        ("list_attr_celeba.txt", "000003.jpg", "000004.jpg", r"lists the same image twice"),
        (
            "list_eval_partition.txt",
            "000005.jpg 1",
            "000005.jpg 3",
            r"line 5: expected a file name and 0, 1 or 2, found",
        ),
        ("list_eval_partition.txt", "000001.jpg 0\n", "", r"lists 59 images, the attribute list 60"),
        (
            "list_eval_partition.txt",
            "000002.jpg",
            "000099.jpg",
            r"line 2: found 000099.jpg where the attribute list has 000002.jpg",
        ),
    ],
)
def test_a_wrong_list_names_its_file_and_line(data: Path, file: str, old: str, new: str, sentence: str):
    edit(data / file, old, new)
    with pytest.raises(DataError, match=sentence) as refused:
        celeba.load()
    assert file in str(refused.value)


def test_lists_that_are_none(data: Path, monkeypatch):
    path = data / "list_attr_celeba.txt"
    for content in (b"", b"\n\n", b"60", b"\xff\xd8\xff\xe0" * 10):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"list_attr_celeba.txt is not a CelebA list"):
            celeba.load()
    monkeypatch.setattr(celeba, "LIST_BYTES", 20)
    path.write_bytes(b"1" * 21)
    with pytest.raises(DataError, match=r"it has 21 bytes, more than the 20 it could need"):
        celeba.load()
    path.unlink()
    with pytest.raises(Exception, match=r"cannot read .*list_attr_celeba.txt: No such file"):
        celeba.load()


def test_lists_of_more_than_celeba_has(data: Path, monkeypatch):
    """Memory is that of 40 attributes and 202,599 images, whatever a list claims."""
    path = data / "list_attr_celeba.txt"
    path.write_text(f"1\n{' '.join(f'a{i}' for i in range(20_000))}\n000001.jpg{' 1' * 20_000}\n")
    with pytest.raises(DataError, match=r"line 2: expected the names of 2 to 40 different attributes, found 'a0 a1"):
        celeba.load()
    path.write_text("60\na b\n" + "\n" * 300_000 + "1.jpg 1 1")
    with pytest.raises(DataError, match=r"it has 300,003 lines for 202,599 images"):
        celeba.load()


def test_windows_line_ends_are_fine(data: Path):
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        (data / name).write_bytes((data / name).read_bytes().replace(b"\n", b"\r\n"))
    np.testing.assert_array_equal(celeba.load().attributes, attributes())


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """A byte changed, some cut out, some doubled, or the end missing."""
    at, more = int(rng.integers(len(content))), int(rng.integers(1, 40))
    kind = rng.integers(4)
    if kind == 0:
        return content[:at] + bytes([rng.integers(256)]) + content[at + 1 :]
    if kind == 1:
        return content[:at] + content[at + more :]
    return content[: at + more] + content[at:] if kind == 2 else content[:at]


def test_thousands_of_damaged_lists(data: Path):
    """Each is read as a list of the right shape, or refused in a sentence."""
    rng, refused = np.random.default_rng(2), 0
    original = {name: (data / name).read_bytes() for name in ("list_attr_celeba.txt", "list_eval_partition.txt")}
    for i in range(3_000):
        name = [*original][i % 2]
        (data / name).write_bytes(mutated(rng, original[name]))
        try:
            faces = celeba.load()
            assert faces.attributes.shape == (len(faces.split), len(faces.names)) and set(faces.split) <= {0, 1, 2}
        except DataError as error:
            refused += 1
            assert str(data / "list_") in str(error) and len(str(error)) < 500
        (data / name).write_bytes(original[name])
    assert refused > 1_500


# ---- images that are not as they should be --------------------------------------------------------------------------


def refused(data: Path, content: bytes) -> str:
    path = data / "img_align_celeba/000001.jpg"
    path.write_bytes(content)
    with pytest.raises(DataError) as sentence:
        celeba.load().images(np.arange(3), 16)
    assert "000001.jpg" in str(sentence.value) and "\n" not in str(sentence.value) and "0x" not in str(sentence.value)
    assert list((data.parent / "prepared").iterdir()) == []  # nothing half-written
    return str(sentence.value)


def test_a_damaged_image_names_itself(data: Path):
    good = (data / "img_align_celeba/000001.jpg").read_bytes()
    assert "cut off" in refused(data, good[: len(good) // 2])
    assert "is damaged" in refused(data, b"") and "is damaged" in refused(data, b"no image")
    png = io.BytesIO()
    Image.new("RGB", (178, 218)).save(png, format="PNG")
    assert "is damaged or not a CelebA image" in refused(data, png.getvalue())
    assert "more than the 1,048,576 it could need" in refused(data, good + b"\0" * 2**20)
    assert "8 × 218 pixels" in refused(data, jpeg(np.random.default_rng(0), 8))


@pytest.mark.parametrize("side", [1_025, 10_000, 65_500])
def test_an_image_that_claims_to_be_huge_is_not_decoded(data: Path, side: int):
    good = (data / "img_align_celeba/000001.jpg").read_bytes()
    at = good.index(b"\xff\xc0") + 5  # where the frame's header has height and width
    sentence = refused(data, good[:at] + struct.pack(">HH", side, side) + good[at + 4 :])
    assert f"{side} × {side} pixels" in sentence or "its header is damaged" in sentence


def test_thousands_of_damaged_images(tmp_path: Path):
    """In a folder or in a zip: an image of the right shape, or a sentence that names it."""
    rng, good, outcomes = np.random.default_rng(3), jpeg(np.random.default_rng(0), 89, 109), {True: 0, False: 0}
    folder, archive = tmp_path / "img_align_celeba", tmp_path / "img_align_celeba.zip"
    folder.mkdir()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("img_align_celeba/000001.jpg", good)
    zipped = archive.read_bytes()
    for i in range(2_000):
        if i % 2:
            archive.write_bytes(mutated(rng, zipped))
        else:
            (folder / "000001.jpg").write_bytes(mutated(rng, good))
        try:
            (image,) = celeba.decode(["000001.jpg"], 16, archive if i % 2 else folder)
            assert image.shape == (3, 16, 16) and image.dtype == np.uint8
            outcomes[True] += 1
        except DataError as error:
            assert "img_align_celeba" in str(error)
            outcomes[False] += 1
    assert min(outcomes.values()) > 300
