"""minisets data: downloads from a real server on loopback that misbehaves, archives that nobody should trust."""

import contextlib
import gzip
import hashlib
import http.server
import io
import os
import random
import socket
import stat
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.data import catalog, command, download, unpack
from tasks.data import locations as store
from tasks.data.catalog import DATA_SETS, DataSet, Published
from tasks.data.locations import DataError
from tasks.harness.cli import main

CONTENT = random.Random(0).randbytes(300_000)


class Server(http.server.ThreadingHTTPServer):
    """Serves one content; `plan` is what to do with the requests to come: what to send, and how."""

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.plan, self.asked = content, [], []
        self.url = f"http://127.0.0.1:{self.server_port}/file"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        do = server.plan.pop(0) if server.plan else {}
        first = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and not do.get("ignores range") else 0
        body = server.content[first:]
        if "code" in do or (first and not body):
            self.send_response(do.get("code", 416))
            if do.get("code", 416) == 416 and not do.get("says nothing"):
                self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if first else 200)
        if first:
            shown = first + do.get("lies by", 0)
            self.send_header("Content-Range", f"bytes {shown}-{len(server.content) - 1}/{len(server.content)}")
        if not do.get("no length"):
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(ConnectionError):  # a client may have heard enough
            self.wfile.write(body[: do.get("breaks after", len(body))])
        if do.get("hangs"):
            server.let_go.wait(5)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "BACKOFF", 0.001)
    with Server(CONTENT) as server:
        server.let_go = threading.Event()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.let_go.set()
        server.shutdown()
        thread.join()


def published(server: Server, **more: object) -> Published:
    right = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    return Published(**{"path": "it/file.bin", "url": server.url} | right | more)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# ---- downloads ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", [{}, {"size": None}, {"size": None, "sha256": "", "md5": hashlib.md5(CONTENT).hexdigest()}]
)
def test_a_file_arrives(server: Server, tmp_path: Path, more: dict):
    download.download(published(server, **more), tmp_path / "new/file")
    assert (tmp_path / "new/file").read_bytes() == CONTENT and names(tmp_path / "new") == ["file"]
    assert server.asked == [None]


def test_a_broken_connection_goes_on_where_it_was(server: Server, tmp_path: Path):
    server.plan = [{"breaks after": 100_000}, {"breaks after": 50_000}, {"code": 503}, {"breaks after": 0}]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=150000-", "bytes=150000-", "bytes=150000-"]


def test_a_later_process_goes_on_as_well(server: Server, tmp_path: Path):
    server.plan = [{"breaks after": 200_000}] + [{"breaks after": 0}] * download.ATTEMPTS
    with pytest.raises(DataError, match=r"failed 5 times in a row; 200,000 bytes are kept; run the same command again"):
        download.download(published(server), tmp_path / "file")
    assert names(tmp_path) == [".file.partial"]
    download.download(published(server), tmp_path / "file")
    assert server.asked[-1] == "bytes=200000-"
    assert (tmp_path / "file").read_bytes() == CONTENT and names(tmp_path) == ["file"]


@pytest.mark.parametrize("strange", [{"ignores range": True}, {"lies by": 1}, {"lies by": -7}, {"no length": True}])
def test_a_server_that_does_not_do_ranges_right(server: Server, tmp_path: Path, strange: dict):
    (tmp_path / ".file.partial").write_bytes(CONTENT[:1234])
    server.plan = [strange]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_without_ranges_and_always_broken_it_ends(server: Server, tmp_path: Path):
    server.plan = [{"ignores range": True, "breaks after": 5_000}] * 50
    with pytest.raises(DataError, match="failed 5 times"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) <= 2 * download.ATTEMPTS


def test_all_was_there_already(server: Server, tmp_path: Path):
    for plan in ([], [{"code": 416, "says nothing": True}]):
        (tmp_path / ".file.partial").write_bytes(CONTENT)
        server.plan = plan
        download.download(published(server), tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        (tmp_path / "file").unlink()
    (tmp_path / ".file.partial").write_bytes(CONTENT + b"more")  # of another file, it seems
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "more, said",
    [
        ({"sha256": "0" * 64}, "its sha256 is"),
        ({"sha256": "", "md5": "0" * 32}, "its md5 is"),
        ({"size": len(CONTENT) + 1}, "it has 300,000 bytes instead of 300,001"),
        ({"size": len(CONTENT) - 1}, "sends more than the expected 299,999 bytes"),
    ],
)
def test_a_wrong_file_is_refused_and_removed(server: Server, tmp_path: Path, more: dict, said: str):
    with pytest.raises(DataError, match=said):
        download.download(published(server, **more), tmp_path / "file")
    assert names(tmp_path) == []


