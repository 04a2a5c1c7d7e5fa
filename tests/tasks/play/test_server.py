"""The server: who may ask, what is refused, and what a slow or broken client costs the others."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from tasks.play.jobs import Jobs, Overloaded, Superseded
from tasks.play.server import PAGE, Server
from tests.helpers.commandline import command, start
from tests.tasks.play.conftest import Running, message, read_answer

POINTS = [[0.0, 0.5], [1.0, 2.0], [-1.0, 0.0]]
GOOD = {"model": "clustering-isab", "points": POINTS}


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


# ---- messages


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"), (b"{", "not JSON"), (b"[1]", "a list; send a JSON object"), (b"\xff", "not UTF-8"),
        (b'{"points": NaN}', "NaN is not a number in JSON"), (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "not JSON"),
        ({"points": POINTS}, "'model' must be a text"),
        ({"model": "nobody", "points": POINTS}, "no network 'nobody' for clustering; there are clustering-isab"),
        ({"model": "clustering-isab"}, "'points' must be a list of lists of 2 numbers, given null"),
        ({"model": "clustering-isab", "points": []}, "must have 1 to 10,000 elements, given 0"),
        ({"model": "clustering-isab", "points": [[0, 0]] * 10_001}, "1 to 10,000 elements, given 10,001"),
        ({"model": "clustering-isab", "points": [[0, 0], [0, "1"]]}, "element 1 of 'points' must be a list of 2"),
        ({"model": "clustering-isab", "points": [[0, True]]}, "element 0"),
        ({"model": "clustering-isab", "points": [[0, 1e999]]}, "Infinity is not a number"),
        (b'{"model": "clustering-isab", "points": [[0, 1e999]]}', "element 0"),
        ({"model": "clustering-isab", "points": [[0, 1001]]}, "from −1,000 to 1,000"),
        ({**GOOD, "step": 77}, "there is no checkpoint of step 77; there are 0, 200"),
        ({**GOOD, "layer": "x"}, "there is no attention layer 'x'; there are encoder.0.mab0"),
        ({**GOOD, "layer": "decoder.0.mab", "head": 4}, "'head' must be a whole number from 0 to 3"),
        ({**GOOD, "em": "maybe"}, "'em' must be one of none, step, converged"),
        ({**GOOD, "change": {"shuffle": True}}, "'shuffle' must be a whole number"),
        ({**GOOD, "truth": [[1, 2]]}, "'truth' must be a list of 5 numbers"),
    ],
)  # fmt: skip
def test_bad_messages_get_a_sentence(play: Running, body: object, words: str):
    status, answer = play.post("clustering", body)
    assert status == 400 and words in answer["error"] and len(answer["error"]) < 400


def test_unknown_addresses(play: Running):
    status, answer = play.post("nothing", {})
    assert status == 404 and "/api/clustering" in answer["error"]


def damaged(rng: np.random.Generator, whole: bytes) -> bytes:
    """A request with some bytes changed, removed, repeated, or cut off."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 6))):
        i = int(rng.integers(len(data)))
        kind = rng.integers(5)
        if kind == 0:
            data[i] = int(rng.integers(256))
        elif kind == 1:
            del data[i : i + int(rng.integers(1, 20))]
        elif kind == 2:
            data[i:i] = data[i : i + 30]
        elif kind == 3:
            data[i:i] = rng.bytes(int(rng.integers(1, 10)))
        else:
            del data[max(i, 1) :]
        if not data:
            return b"\0"
    return bytes(data)


JUNK = (
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    "",
    "x" * 300,
    [],
    [[]],
    {},
    [[1, 2], [3]],
    {"shuffle": []},
    [None],
    "clustering-isab",
)


def test_two_thousand_bad_messages(play: Running, capsys: pytest.CaptureFixture):
    """Half are damaged bytes, half are valid JSON with wrong values: each gets an answer or is dropped, none a 500."""
    rng, names = np.random.default_rng(0), list(play.server.handlers)
    good = {"model": "clustering-isab", "points": POINTS, "numbers": [1, 2], "drawings": [{"strokes": [POINTS]}],
            "page": "clustering", "em": "step", "layer": "decoder.0.mab", "head": 1, "step": 200, "node": 3,
            "n": 5, "k": 2, "seed": 1, "change": {"pad": True}}  # fmt: skip

    async def one(i: int) -> int:
        if i % 2:
            name = names[int(rng.integers(len(names)))]
            wrong = dict(good)
            for key in rng.choice(list(good), 2, replace=False):
                wrong[str(key)] = JUNK[int(rng.integers(len(JUNK)))]
            request = play.request(name, wrong)
        else:
            request = damaged(rng, play.request("clustering", GOOD))
        reader, writer = await asyncio.open_connection("127.0.0.1", play.server.port)
        try:
            writer.write(request)
            writer.write_eof()
            return (await read_answer(reader))[0]
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0  # dropped
        finally:
            writer.close()

    async def all_of_them() -> list[int]:
        found = []
        for first in range(0, 2_000, 20):
            found += await asyncio.gather(*(one(i) for i in range(first, first + 20)))
        return found

    statuses = play.run(all_of_them())
    assert len(statuses) == 2_000 and set(statuses) <= {
        0,
        200,
        400,
        403,
        404,
        405,
        408,
        411,
        413,
        415,
        421,
        431,
        501,
        505,
    }
    assert sum(status >= 400 for status in statuses) > 1_000 and {400, 415, 421} <= set(statuses)
    assert "Traceback" not in capsys.readouterr().err
    assert play.post("clustering", GOOD)[0] == 200


