"""minisets data: list, fetch and check."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from tasks.data import catalog, command
from tasks.data.catalog import DATA_SETS, DataSet, Published
from tasks.data.locations import DataError
from tasks.harness.cli import main
from tests.helpers.archives import names, tar, zipped
from tests.helpers.fileserver import Server, published


@pytest.fixture
def tiny(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    """A data set of two files in a tar.gz, published on the server."""
    server.content = tar(("tiny-binary/train.bin", b"\1" * 3074), ("tiny-binary/test.bin", b"\2" * 3074))
    source = published(server, path="tiny.tar.gz", size=len(server.content), unpacks_to="tiny-binary",
                       sha256=hashlib.sha256(server.content).hexdigest())  # fmt: skip
    needs = (("tiny-binary/train.bin",), ("tiny-binary/test.bin",))
    monkeypatch.setitem(DATA_SETS, "tiny", DataSet("tiny", "Tiny", needs, (source,)))
    monkeypatch.setattr(catalog, "SIZES", {"tiny-binary/train.bin": 3074, "tiny-binary/test.bin": 3074})
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    return source


def test_fetch_and_check(tiny: Published, server: Server, tmp_path: Path, capsys):
    assert main(["data", "check", "tiny"]) == 2
    shown = capsys.readouterr()
    assert "BAD tiny-binary/train.bin: missing" in shown.out and "minisets data fetch tiny downloads it" in shown.err
    assert main(["data", "fetch", "Tiny"]) == 0
    assert "the checksum matches" in capsys.readouterr().out
    assert names(tmp_path / "data") == ["tiny-binary"]
    assert main(["data", "check", "tiny"]) == 0
    assert main(["data", "fetch", "tiny"]) == 0  # nothing to do
    assert len(server.asked) == 1
    (tmp_path / "data/tiny-binary/train.bin").write_bytes(b"short")
    assert main(["data", "check", "tiny"]) == 2
    assert "train.bin: 5 bytes, 3,074 expected" in capsys.readouterr().out


def test_an_archive_put_there_by_hand_is_unpacked_and_kept(tiny: Published, server: Server, tmp_path: Path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tiny.tar.gz").write_bytes(server.content)
    assert main(["data", "check", "tiny"]) == 2
    assert "tiny.tar.gz is present but not unpacked" in capsys.readouterr().err
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
    message = capsys.readouterr().out
    assert (
        "a folder with 1 files *.jpg, 202,599 expected" in message and "not the published file: its md5 is" in message
    )
    assert names(tmp_path) == ["celeba"]


def test_a_rezipped_omniglot_is_checked_by_its_files(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setattr(catalog, "COUNTS", {f"omniglot/images_{part}.zip": ("*/*/*.png", 2)
                                              for part in ("background", "evaluation")})  # fmt: skip
    (tmp_path / "omniglot").mkdir()
    images = [(f"images_background/Greek/character01/0001_0{i}.png", b"image") for i in (1, 2)]
    (tmp_path / "omniglot/images_background.zip").write_bytes(zipped(*images))
    (tmp_path / "omniglot/images_evaluation.zip").write_bytes(zipped(images[0]))
    assert main(["data", "check", "omniglot"]) == 2
    good, bad = capsys.readouterr().out.splitlines()
    assert good.startswith("ok ") and "2 files */*/*.png, 2 expected" in good and "not the published file" in good
    assert bad.startswith("BAD") and "1 files */*/*.png, 2 expected" in bad
    content = (tmp_path / "omniglot/images_background.zip").read_bytes()
    inside = content.index(b".png") + 4  # where the first file's compressed bytes begin
    for damaged in (content[:inside] + b"\xff" + content[inside + 1 :], content[:-30]):
        (tmp_path / "omniglot/images_background.zip").write_bytes(damaged)
        assert main(["data", "check", "omniglot"]) == 2
        assert "images_background.zip is damaged" in capsys.readouterr().out


def test_a_file_that_needs_no_unpacking(server: Server, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "plain", DataSet("plain", "Plain", (("it/file.bin",),), (published(server),)))
    assert main(["data", "fetch", "plain"]) == 0 and main(["data", "check", "plain"]) == 0
    assert "ok  " in (message := capsys.readouterr().out) and "the published file, its checksum matches" in message


def test_a_zip_with_damaged_files(tmp_path: Path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "it.zip", "w") as archive:  # not compressed
        archive.writestr("a/b/c.png", b"image")
    (tmp_path / "it.zip").write_bytes((tmp_path / "it.zip").read_bytes().replace(b"image", b"imagE"))
    with pytest.raises(DataError, match=r"a/b/c.png cannot be read"):
        command._count_files(tmp_path / "it.zip", "*.png")
    monkeypatch.setattr(command, "LIMIT_BYTES", 4)
    with pytest.raises(DataError, match="unpacks to more than 4 bytes"):
        command._count_files(tmp_path / "it.zip", "*.png")


def test_a_file_without_a_published_checksum_is_accepted(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "other", DataSet("other", "Other", (("other.h5",),)))
    (tmp_path / "other.h5").write_bytes(b"x")
    assert main(["data", "check", "other"]) == 0
    assert "it has no published checksum" in capsys.readouterr().out


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
