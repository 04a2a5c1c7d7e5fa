"""Checksums: computed once, and again as soon as the file may have changed; known files are verified before use."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from tasks.data import checksums, locations
from tasks.data.catalog import DataSet, Published
from tasks.data.locations import DataError
from tests.helpers.archives import names, zipped


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the data folder that has not changed for a while."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file").write_bytes(b"content")
    monkeypatch.setattr(checksums, "SETTLED", -1.0)
    return tmp_path / "data/file"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list:
    """One entry for each time that a file was read in full."""
    log, real = [], hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *words: (log.append(1), real(*words))[1])
    return log


def test_it_is_computed_once_for_each_size_and_time(file: Path, computed: list):
    right = hashlib.sha256(b"content").hexdigest()
    assert [checksums.checksum(file, "sha256") for _ in range(3)] == [right] * 3 and len(computed) == 1
    assert checksums.checksum(file, "md5") == hashlib.md5(b"content").hexdigest() and len(computed) == 2
    file.write_bytes(b"changed")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    assert checksums.checksum(file, "sha256") == hashlib.sha256(b"changed").hexdigest()
    assert checksums.checksum(file, "md5") == hashlib.md5(b"changed").hexdigest() and len(computed) == 4


def test_a_file_that_has_just_changed_is_not_remembered(file: Path, computed: list, monkeypatch):
    monkeypatch.setattr(checksums, "SETTLED", 60.0)
    for _ in range(2):
        checksums.checksum(file, "md5")
    assert len(computed) == 2 and names(file.parent) == ["file"]
    os.utime(file, (time.time() - 100, time.time() - 100))  # its content may have changed since, whatever this says
    checksums.checksum(file, "md5")
    assert names(file.parent) == ["file"]


def test_what_is_remembered_may_be_damaged(file: Path, computed: list):
    right = checksums.checksum(file, "md5")
    stored = file.parent / "prepared/checksums.json"
    for content in (
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        stored.read_bytes().replace(b'"%s"' % right.encode(), b"5"),
    ):
        stored.write_bytes(content)
        assert checksums.checksum(file, "md5") == right
    assert len(computed) == 7


def test_a_data_folder_that_is_read_only(file: Path, computed: list, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file.parent.chmod(0o555)
    for _ in range(2):
        checksums.checksum(file, "md5")
    assert len(computed) == 1 and names(file.parent) == ["file"]
    assert names(tmp_path / "home/.cache/minisets/prepared") == ["checksums.json"]
    monkeypatch.setattr(checksums, "cache_folder", lambda: file / "inside")  # cannot be made
    for _ in range(2):
        checksums.checksum(file, "sha256")
    assert len(computed) == 3
    file.parent.chmod(0o755)


def test_only_regular_files_have_one(file: Path):
    os.mkfifo(file.parent / "pipe")
    with pytest.raises(DataError, match="pipe cannot be used: it is not a regular file"):
        checksums.checksum(file.parent / "pipe", "md5")


def test_a_known_file_is_verified_before_use_and_another_is_used_with_a_warning(file: Path, monkeypatch, capsys):
    content = zipped(("a", b"x"))
    source = Published("it.zip", "", md5=hashlib.md5(content).hexdigest())
    data = DataSet("it", "It", (("it.zip", "it"), ("it.zip",)), (source,))
    (locations.data_folder() / "it.zip").write_bytes(content)
    data.require()
    assert capsys.readouterr() == ("", "")
    again = zipped(("a", b"x"), ("b", b"y"))
    (locations.data_folder() / "it.zip").write_bytes(again)
    for _ in range(2):
        data.require()
    text = f"it.zip is not the published file: its md5 is {hashlib.md5(again).hexdigest()} instead of {source.md5}; "
    shown = capsys.readouterr().err
    assert shown.startswith("minisets: warning: ") and text in shown and shown.count("\n") == 1  # said once
