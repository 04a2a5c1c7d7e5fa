"""Archives are unpacked completely and safely, or refused without leaving anything."""

import gzip
import os
import random
import tarfile
from pathlib import Path

import pytest

from tasks.data import locations, unpack
from tasks.data.locations import DataError
from tests.helpers.archives import link, names, special, tar, zipped

GOOD = [("data/a.txt", b"first"), ("data/deep/b.bin", b"\0" * 5_000), ("__MACOSX/junk", b"x")]


@pytest.mark.parametrize("content", [tar(*GOOD), tar(*GOOD, mode="w"), zipped(*GOOD)], ids=["tar.gz", "tar", "zip"])
def test_an_archive_is_unpacked(content: bytes, tmp_path: Path):
    (tmp_path / "archive").write_bytes(content)
    seen = []
    unpack.unpack(tmp_path / "archive", tmp_path / "data", progress=seen.append)
    assert (tmp_path / "data/a.txt").read_bytes() == b"first" and (tmp_path / "data/deep/b.bin").stat().st_size == 5_000
    assert names(tmp_path) == ["archive", "data"] and sum(seen) == 5_006
    with pytest.raises(DataError, match="already exists; remove it"):
        unpack.unpack(tmp_path / "archive", tmp_path / "data")


MALICIOUS = {
    "dots in tar": tar(("data/../../evil", b"x")),
    "dots in zip": zipped(("data/../../evil", b"x")),
    "absolute in tar": tar(("/tmp/minisets-evil", b"x")),
    "absolute in zip": zipped(("/tmp/minisets-evil", b"x")),
    "backslashes": zipped(("..\\..\\evil", b"x")),
    "drive": zipped(("C:evil", b"x")),
    "long name": tar(("data/" + "x" * 300, b"x")),
    "symbolic link in tar": tar(special("data/link", tarfile.SYMTYPE, "../.."), ("data/link/evil", b"x")),
    "hard link in tar": tar(special("data/link", tarfile.LNKTYPE, "/etc/passwd")),
    "link in zip": zipped(link("data/link", b"../.."), ("data/link/evil", b"x")),
    "device": tar(special("data/null", tarfile.CHRTYPE)),
    "pipe": tar(special("data/pipe", tarfile.FIFOTYPE)),
    "twice": tar(("data/a", b"x"), ("data/a", b"y")),
    "file as folder": tar(("data/a", b"x"), ("data/a/b", b"y")),
    "bomb in tar": tar(("data/zeros", b"\0" * 300_000)),
    "bomb in zip": zipped(("data/zeros", b"\0" * 300_000)),
    "many files": tar(*((f"data/{i}", b"") for i in range(60))),
    "something else": tar(("other/a", b"x")),
    "empty tar": tar(),
    "a page of html": b"<!doctype html><html>not found</html>",
    "nothing": b"",
}


@pytest.mark.parametrize("name", MALICIOUS)
def test_malicious_archives_leave_nothing(name: str, tmp_path: Path):
    inside = tmp_path / "a/b/c"
    inside.mkdir(parents=True)
    (inside / "archive").write_bytes(MALICIOUS[name])
    with pytest.raises(DataError) as refused:
        unpack.unpack(inside / "archive", inside / "data", limit_bytes=100_000, limit_files=50)
    assert str(inside / "archive") in str(refused.value)
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["a", "b", "c", "archive"]
    assert not Path("/tmp/minisets-evil").exists()


def test_wrong_sizes_in_headers_do_not_evade_the_limit(tmp_path: Path):
    """A zip whose directory declares 5 bytes for a million; a tar whose header asks for a name of 2 GB."""
    content = zipped(("data/a", b"\0" * 1_000_000))
    lying = content.replace((1_000_000).to_bytes(4, "little"), (5).to_bytes(4, "little"))
    (tmp_path / "zip").write_bytes(lying)
    huge = special("data/a", tarfile.GNUTYPE_LONGNAME)
    huge.size = 2 * 2**30
    (tmp_path / "tar").write_bytes(gzip.compress(huge.tobuf(tarfile.GNU_FORMAT) + b"\0" * 20_000))
    for name in ("zip", "tar"):
        with pytest.raises(DataError, match="damaged or truncated"):
            unpack.unpack(tmp_path / name, tmp_path / "data", limit_bytes=10_000)
    assert names(tmp_path) == ["tar", "zip"]