# ---- slow clients, many clients


def test_slow_clients_stop_nobody(play: Running):
    """Connections that send half a header, half a body, or read nothing; meanwhile others are served at once."""

    async def run() -> tuple[float, list[int]]:
        slow = [await asyncio.open_connection("127.0.0.1", play.server.port) for _ in range(30)]
        for i, (_, writer) in enumerate(slow):
            writer.write(play.request("clustering", GOOD)[: 40 if i % 2 else -5])
        start = time.perf_counter()
        statuses = [(await play.exchange(play.request("clustering", GOOD)))[0] for _ in range(5)]
        took = time.perf_counter() - start
        ends = [(await asyncio.wait_for(read_answer(reader), 10))[0] for reader, _ in slow]
        for _, writer in slow:
            writer.close()
        assert statuses == [200] * 5
        return took, ends

    took, ends = play.run(run())
    assert took < 5 and set(ends) == {408}  # after read_time


def test_a_client_that_does_not_read_is_dropped(library):
    from tasks.play.api import handlers

    running = Running(Server(handlers(library), write_time=0.3))
    try:
        with socket.create_connection(("127.0.0.1", running.server.port)) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            request = running.request("clustering/sample", {"n": 10_000})
            with pytest.raises(OSError):
                for _ in range(400):  # each answer is a quarter of a megabyte that nobody reads
                    deaf.sendall(request)
                    time.sleep(0.01)
        assert running.post("clustering", GOOD)[0] == 200
    finally:
        running.close()


def test_fifty_clients_at_once(play: Running):
    """Each moves its points ten times and gets the answer to its own."""
    rng = np.random.default_rng(1)
    sets = [rng.normal(size=(int(n), 2)).round(3).tolist() for n in rng.integers(3, 60, size=50)]

    async def client(i: int) -> list[int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", play.server.port)
        sizes = []
        for _ in range(10):
            writer.write(play.request("clustering", GOOD | {"points": sets[i], "client": f"c{i}"}))
            status, _, content = await read_answer(reader)
            assert status == 200
            sizes.append(len(json.loads(content)["assigned"]))
        writer.close()
        return sizes

    async def all_of_them() -> list[list[int]]:
        return await asyncio.gather(*map(client, range(50)))

    assert play.run(all_of_them()) == [[len(points)] * 10 for points in sets]


def test_only_the_newest_request_of_a_client_counts():
    async def run() -> None:
        jobs, gate, done = Jobs(threads=1), threading.Event(), []

        def work(name: str):
            return lambda: (gate.wait(10), done.append(name), name)[-1]

        first = asyncio.ensure_future(jobs.submit("a", work("a1")))
        await asyncio.sleep(0.05)
        old = [asyncio.ensure_future(jobs.submit("a", work(f"a{i}"))) for i in range(2, 60)]
        other = asyncio.ensure_future(jobs.submit("b", work("b1")))
        newest = asyncio.ensure_future(jobs.submit("a", work("newest")))
        await asyncio.sleep(0.05)
        gate.set()
        assert await first == "a1" and await other == "b1" and await newest == "newest"
        assert all(isinstance(error, Superseded) for error in await asyncio.gather(*old, return_exceptions=True))
        assert done == ["a1", "newest", "b1"]
        jobs.close()

    asyncio.run(run())


def test_a_client_that_has_gone_is_not_computed_for():
    async def run() -> None:
        jobs, gate, done = Jobs(threads=1), threading.Event(), []
        first = asyncio.ensure_future(jobs.submit("a", lambda: gate.wait(10)))
        await asyncio.sleep(0.05)
        gone = asyncio.ensure_future(jobs.submit("b", lambda: done.append("b")))
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.sleep(0)
        gate.set()
        await first
        await asyncio.sleep(0.05)
        assert not done
        with pytest.raises(Overloaded):
            await Jobs(waiting=0).submit("c", lambda: None)
        jobs.close()

    asyncio.run(run())


def test_a_defect_is_a_sentence_and_the_server_goes_on(capsys: pytest.CaptureFixture):
    def fails(message: dict) -> None:
        raise RuntimeError("a defect")

    running = Running(Server({"fails": fails, "works": lambda message: {"a": float("nan")}}))
    try:
        assert running.post("fails", {}) == (500, {"error": "the server failed; its terminal says how"})
        assert "a defect" in capsys.readouterr().err
        assert running.post("works", {}) == (200, {"a": None})
    finally:
        running.close()


# ---- the command


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_even_while_pages_are_open(number: int):
    process = start("play", "--no-browser", "--port", "0")
    address = re.match(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
    with socket.create_connection(("127.0.0.1", int(address[1]))) as page:
        page.sendall(b"GET / HT")
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0 and out == "ended\n" and err == ""


def test_a_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done: subprocess.CompletedProcess = command("play", "--no-browser", "--port", port)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"minisets: port {port} is in use, perhaps by another minisets play; end that one, or choose another --port "
        "(0: any that is free)\n"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "--host must be one of 127.0.0.1, localhost, ::1, given '0.0.0.0'"),
        (["--port", "70000"], "--port must be from 0 to 65535"),
        (["--port", "x"], "expected an integer, given 'x'"),
        (["--runs", "/nonexistent"], "there is no folder /nonexistent"),
    ],
)
def test_bad_options(options: list[str], words: str):
    done = command("play", "--no-browser", *options)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
