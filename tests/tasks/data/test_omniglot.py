"""Omniglot and its stand-in: real-format archives and folders written here, damaged ones too, and random glyphs."""

import io
import os
import random
import shutil
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tasks.data import omniglot
from tasks.data.locations import DataError, cache_folder
from tasks.data.standins import glyphs


def png(ink: np.ndarray, mode: str = "1") -> bytes:
    """A drawing as Omniglot has it: one bit, ink black."""
    out = io.BytesIO()
    Image.fromarray(np.where(ink, 0, 255).astype("uint8")).convert(mode).save(out, format="PNG")
    return out.getvalue()


def drawing(rng: np.random.Generator) -> np.ndarray:
    return rng.random((105, 105)) < 0.1


def names(half: str, characters: int) -> list[list[str]]:
    """The names of 20 drawings of each character, spread over two alphabets."""
    return [
        [
            f"images_{half}/{('Alpha', 'Beta')[i % 2]}/character{i // 2 + 1:02}/{i + 1:04}_{d:02}.png"
            for d in range(1, 21)
        ]
        for i in range(characters)
    ]


COUNTS = (20, 3)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Both zip archives, tiny, with what real ones have beside drawings; the ink (105, 105) of each, by name."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setattr(omniglot, "CHARACTERS", COUNTS)
    rng, inks = np.random.default_rng(0), {}
    (tmp_path / "omniglot").mkdir()
    for half, count in zip(("background", "evaluation"), COUNTS, strict=True):
        with zipfile.ZipFile(tmp_path / f"omniglot/images_{half}.zip", "w") as archive:
            archive.writestr(f"images_{half}/", b"")
            archive.writestr(f"images_{half}/Alpha/.DS_Store", b"x")
            archive.writestr(f"__MACOSX/images_{half}/Alpha/character01/._0001_01.png", b"x")
            for name in reversed([name for row in names(half, count) for name in row]):  # in any order
                inks[name] = drawing(rng)
                archive.writestr(name, png(inks[name]))
    return inks


def unpack(tmp_path: Path) -> None:
    for half in ("background", "evaluation"):
        path = tmp_path / f"omniglot/images_{half}.zip"
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / "omniglot")
        path.unlink()


# ---- right files ----------------------------------------------------------------------------------------------------


def averaged(ink: np.ndarray) -> np.ndarray:
    """The mean over areas the long way: every pixel cut into 4 × 4, and blocks of 15 × 15 of those averaged."""
    fine = ink.repeat(4, axis=0).repeat(4, axis=1).astype(float)
    return fine.reshape(28, 15, 28, 15).mean(axis=(1, 3))


def test_the_areas_are_averaged():
    ink = drawing(np.random.default_rng(1))
    np.testing.assert_allclose(omniglot.downsample(ink) / omniglot.FULL, averaged(ink), atol=1e-12)
    assert (omniglot.downsample(np.ones((2, 105, 105), bool)) == omniglot.FULL).all()
    assert not omniglot.downsample(np.zeros((105, 105), bool)).any()


@pytest.mark.parametrize("form", ["zipped", "unpacked", "mixed"])
def test_both_halves_are_read_and_split(tiny: dict, tmp_path: Path, form: str):
    if form != "zipped":
        unpack(tmp_path)
    if form == "mixed":
        shutil.make_archive(
            str(tmp_path / "omniglot/images_evaluation"), "zip", tmp_path / "omniglot", "images_evaluation"
        )
    parts = omniglot.load()
    assert {name: images.shape for name, images in parts.items()} == {
        "train": (18, 20, 28, 28), "validation": (2, 20, 28, 28), "test": (3, 20, 28, 28),
    }  # fmt: skip
    background = sorted(names("background", 20))  # Alpha before Beta
    held = [i for i in range(20) if i % 10 == 9]
    expected = {"validation": [background[i] for i in held], "test": sorted(names("evaluation", 3)),
                "train": [background[i] for i in range(20) if i not in held]}  # fmt: skip
    for part, characters in expected.items():
        assert parts[part].dtype == np.float32 and 0 <= parts[part].min() < parts[part].max() <= 1
        for images, files in zip(parts[part], characters, strict=True):
            np.testing.assert_allclose(images, [averaged(tiny[file]) for file in files], atol=1e-6)


