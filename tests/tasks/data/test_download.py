"""Downloads from a server that breaks off, sends wrong ranges, wrong files, or nothing."""

import hashlib
import socket
from pathlib import Path

import pytest

from tasks.data import download, locations
from tasks.data.catalog import Published
from tasks.data.locations import DataError
from tests.helpers.archives import names
from tests.helpers.fileserver import CONTENT, Server, published


@pytest.mark.parametrize(
    "more", [{}, {"size": None}, {"size": None, "sha256": "", "md5": hashlib.md5(CONTENT).hexdigest()}]
)
def test_a_file_arrives(server: Server, tmp_path: Path, more: dict):
    download.download(published(server, **more), tmp_path / "new/file")
    assert (tmp_path / "new/file").read_bytes() == CONTENT and names(tmp_path / "new") == ["file"]
    assert server.asked == [None]


def test_a_broken_connection_is_resumed(server: Server, tmp_path: Path):
    server.plan = [{"breaks after": 100_000}, {"breaks after": 50_000}, {"code": 503}, {"breaks after": 0}]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=150000-", "bytes=150000-", "bytes=150000-"]


def test_a_later_process_resumes_the_download(server: Server, tmp_path: Path):
    server.plan = [{"breaks after": 200_000}] + [{"breaks after": 0}] * download.ATTEMPTS
    with pytest.raises(DataError, match=r"failed 5 times in a row; 200,000 bytes are kept; run the same command again"):
        download.download(published(server), tmp_path / "file")
    assert names(tmp_path) == [".file.partial"]
    download.download(published(server), tmp_path / "file")
    assert server.asked[-1] == "bytes=200000-"
    assert (tmp_path / "file").read_bytes() == CONTENT and names(tmp_path) == ["file"]


@pytest.mark.parametrize("strange", [{"ignores range": True}, {"lies by": 1}, {"lies by": -7}, {"no length": True}])
def test_a_server_with_wrong_ranges(server: Server, tmp_path: Path, strange: dict):
    (tmp_path / ".file.partial").write_bytes(CONTENT[:1234])
    server.plan = [strange]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_without_ranges_a_broken_download_gives_up(server: Server, tmp_path: Path):
    server.plan = [{"ignores range": True, "breaks after": 5_000}] * 50
    with pytest.raises(DataError, match="failed 5 times"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) <= 2 * download.ATTEMPTS


def test_a_partial_file_that_is_complete(server: Server, tmp_path: Path):
    for plan in ([], [{"code": 416, "without a range": True}]):
        (tmp_path / ".file.partial").write_bytes(CONTENT)
        server.plan = plan
        download.download(published(server), tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        (tmp_path / "file").unlink()
    (tmp_path / ".file.partial").write_bytes(CONTENT + b"more")  # apparently of another file
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "more, message",
    [
        ({"sha256": "0" * 64}, "its sha256 is"),
        ({"sha256": "", "md5": "0" * 32}, "its md5 is"),
        ({"size": len(CONTENT) + 1}, "it has 300,000 bytes instead of 300,001"),
        ({"size": len(CONTENT) - 1}, "sends more than the expected 299,999 bytes"),
    ],
)
def test_a_wrong_file_is_refused_and_removed(server: Server, tmp_path: Path, more: dict, message: str):
    with pytest.raises(DataError, match=message):
        download.download(published(server, **more), tmp_path / "file")
    assert names(tmp_path) == []


def test_an_endless_file_is_cut_off(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(download, "LIMIT_BYTES", 70_000)
    server.plan = [{"no length": True}]
    with pytest.raises(DataError, match="sends more than the expected 70,000 bytes"):
        download.download(published(server, size=None), tmp_path / "file")
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [403, 404, 410, 501])
def test_a_permanent_error_is_reported_at_once(server: Server, tmp_path: Path, code: int):
    server.plan = [{"code": code}] * 9
    with pytest.raises(DataError, match=f"responds {code} .*; received nothing"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) == 1 and names(tmp_path) == []


def test_a_temporary_error_is_retried_a_few_times(server: Server, tmp_path: Path):
    server.plan = [{"code": code} for code in (500, 502, 503, 504, 429)]
    with pytest.raises(DataError, match="failed 5 times in a row; received nothing"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) == 5


def test_a_server_that_stops_sending(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.plan = [{"breaks after": 1_000, "hangs": True}]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_no_network(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # no process listens there
        here = f"http://127.0.0.1:{free.getsockname()[1]}/file"
    for url in (here, "http://no-such-host.invalid/file"):
        with pytest.raises(DataError, match=f"cannot reach {url}: .*; received nothing"):
            download.download(Published("file", url), tmp_path / "file")
    assert names(tmp_path) == []


def test_two_downloads_of_one_file(server: Server, tmp_path: Path):
    with open(tmp_path / ".file.partial", "ab") as other:
        locations.lock(other, "no other process has it")
        with pytest.raises(DataError, match="another process is downloading"):
            download.download(published(server), tmp_path / "file")


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(Exception, match=r"cannot write .*/file/inside: .*(File exists|Not a directory)"):
        download.download(published(server), tmp_path / "file" / "inside")
