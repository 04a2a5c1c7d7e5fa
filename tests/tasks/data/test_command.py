"""minisets data: list, fetch and check."""

import functools
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tasks.data import checks, command, counts
from tasks.data.catalog import DATA_SETS, DataSet, Published
from tasks.data.locations import DataError
from tasks.harness.cli import main
from tests.helpers.archives import names, tar, zipped
from tests.helpers.fileserver import Server, published


def read_tiny(path: Path) -> str:
    if path.stat().st_size != 3074:
        raise DataError(f"{path} has {path.stat().st_size} bytes, 3,074 expected")
    return "one image"


@pytest.fixture
def tiny(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    """A data set of two files in a tar.gz, published on the server."""
    server.content = tar(("tiny-binary/train.bin", b"\1" * 3074), ("tiny-binary/test.bin", b"\2" * 3074))
    source = published(server, path="tiny.tar.gz", size=len(server.content), unpacks_to="tiny-binary",
                       sha256=hashlib.sha256(server.content).hexdigest())  # fmt: skip
    needs = (("tiny-binary/train.bin",), ("tiny-binary/test.bin",))
    monkeypatch.setitem(DATA_SETS, "tiny", DataSet("tiny", "Tiny", needs, (source,)))
    for part in ("train", "test"):
        monkeypatch.setitem(checks.READERS, f"tiny-binary/{part}.bin", read_tiny)
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    return source


def test_fetch_and_check(tiny: Published, server: Server, tmp_path: Path, capsys):
    assert main(["data", "check", "tiny"]) == 2
    shown = capsys.readouterr()
    assert "BAD tiny-binary/train.bin: missing" in shown.out and "minisets data fetch tiny gets it" in shown.err
    assert main(["data", "fetch", "Tiny"]) == 0
    assert "the checksum matches" in capsys.readouterr().out
    assert names(tmp_path / "data") == ["tiny-binary"]
    assert main(["data", "check", "tiny"]) == 0
    assert "train.bin: all of it could be read, one image" in capsys.readouterr().out
    assert main(["data", "fetch", "tiny"]) == 0  # nothing to do
    assert len(server.asked) == 1


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"short"), lambda path: path.unlink()])
def test_the_advice_of_check_helps(tiny: Published, tmp_path: Path, capsys, damage: Callable):
    assert main(["data", "fetch", "tiny"]) == 0
    damage(tmp_path / "data/tiny-binary/train.bin")
    capsys.readouterr()
    assert main(["data", "check", "tiny"]) == 2
    shown = capsys.readouterr()
    assert re.search(r"BAD .*train.bin( has 5 bytes, 3,074 expected|: missing)", shown.out)
    folder = tmp_path / "data/tiny-binary"
    assert shown.err.endswith(f"damaged; remove {folder}, then minisets data fetch tiny\n")
    if not (folder / "train.bin").exists():
        assert main(["data", "fetch", "tiny"]) == 2  # it leaves the folder alone, and does not claim to be done
        assert f"incomplete; remove {folder}, then" in capsys.readouterr().err
    shutil.rmtree(folder)
    assert main(["data", "fetch", "tiny"]) == 0 and main(["data", "check", "tiny"]) == 0