def test_the_real_split_has_the_documented_sizes():
    halves = [np.broadcast_to(np.uint8(0), (count, 20, 28, 28)) for count in omniglot.CHARACTERS]
    assert [len(x) for x in omniglot.split(*halves).values()] == [868, 96, 659] == list(glyphs.CHARACTERS.values())


def test_grey_images_are_read_as_well():
    ink = drawing(np.random.default_rng(2))
    np.testing.assert_array_equal(omniglot.decode("it", png(ink, "L")), ink)


def test_the_second_start_reads_one_file(tiny: dict, tmp_path: Path, monkeypatch):
    first = omniglot.load()
    monkeypatch.setattr(omniglot, "read", None)  # not called again
    second = omniglot.load()
    assert all((first[part] == second[part]).all() for part in first)
    monkeypatch.undo()
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setattr(omniglot, "CHARACTERS", (20, 2))  # another evaluation half: the cache is stale
    with zipfile.ZipFile(tmp_path / "omniglot/images_evaluation.zip", "w") as archive:
        for row in names("evaluation", 2):
            for name in row:
                archive.writestr(name, png(np.ones((105, 105), bool)))
    assert (omniglot.load()["test"] == 1).all()


def test_prepared_files_are_beside_the_data_or_in_the_home_folder(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "data/prepared"  # it will be made
    (tmp_path / "data").mkdir()
    assert cache_folder() == tmp_path / "data/prepared"
    (tmp_path / "data").chmod(0o555)  # root could write there, but is not meant to
    assert cache_folder() == tmp_path / "home/.cache/minisets/prepared"


# ---- wrong files ----------------------------------------------------------------------------------------------------


def test_absent_and_incomplete(tiny: dict, tmp_path: Path, monkeypatch):
    unpack(tmp_path)
    gone = tmp_path / "omniglot" / names("background", 20)[3][6]
    content = gone.read_bytes()
    gone.unlink()
    with pytest.raises(DataError, match=r"images_background has 19 of the 20 drawings of Beta/character02"):
        omniglot.load()
    gone.write_bytes(content)
    shutil.rmtree(gone.parent)
    with pytest.raises(DataError, match=r"images_background has 19 characters, 20 expected"):
        omniglot.load()
    shutil.rmtree(tmp_path / "omniglot/images_evaluation")
    with pytest.raises(DataError, match=r"there is no omniglot/images_evaluation.zip or omniglot/images_evaluation;"):
        omniglot.load()
    assert not list((tmp_path / "prepared").glob("*.npy"))


def test_a_corrupt_file_names_itself(tiny: dict, tmp_path: Path):
    unpack(tmp_path)
    name = names("evaluation", 3)[1][4]
    for content in (
        b"",
        b"no image",
        png(np.ones((105, 105)))[:40],
        png(np.ones((28, 28))),
        png(np.ones((105, 105)), "RGB"),
    ):
        (tmp_path / "omniglot" / name).write_bytes(content)
        with pytest.raises(
            DataError, match=r"images_evaluation: Beta/character01/0002_05.png is damaged or not a drawing"
        ):
            omniglot.load()


def test_a_picture_that_claims_to_be_huge_is_not_unpacked():
    chunk = struct.pack(">IIBBBBB", 60_000, 60_000, 1, 0, 0, 0, 0)
    head = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + chunk + struct.pack(">I", zlib.crc32(b"IHDR" + chunk))
    )
    body = zlib.compress(bytes(10_000_000), 9)
    content = head + struct.pack(">I", len(body)) + b"IDAT" + body + struct.pack(">I", zlib.crc32(b"IDAT" + body))
    with pytest.raises(DataError, match="it is "):
        omniglot.decode("it", content)


def test_thousands_of_broken_images_give_one_sentence_or_an_image():
    rng, good = random.Random(0), png(drawing(np.random.default_rng(3)))
    wrong = 0
    for _ in range(4_000):
        content = bytearray(good[: rng.randrange(len(good))] if rng.random() < 0.2 else good)
        for _ in range(rng.randrange(1, 6)):
            if content:
                content[rng.randrange(min(len(content), rng.choice((60, 10**6))))] = rng.randrange(256)
        try:
            assert omniglot.decode("it", bytes(content)).shape == (105, 105)
        except DataError as error:
            wrong += 1
            assert str(error).startswith("it is ")
    assert wrong > 1_000


