"""What a slow or broken client costs the others, many clients at once, and how the command begins and ends."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
import time

import numpy as np
import pytest

from tasks.harness.cli import main
from tasks.play import server
from tasks.play.api import handlers
from tasks.play.jobs import Jobs, Overloaded, Superseded
from tasks.play.server import Server
from tests.helpers.commandline import start
from tests.tasks.play.conftest import GOOD, Running, read_answer

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


def test_too_many_connections(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "CONNECTIONS", 3)
    running = Running(Server({}))
    try:
        open_ones = [socket.create_connection(("127.0.0.1", running.server.port)) for _ in range(3)]
        assert running.get("/")[0] == 503
        for connection in open_ones:
            connection.close()
        end = time.monotonic() + 10
        while running.get("/")[0] != 200:
            assert time.monotonic() < end
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
        assert page.getpeername()[0] == "127.0.0.1"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0 and out == "ended\n" and err == ""


def test_a_port_in_use_is_said(capsys: pytest.CaptureFixture):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["play", "--no-browser", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err == (
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
def test_bad_options(options: list[str], words: str, capsys: pytest.CaptureFixture):
    assert main(["play", "--no-browser", *options]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.out == ""
