"""The server: what it serves, who may ask, and what of HTTP is refused."""

from __future__ import annotations

import asyncio
import re

import pytest

from tasks.play.server import PAGE
from tests.tasks.play.conftest import GOOD, Running, message, read_answer

# ---- files


def test_the_page_needs_nothing_from_elsewhere(play: Running):
    """Every file that a file of the page names is served here, and none names an address of somebody else."""
    status, headers, _ = play.get("/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)\S+", text), path
        for name in re.findall(r"""(?:from|src=|href=)\s*["'](?:\./)?([\w.-]+\.(?:js|css|svg))["']""", text):
            assert play.get(f"/{name}")[0] == 200, (path, name)
        assert play.get(f"/{path.name}")[2].decode() == text
    for path in ("/nothing", "/../server.py", "/..%2fserver.py", "//etc/passwd", "/weights/x.npz", "/api/clustering"):
        assert play.get(path)[0] == 404


# ---- who may ask


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
def test_loopback_hosts_are_served(play: Running, host: str):
    assert play.get("/", Host=f"{host}:{play.server.port}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost", "127.0.0.1", "localhost:1", "localhost.evil.example:{port}", "evil.example:{port}",
     "127.0.0.2:{port}", "0.0.0.0:{port}", "localhost:{port}.evil.example", "evil@localhost:{port}", "",
     "[::]:{port}", "127.1:{port}", "2130706433:{port}"],
)  # fmt: skip
def test_other_hosts_are_refused(play: Running, host: str):
    """A name that an attacker lets point to 127.0.0.1 is not our name."""
    host = host.format(port=play.server.port)
    assert play.get("/", Host=host)[0] == 421
    assert play.post("clustering", GOOD, Host=host)[0] == 421


def test_a_host_is_needed_once(play: Running):
    assert play.raw(b"GET / HTTP/1.1\r\n\r\n")[0] == 421
    twice = f"GET / HTTP/1.1\r\nHost: {play.host}\r\nHost: evil.example\r\n\r\n"
    assert play.raw(twice.encode())[0] == 400


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://{host}", "http://localhost", "http://localhost:1", "file://", "",
     "http://{host}.evil.example", "http://evil.example/{host}"],
)  # fmt: skip
def test_other_origins_are_refused(play: Running, origin: str):
    origin = origin.format(host=play.host)
    assert play.post("clustering", GOOD, Origin=origin)[0] == 403
    assert play.get("/", Origin=origin)[0] == 403


def test_what_browsers_say_of_the_site(play: Running):
    assert play.post("clustering", GOOD, Origin=f"http://{play.host}", Sec_Fetch_Site="same-origin")[0] == 200
    assert play.post("clustering", GOOD, Sec_Fetch_Site="cross-site")[0] == 403
    assert play.post("clustering", GOOD, Sec_Fetch_Site="same-site")[0] == 403
    assert play.get("/api.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert play.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200  # a link


def test_forms_cannot_post(play: Running):
    """What a form of another page can send without asking first has none of our content type."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert play.post("clustering", GOOD, Content_Type=kind)[0] == 415


# ---- HTTP


@pytest.mark.parametrize(
    ("request_line", "status"),
    [("PUT / HTTP/1.1", 405), ("OPTIONS / HTTP/1.1", 405), ("GET / HTTP/2.0", 505), ("GET  / HTTP/1.1", 400),
     ("GET http://evil.example/ HTTP/1.1", 400), ("GET", 400), ("", 400), ("GET / HTTP/1.1 extra", 400)],
)  # fmt: skip
def test_request_lines(play: Running, request_line: str, status: int):
    assert play.raw(f"{request_line}\r\nHost: {play.host}\r\n\r\n".encode())[0] == status


def test_bounds(play: Running):
    assert play.raw(b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n")[0] == 431
    assert play.post("clustering", GOOD, Content_Length="2000001")[0] == 413
    assert play.post("clustering", GOOD, Content_Length="9" * 30)[0] == 400
    assert play.post("clustering", GOOD, Content_Length="-1")[0] == 400
    assert play.post("clustering", GOOD, Content_Length="١٢")[0] == 400
    assert play.post("clustering", GOOD, Transfer_Encoding="chunked")[0] == 501
    assert (
        play.raw(message("POST", "/api/clustering", {"Host": play.host, "Content-Type": "application/json"}))[0] == 411
    )
    assert play.raw(b"GET / HTTP/1.1\r\nHost : x\r\n\r\n")[0] == 400
    assert play.raw(f"GET / HTTP/1.1\r\nHost: {play.host}\r\nX: \0\r\n\r\n".encode())[0] == 400


def test_a_connection_is_used_again(play: Running):
    async def converse() -> list[int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", play.server.port)
        found = []
        for body in (GOOD, {"model": 3}, GOOD):
            writer.write(play.request("clustering", body))
            found.append((await read_answer(reader))[0])
        writer.write(message("GET", "/", {"Host": play.host, "Connection": "close"}))
        found.append((await read_answer(reader))[0])
        assert await reader.read() == b""
        writer.close()
        return found

    assert play.run(converse()) == [200, 400, 200, 200]