def test_every_flipped_bit_is_found():
    good = png(drawing(np.random.default_rng(4)))
    assert omniglot.decode("it", good).any()
    for place in range(0, 8 * len(good), 5):  # 5 and 8 have no common factor, so all bits of a byte have their turn
        content = bytearray(good)
        content[place // 8] ^= 1 << place % 8
        with pytest.raises(DataError, match=r"^it is damaged or not a drawing of Omniglot: (it|a checksum) [^\n]*$"):
            omniglot.decode("it", bytes(content))
    with pytest.raises(DataError, match="it does not end where its last part does"):
        omniglot.decode("it", good + b"\0")


def test_a_drawing_that_is_there_twice_is_refused(tiny: dict, tmp_path: Path):
    unpack(tmp_path)
    name = names("evaluation", 3)[0][0]
    (tmp_path / "omniglot" / name.replace("_01.png", "_1.png")).write_bytes(png(np.eye(105)))
    with pytest.raises(DataError, match="has two files for drawing 1 of Alpha/character01"):
        omniglot.load()


def test_a_pipe_is_not_opened(tiny: dict, tmp_path: Path):
    path = tmp_path / "omniglot/images_evaluation.zip"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match=r"cannot read .*images_evaluation.zip: it is not a regular file"):
        omniglot.load()


def test_broken_archives_give_one_sentence_or_characters(tmp_path: Path):
    out, small = io.BytesIO(), png(np.eye(105, dtype=bool))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in names("background", 1):
            for name in row:
                archive.writestr(name, small)
    good, rng, wrong = out.getvalue(), random.Random(0), 0
    for _ in range(500):
        content = bytearray(good[: rng.randrange(len(good))] if rng.random() < 0.2 else good)
        for _ in range(rng.randrange(1, 4)):
            if content:  # often in the directory, which comes last
                first = rng.choice((0, max(0, len(content) - 400)))
                content[rng.randrange(first, len(content))] = rng.randrange(256)
        (tmp_path / "it.zip").write_bytes(content)
        try:
            assert omniglot.read(tmp_path / "it.zip", 1).shape == (1, 20, 28, 28)
        except DataError as error:
            wrong += 1
            assert str(tmp_path / "it.zip") in str(error)
    assert wrong > 100


def test_an_archive_of_too_many_files_is_not_omniglot(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(omniglot, "_MAX_FILES", 50)
    with zipfile.ZipFile(tmp_path / "it.zip", "w") as archive:
        for i in range(60):
            archive.writestr(f"{i}", b"")
    with pytest.raises(DataError, match="contains more than 50 files"):
        omniglot.read(tmp_path / "it.zip")
    with pytest.raises(DataError, match="damaged or truncated"):
        (tmp_path / "other.zip").write_bytes(b"<html>")
        omniglot.read(tmp_path / "other.zip")


# ---- the stand-in ---------------------------------------------------------------------------------------------------


def test_glyphs_have_the_shapes_of_omniglot():
    parts = glyphs.synthesize(0)
    assert [images.shape for images in parts.values()] == [(868, 20, 28, 28), (96, 20, 28, 28), (659, 20, 28, 28)]
    assert list(parts) == ["train", "validation", "test"] and glyphs.synthesize(0) is parts
    for images in parts.values():
        assert images.dtype == np.float32 and images.min() == 0 and images.max() == 1
        assert 0.03 < images.mean() < 0.12  # Omniglot has 0.08 of ink
        assert (images.max(axis=(2, 3)) > 0.5).mean() > 0.999  # hardly any drawing is empty
    other = glyphs.synthesize_drawings(np.random.default_rng(1), glyphs.sample_characters(np.random.default_rng(1), 5))
    again = glyphs.synthesize_drawings(np.random.default_rng(1), glyphs.sample_characters(np.random.default_rng(1), 5))
    np.testing.assert_array_equal(other, again)


def test_drawings_of_one_glyph_are_alike_but_not_the_same():
    """The nearest drawing is more often of the same character than chance has it, and yet not always."""
    images = glyphs.synthesize(0)["test"][:100, :10].reshape(1000, -1)
    distance = (images**2).sum(axis=1, keepdims=True) - 2 * images @ images.T + (images**2).sum(axis=1)  # squared
    distance += 1000 * np.eye(1000)
    assert np.sort(distance.min(axis=1))[20] > 0.25  # hardly two are the same
    same = distance.argmin(axis=1) // 10 == np.arange(1000) // 10
    assert 0.3 < same.mean() < 0.95