def test_an_archive_put_there_by_hand_is_unpacked_and_kept(tiny: Published, server: Server, tmp_path: Path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tiny.tar.gz").write_bytes(server.content)
    assert main(["data", "check", "tiny"]) == 2
    assert "minisets data fetch tiny gets it" in capsys.readouterr().err
    assert main(["data", "fetch", "tiny"]) == 0
    assert names(tmp_path / "data") == ["tiny-binary", "tiny.tar.gz"] and not server.asked


def test_a_wrong_archive_put_there_by_hand_is_not_unpacked(tiny: Published, tmp_path: Path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tiny.tar.gz").write_bytes(b"something else")
    assert main(["data", "fetch", "tiny"]) == 2
    assert "tiny.tar.gz is not the published file: it is not a gzip archive" in capsys.readouterr().err
    assert names(tmp_path / "data") == ["tiny.tar.gz"]


def test_celeba_cannot_be_fetched_and_the_error_explains_how_to_get_it(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    assert main(["data", "fetch", "celeba"]) == 2
    message = capsys.readouterr().err
    assert "mmlab.ie.cuhk.edu.hk" in message and f"list_eval_partition.txt into the folder {tmp_path}/celeba" in message
    (tmp_path / "celeba/img_align_celeba").mkdir(parents=True)
    (tmp_path / "celeba/img_align_celeba/000001.jpg").touch()
    (tmp_path / "celeba/list_attr_celeba.txt").write_text("2\n")
    assert main(["data", "check", "celeba"]) == 2
    shown = capsys.readouterr()
    assert "list_attr_celeba.txt: its md5 is" in shown.out and "list_eval_partition.txt: missing" in shown.out
    folder = tmp_path / "celeba"
    remove = f"remove {folder / 'img_align_celeba'} and {folder / 'list_attr_celeba.txt'} and get it again: "
    assert remove in shown.err and "mmlab.ie.cuhk.edu.hk" in shown.err and "data fetch" not in shown.err
    assert names(tmp_path) == ["celeba"]


def test_what_has_no_checksum_is_read(tmp_path: Path, monkeypatch, capsys):
    """Files of zeros of the right size, archives of the right number of files, arrays without shapes."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    for part, images in (("train", 50_000), ("test", 10_000)):
        (tmp_path / "cifar-100-binary").mkdir(exist_ok=True)
        with open(tmp_path / f"cifar-100-binary/{part}.bin", "wb") as file:
            file.truncate(images * 3_074)
    assert main(["data", "check", "cifar100"]) == 2
    assert "BAD" in (shown := capsys.readouterr().out) and "train.bin, train: 1 classes (100 expected)" in shown
    (tmp_path / "modelnet40_ply_hdf5_2048").mkdir()
    for i in range(7):
        (tmp_path / f"modelnet40_ply_hdf5_2048/ply_data_{'train' if i < 5 else 'test'}{i % 5}.h5").touch()
    assert main(["data", "check", "modelnet40"]) == 2
    assert "BAD" in (shown := capsys.readouterr().out) and "ply_data_train0.h5" in shown


def test_a_complete_cifar100_is_ok(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    content = {}
    for split, per_class in (("train", 2), ("test", 1)):
        monkeypatch.setitem(counts.COMPLETE["cifar100", split], "images", 100 * per_class)
        content[split] = b"".join(bytes([fine // 5, fine]) + bytes(3_072) for fine in range(100)) * per_class
    archive = tar(*((f"cifar-100-binary/{split}.bin", data) for split, data in content.items()))
    (tmp_path / "cifar-100-binary.tar.gz").write_bytes(archive)
    assert main(["data", "check", "cifar100"]) == 0
    (line,) = capsys.readouterr().out.splitlines()  # the archive holds both parts and is read once
    assert "all of it could be read, 200 train images of 100 classes and 100 test images of 100 classes" in line
    assert line.endswith(f"not the published file: it has {len(archive):,} bytes instead of 168,513,733")


def test_a_rezipped_omniglot_is_checked_by_its_drawings(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    (tmp_path / "omniglot").mkdir()
    picture = io.BytesIO()
    Image.new("1", (105, 105), 1).save(picture, "PNG")
    for half in ("background", "evaluation"):
        monkeypatch.setitem(checks.READERS, f"omniglot/images_{half}.zip", functools.partial(checks._drawings, 1))
        images = [(f"images_{half}/Greek/character01/0001_{i:02}.png", picture.getvalue()) for i in range(1, 21)]
        (tmp_path / f"omniglot/images_{half}.zip").write_bytes(zipped(*images))
    assert main(["data", "check", "omniglot"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert line.startswith("ok ") and "20 drawings of 1 characters; not the published file: its sha256" in line
    content = (tmp_path / "omniglot/images_background.zip").read_bytes()
    inside = content.index(b".png") + 40  # in the first drawing
    for damaged in (content[:inside] + b"\xff" + content[inside + 1 :], content[:-30], zipped(*images[1:])):
        (tmp_path / "omniglot/images_background.zip").write_bytes(damaged)
        assert main(["data", "check", "omniglot"]) == 2
        assert re.search(r"BAD .*images_background.zip (is damaged|has 19 of)", capsys.readouterr().out)


def test_a_page_saved_as_an_archive_is_fetched_again(server: Server, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    server.content = zipped(("shapes/a", b"x"))
    source = Published("shapes.zip", server.url, unpacks_to="shapes")
    monkeypatch.setitem(DATA_SETS, "shapes", DataSet("shapes", "Shapes", (("shapes",),), (source,)))
    (tmp_path / "shapes.zip").write_bytes(b"<html>please log in</html>")
    assert main(["data", "fetch", "shapes"]) == 0 and names(tmp_path) == ["shapes"]
    assert "which is replaced: it is not a zip archive, but begins with '<html>please" in capsys.readouterr().out


def test_a_file_that_needs_no_unpacking(server: Server, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "plain", DataSet("plain", "Plain", (("it/file.bin",),), (published(server),)))
    assert main(["data", "fetch", "plain"]) == 0 and main(["data", "check", "plain"]) == 0
    assert "ok  " in (message := capsys.readouterr().out) and "the published file, its sha256 matches" in message


def test_what_cannot_be_checked_is_not_called_ok(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "other", DataSet("other", "Other", (("other.h5",),)))
    (tmp_path / "other.h5").write_bytes(b"x")
    assert main(["data", "check", "other"]) == 2
    assert "nothing is known that it could be compared with" in capsys.readouterr().out
    for data in DATA_SETS.values():
        checked = {file.path for file in data.files if file.checksum[1]} | checks.READERS.keys()
        assert data.name == "other" or {name for alternatives in data.needs for name in alternatives} <= checked


def test_the_list_and_names_that_do_not_exist(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    (tmp_path / "ModelNet40").mkdir()
    assert main(["data", "list"]) == 0
    message = capsys.readouterr().out
    assert "omniglot: Omniglot, not present" in message and f"-> {tmp_path}/ModelNet40" in message
    assert main(["data", "fetch", "omniglt"]) == 2
    assert "there is no data set 'omniglt'; did you mean omniglot?" in capsys.readouterr().err
    assert main(["data", "check", "x"]) == 2 and "the data sets are omniglot, " in capsys.readouterr().err
    assert main(["data"]) == 2 and main(["data", "fetch"]) == 2


def test_every_file_of_the_catalog_has_a_place_and_a_checksum():
    for data in DATA_SETS.values():
        for source in data.files:
            assert source.url.startswith(("https://", "http://")) or data.instructions
            assert len(source.sha256) in (0, 64) and len(source.md5) in (0, 32)
            assert source.sha256 or source.md5 or data.name == "modelnet40_normal_resampled"
            assert os.path.normpath(source.path) == source.path and not source.path.startswith(("/", ".."))
        assert command.find(data.name) is data
