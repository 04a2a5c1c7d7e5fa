"""Downloads from a server that breaks off, sends wrong ranges, wrong files, or nothing."""

import hashlib
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.data import connection, download, locations
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


def test_an_endless_file_is_cut_off(server: Server, tmp_path: Path):
    server.plan = [{"no length": True}]
    with pytest.raises(DataError, match="sends more than the expected 70,000 bytes"):
        download.download(published(server, size=None, most=70_000), tmp_path / "file")
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


# ---- servers that break the rules -----------------------------------------------------------------------------------

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(CONTENT)
DIGITS = b"9" * 5_000


def forever(*parts: bytes) -> Iterator[bytes]:
    """The first parts, and then the last one again and again."""
    return itertools.chain(parts, itertools.repeat(parts[-1]))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n" * 10,
        b"not HTTP at all",
        b"HTTP/1.1 " + DIGITS + b" OK\r\n\r\n",
        b"HTTP/1.1 -1 OK\r\n\r\n",
        b"HTTP/1.1 2\xb20 OK\r\n\r\n",
        OK + b"X: " + b"x" * 100_000,
        OK + b"X: x\r\n" * 200 + b"\r\n",
        OK + b"no colon, and \xff\0\x1b[31m\r\n\r\n",
        OK + b"Content-Length: -5\r\n\r\n",
        OK + b"Content-Length: " + DIGITS + b"\r\n\r\n" + CONTENT[:9],
        CHUNKED + b"-5\r\n" + CONTENT[:5] + b"\r\n0\r\n\r\n",
        CHUNKED + b"-1\r\n" + CONTENT[:5] + b"\r\n0\r\n\r\n",
        CHUNKED + b"ffffffffffffffffffff\r\n" + CONTENT[:5],
        CHUNKED + b"f" * 70_000,
        CHUNKED + b"5\r\n" + CONTENT[:9] + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + DIGITS + b"-/*\r\n\r\n",
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \xb2-5/*\r\n\r\n",
        b"HTTP/1.1 206 Partial Content\r\n\r\n",
        b"HTTP/1.1 416 No\r\nContent-Range: bytes */" + DIGITS + b"\r\n\r\n",
    ],
    ids=lambda answer: repr(answer[:40]),
)
def test_answers_that_are_not_http_are_tried_again(server: Server, tmp_path: Path, answer: bytes):
    server.plan = [{"raw": [answer]}] * 2
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    server.plan = [{"raw": [answer]}] * 99
    with pytest.raises(DataError, match=r"failed 5 times in a row; (received nothing|. bytes are kept)"):
        download.download(published(server, size=None, sha256=""), tmp_path / "other")


@pytest.mark.parametrize(
    "slow",
    [
        {"raw": forever(OK + LENGTH, b"x"), "every": 0.01},
        {"raw": forever(OK, b"X"), "every": 0.01},
        {"raw": forever(b"HTTP/1.1 100 Continue\r\n\r\n"), "every": 0.01},
        {"raw": forever(CHUNKED, b"1\r\nx\r\n"), "every": 0.01},
        {"raw": forever(CHUNKED + b"0\r\n", b"X: x\r\n"), "every": 0.01},
    ],
    ids=["body", "headers", "interim responses", "chunks", "trailers"],
)
def test_dripping_servers_are_given_up(server: Server, tmp_path: Path, slow: dict, monkeypatch):
    monkeypatch.setattr(download, "WINDOW", 0.3)
    server.plan = [slow]
    with pytest.raises(DataError, match=r"less than 491,520 new bytes in 0\.3 seconds; (received nothing|\d+ bytes)"):
        download.download(published(server, size=None), tmp_path / "file")
    assert len(server.asked) == 1


