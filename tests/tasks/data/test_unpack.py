"""Archives are unpacked completely and safely, or refused without leaving anything."""

import gzip
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
def test_damaged_archives_are_one_sentence(content: bytes, tmp_path: Path):
    """Cut off or changed at random: refused, or unpacked in full."""
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