@pytest.mark.parametrize("content", [tar(*GOOD), tar(*GOOD, mode="w"), zipped(*GOOD)], ids=["tar.gz", "tar", "zip"])
def test_damaged_archives_are_one_sentence(content: bytes, tmp_path: Path, monkeypatch):
    """Cut off or changed at random: refused, or unpacked in full."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    rng, archive, into = random.Random(1), tmp_path / "archive", tmp_path / "data"
    for _ in range(400):
        broken = bytearray(content[: rng.randrange(len(content))] if rng.random() < 0.3 else content)
        for _ in range(rng.randrange(1, 4)):
            if broken:
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        archive.write_bytes(broken)
        try:
            unpack.unpack(archive, into, limit_bytes=100_000, limit_files=50)
        except DataError:
            assert names(tmp_path) == ["archive"]
        else:
            assert names(tmp_path) == ["archive", "data"]
            unpack.shutil.rmtree(into)


def contents(content: bytes, archive: Path) -> dict[str, bytes] | None:
    """The files in an archive; None if it is refused in one bounded, printable sentence."""
    archive.write_bytes(content)
    try:
        with unpack.as_data_error(archive):
            found = {}
            for member in unpack.members(archive):
                if member.unsupported:  # encrypted, a link: not unpacked
                    return None
                if not member.is_folder:
                    found[str(unpack.safe_path(archive, member.name))] = b"".join(member.blocks())
            return found
    except DataError as error:
        assert str(error).isprintable() and len(str(error)) < len(str(archive)) + 250
        return None


@pytest.mark.parametrize("content", [tar(*GOOD[:2]), zipped(*GOOD[:2])], ids=["tar.gz", "zip"])
def test_no_flipped_bit_changes_the_data_in_silence(content: bytes, tmp_path: Path):
    assert contents(content, tmp_path / "archive") == dict(GOOD[:2])
    refused = 0
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        found = contents(bytes(changed), tmp_path / "archive")
        assert found in (None, dict(GOOD[:2])), f"bit {place % 8} of byte {place // 8}"
        refused += found is None
    assert refused > 4 * len(content)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_that_ends_early_is_refused(mode: str, tmp_path: Path):
    """At every block, also where the next header would be; the mark at the end is one block of zeros."""
    whole = tar(*GOOD, mode="w")
    end = len(whole.rstrip(b"\0")) // 512 * 512 + 512
    for length in range(0, end + 1, 512):
        cut = whole[:length]
        assert contents(gzip.compress(cut) if mode == "w:gz" else cut, tmp_path / "archive") is None
    damaged = bytearray(whole)
    damaged[1024 + 148] ^= 1  # the checksum of the second header: tarfile would take it for the end
    assert contents(bytes(damaged), tmp_path / "archive") is None
    assert contents(whole[: end + 512], tmp_path / "archive") == dict(GOOD)
    assert contents(whole + b"\0" * 2**21, tmp_path / "archive") is None


def test_files_are_on_disk_before_they_get_their_name(tmp_path: Path, monkeypatch):
    synced, renamed = [], []
    fsync, rename = os.fsync, os.rename

    def record(handle: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        fsync(handle)

    monkeypatch.setattr("os.fsync", record)
    monkeypatch.setattr("os.rename", lambda *paths: (renamed.extend(synced), rename(*paths)))
    (tmp_path / "archive").write_bytes(tar(*GOOD))
    unpack.unpack(tmp_path / "archive", tmp_path / "data")
    assert sorted(renamed) == ["a.txt", "b.bin", "data", "deep"] and synced[-1] == tmp_path.name


def test_names_in_archives_are_shown_short_and_printable(tmp_path: Path):
    evil, archive = "\x1b]0;gone\x07\n" + "x" * 60_000, tmp_path / "archive"
    for content in (
        zipped((evil, b"x"), ("../" + evil, b"x")),
        zipped((evil, b"x")).replace(b"gone", b"come", 1),  # one of its two names
        tar(("data/" + evil, b"x")),
        tar(special("data/" + evil, tarfile.SYMTYPE, evil)),
        tar(("data/\x1b[2J", b"x"), ("data/\x1b[2J", b"x")),
    ):
        archive.write_bytes(content)
        with pytest.raises(DataError, match=r"x1b") as refused:
            unpack.unpack(archive, tmp_path / "data")
        assert str(refused.value).isprintable() and len(str(refused.value)) < len(str(archive)) + 250


def test_a_pipe_is_not_an_archive(tmp_path: Path):
    os.mkfifo(tmp_path / "archive")  # opening it would wait forever
    with pytest.raises(DataError, match="it is not a regular file"):
        unpack.unpack(tmp_path / "archive", tmp_path / "data")


def test_two_processes_do_not_unpack_one_archive(tmp_path: Path):
    (tmp_path / "archive").write_bytes(tar(*GOOD))
    with open(tmp_path / "archive", "rb") as other:
        locations.lock(other, "no other process has it")
        with pytest.raises(DataError, match="another process is unpacking"):
            unpack.unpack(tmp_path / "archive", tmp_path / "data")
    assert names(tmp_path) == ["archive"]


def test_leftovers_of_a_killed_process_are_replaced(tmp_path: Path):
    (tmp_path / ".data.unpacking/data").mkdir(parents=True)
    (tmp_path / "archive").write_bytes(tar(*GOOD))
    unpack.unpack(tmp_path / "archive", tmp_path / "data")
    assert names(tmp_path) == ["archive", "data"]