def test_a_slow_download_goes_on_as_long_as_it_makes_progress(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(download, "WINDOW", 0.1)
    monkeypatch.setattr(download, "LEAST", 10_000)
    parts = [OK + LENGTH, *(CONTENT[i : i + 10_000] for i in range(0, len(CONTENT), 10_000))]
    server.plan = [{"raw": parts, "every": 0.015}]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT and len(server.asked) == 1


@pytest.mark.parametrize(
    "flood",
    [
        forever(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000),
        forever(CHUNKED + b"0\r\n", b"X: x\r\n" * 1_000),
        forever(OK, b"X: " + b"x" * 60_000 + b"\r\n"),
    ],
    ids=["interim responses", "trailers", "headers"],
)
def test_floods_are_cut_off(server: Server, tmp_path: Path, flood: Iterator[bytes]):
    server.plan = [{"raw": flood}] * 99
    with pytest.raises(DataError, match=r"1,048,576 bytes of headers and none of the file|failed 5 times in a row"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) <= download.ATTEMPTS and names(tmp_path) == []


def test_cuts_without_progress_give_up(server: Server, tmp_path: Path, monkeypatch):
    """A server that always starts from 0 and breaks off here, then there; and one that sends a byte per connection."""
    server.plan = [{"ignores range": True, "breaks after": 1_000 * (i % 2 + 1)} for i in range(99)]
    with pytest.raises(DataError, match="failed 5 times in a row"):
        download.download(published(server), tmp_path / "file")
    assert len(server.asked) <= 2 * download.ATTEMPTS
    monkeypatch.setattr(download, "WINDOW", 0.3)
    server.plan = [{"breaks after": 1}] * 99_999
    with pytest.raises(DataError, match="sent less than 491,520 new bytes"):
        download.download(published(server), tmp_path / "other")


def redirect(location: bytes) -> list[bytes]:
    return [b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n\r\n"]


def test_redirections_are_followed_without_reading_what_comes_with_them(server: Server, tmp_path: Path):
    server.plan = [{"raw": forever(*redirect(b"elsewhere"), b"x" * 9_999)}, {"raw": redirect(server.url.encode())}]
    download.download(published(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT and len(server.asked) == 3
    server.plan = [{"raw": redirect(b"/again")}] * 99
    with pytest.raises(DataError, match="more than 5 redirections"):
        download.download(published(server), tmp_path / "other")


@pytest.mark.parametrize(
    "location",
    [
        b"",
        b"http://[::1",
        b"http://127.0.0.1:99999999/",
        b"http://127.0.0.1:x/",
        b"ftp://127.0.0.1/file",
        b"file:///etc/passwd",
        b"data:,x",
        b"javascript:\x1b[2J",
    ],
)
def test_redirections_to_anything_but_a_web_address_are_refused(server: Server, tmp_path: Path, location: bytes):
    server.plan = [{"raw": redirect(location)}]
    with pytest.raises(DataError, match=r"redirects to '.*', which is not a web address; refused") as refused:
        download.download(published(server), tmp_path / "file")
    assert str(refused.value).isprintable() and names(tmp_path) == []


@pytest.mark.parametrize(
    "location", [b"http://" + b"x" * 300 + b".invalid/", b"http://\xff\xfe.invalid/", b"http://a..b/"]
)
def test_redirections_to_names_that_cannot_be(server: Server, tmp_path: Path, location: bytes):
    server.plan = [{"raw": redirect(location)}] * 99
    with pytest.raises(DataError, match=r"cannot reach|failed 5 times") as refused:
        download.download(published(server), tmp_path / "file")
    assert str(refused.value).isprintable() and names(tmp_path) == []


def test_https_stays_https():
    assert connection.redirected("https://a.org/b/c", "/d") == "https://a.org/d"
    assert connection.redirected("http://a.org/b", "https://b.org/\xe4 b") == "https://b.org/%E4%20b"
    for location in ("http://a.org/b", "HTTP://a.org", "http://a.org:443/b"):
        with pytest.raises(DataError, match="which is not encrypted; refused"):
            connection.redirected("https://a.org/b", location)


def test_the_words_of_a_server_are_not_shown(server: Server, tmp_path: Path):
    for code, shown in ((b"403", "403 Forbidden"), (b"499", "499")):
        server.plan = [{"raw": [b"HTTP/1.1 " + code + b" \x1b[2J\x1b]0;gone\x07\r\n\r\n"]}]
        with pytest.raises(DataError, match=rf"/file responds {shown}; received nothing$"):
            download.download(published(server), tmp_path / "file")


def test_a_page_instead_of_an_archive(server: Server, tmp_path: Path):
    server.content = b"<!doctype html>\x1b[2J<html>please log in</html>"
    for path, kind in (("it.zip", "a zip archive"), ("it.tar.gz", "a gzip archive")):
        with pytest.raises(DataError, match=rf"it is not {kind}, but begins with '<!doctype html>.x1b\[2J.*removed it"):
            download.download(Published(path, server.url), tmp_path / path)
    assert names(tmp_path) == []