def test_a_file_without_end_is_cut_off(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(download, "LIMIT_BYTES", 70_000)
    server.plan = [{"no length": True}]
    with pytest.raises(DataError, match="sends more than the expected 70,000 bytes"):
        download.download(published(server, size=None), tmp_path / "file")
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [403, 404, 410, 501])
def test_an_answer_that_will_not_change_is_told_at_once(server: Server, tmp_path: Path, code: int):
    server.plan = [{"code": code}] * 9
    with pytest.raises(DataError, match=f"responds {code} .*; received nothing"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) == 1 and names(tmp_path) == []


def test_a_server_in_trouble_is_asked_a_few_times(server: Server, tmp_path: Path):
    server.plan = [{"code": code} for code in (500, 502, 503, 504, 429)]
    with pytest.raises(DataError, match="failed 5 times in a row; received nothing"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) == 5


def test_a_server_that_falls_silent(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.plan = [{"breaks after": 1_000, "hangs": True}]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_no_network(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens there
        here = f"http://127.0.0.1:{free.getsockname()[1]}/file"
    for url in (here, "http://no-such-host.invalid/file"):
        with pytest.raises(DataError, match=f"cannot reach {url}: .*; received nothing"):
            download.download(Published("file", url), tmp_path / "file")
    assert names(tmp_path) == []


def test_two_downloads_of_one_file(server: Server, tmp_path: Path):
    with open(tmp_path / ".file.partial", "ab") as other:
        store.lock(other, "nobody else is here yet")
        with pytest.raises(DataError, match="another process is downloading"):
            download.download(published(server), tmp_path / "file")


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(Exception, match=r"cannot write .*/file/inside: .*(File exists|Not a directory)"):
        download.download(published(server), tmp_path / "file" / "inside")


# ---- archives -------------------------------------------------------------------------------------------------------


def tar(*members: tuple[str, bytes] | tarfile.TarInfo, mode: str = "w:gz") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as file:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                file.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                file.addfile(info, io.BytesIO(member[1]))
    return made.getvalue()


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return made.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def link(name: str, target: bytes) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info, target


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


def test_a_header_that_lies_is_no_way_around_the_limit(tmp_path: Path):
    """A zip whose directory says 5 bytes for what unpacks to a million; a tar whose header asks for a name of 2 GB."""
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
def test_damaged_archives_are_a_sentence(content: bytes, tmp_path: Path):
    """Cut off or changed at random: refused, or unpacked to what it says, and nothing in between."""
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
        store.lock(other, "nobody else is here yet")
        with pytest.raises(DataError, match="another process is unpacking"):
            unpack.unpack(tmp_path / "archive", tmp_path / "data")
    assert names(tmp_path) == ["archive"]


def test_what_a_killed_process_left_is_no_hindrance(tmp_path: Path):
    (tmp_path / ".data.unpacking/data").mkdir(parents=True)
    (tmp_path / "archive").write_bytes(tar(*GOOD))
    unpack.unpack(tmp_path / "archive", tmp_path / "data")
    assert names(tmp_path) == ["archive", "data"]


# ---- the command ----------------------------------------------------------------------------------------------------


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
    said = capsys.readouterr()
    assert "BAD tiny-binary/train.bin: missing" in said.out and "minisets data fetch tiny downloads it" in said.err
    assert main(["data", "fetch", "Tiny"]) == 0
    assert "the checksum matches" in capsys.readouterr().out
    assert names(tmp_path / "data") == ["tiny-binary"]
    assert main(["data", "check", "tiny"]) == 0
    assert main(["data", "fetch", "tiny"]) == 0  # nothing to do
    assert len(server.asked) == 1
    (tmp_path / "data/tiny-binary/train.bin").write_bytes(b"short")
    assert main(["data", "check", "tiny"]) == 2
    assert "train.bin: 5 bytes, 3,074 expected" in capsys.readouterr().out


def test_an_archive_that_is_there_is_unpacked_and_kept(tiny: Published, server: Server, tmp_path: Path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tiny.tar.gz").write_bytes(server.content)
    assert main(["data", "check", "tiny"]) == 2
    assert "tiny.tar.gz is present but not unpacked" in capsys.readouterr().err
    assert main(["data", "fetch", "tiny"]) == 0
    assert names(tmp_path / "data") == ["tiny-binary", "tiny.tar.gz"] and not server.asked


def test_a_wrong_archive_that_is_there_is_not_unpacked(tiny: Published, tmp_path: Path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tiny.tar.gz").write_bytes(b"something else")
    assert main(["data", "fetch", "tiny"]) == 2
    assert "tiny.tar.gz is not the published file: it has 14 bytes" in capsys.readouterr().err
    assert names(tmp_path / "data") == ["tiny.tar.gz"]


def test_celeba_is_not_fetched_but_explained(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    assert main(["data", "fetch", "celeba"]) == 2
    said = capsys.readouterr().err
    assert "mmlab.ie.cuhk.edu.hk" in said and f"list_eval_partition.txt into the folder {tmp_path}/celeba" in said
    (tmp_path / "celeba/img_align_celeba").mkdir(parents=True)
    (tmp_path / "celeba/img_align_celeba/000001.jpg").touch()
    (tmp_path / "celeba/list_attr_celeba.txt").write_text("2\n")
    assert main(["data", "check", "celeba"]) == 2
    said = capsys.readouterr().out
    assert "a folder with 1 files *.jpg, 202,599 expected" in said and "not the published file: its md5 is" in said
    assert names(tmp_path) == ["celeba"]


def test_omniglot_zipped_again_is_complete_or_not(tmp_path: Path, monkeypatch, capsys):
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


def test_a_file_that_is_used_as_it_is(server: Server, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "plain", DataSet("plain", "Plain", (("it/file.bin",),), (published(server),)))
    assert main(["data", "fetch", "plain"]) == 0 and main(["data", "check", "plain"]) == 0
    assert "ok  " in (said := capsys.readouterr().out) and "the published file, its checksum matches" in said


def test_a_zip_whose_files_are_not_whole(tmp_path: Path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "it.zip", "w") as archive:  # not compressed
        archive.writestr("a/b/c.png", b"image")
    (tmp_path / "it.zip").write_bytes((tmp_path / "it.zip").read_bytes().replace(b"image", b"imagE"))
    with pytest.raises(DataError, match=r"a/b/c.png cannot be read"):
        command._count_files(tmp_path / "it.zip", "*.png")
    monkeypatch.setattr(command, "LIMIT_BYTES", 4)
    with pytest.raises(DataError, match="unpacks to more than 4 bytes"):
        command._count_files(tmp_path / "it.zip", "*.png")


def test_a_file_that_nothing_is_known_of_is_left_alone(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "other", DataSet("other", "Other", (("other.h5",),)))
    (tmp_path / "other.h5").write_bytes(b"x")
    assert main(["data", "check", "other"]) == 0
    assert "it has no published checksum" in capsys.readouterr().out


def test_the_list_and_names_that_do_not_exist(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    (tmp_path / "ModelNet40").mkdir()
    assert main(["data", "list"]) == 0
    said = capsys.readouterr().out
    assert "omniglot: Omniglot, not present" in said and f"-> {tmp_path}/ModelNet40" in said
    assert main(["data", "fetch", "omniglt"]) == 2
    assert "there is no data set 'omniglt'; did you mean omniglot?" in capsys.readouterr().err
    assert main(["data", "check", "x"]) == 2 and "the data sets are omniglot, " in capsys.readouterr().err
    assert main(["data"]) == 2 and main(["data", "fetch"]) == 2


def test_every_file_of_the_catalogue_has_a_place_and_a_checksum():
    for data in DATA_SETS.values():
        for source in data.files:
            assert source.url.startswith(("https://", "http://")) or data.instructions
            assert len(source.sha256) in (0, 64) and len(source.md5) in (0, 32)
            assert source.sha256 or source.md5 or data.name == "modelnet40_normal_resampled"
            assert os.path.normpath(source.path) == source.path and not source.path.startswith(("/", ".."))
        assert command.find(data.name) is data
