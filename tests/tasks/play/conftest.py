"""A server in this process, with one small network, and raw connections to it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from tasks.play.api import handlers
from tasks.play.library import Library
from tasks.play.server import Server

POINTS = [[0.0, 0.5], [1.0, 2.0], [-1.0, 0.0]]
GOOD = {"model": "clustering-isab", "points": POINTS}


class Running:
    """A server in a thread of its own; the tests speak to it as a browser would, or worse."""

    def __init__(self, server: Server) -> None:
        self.server, self.loop = server, asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.run(server.start("127.0.0.1", 0))
        self.host = f"127.0.0.1:{server.port}"

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    async def exchange(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            writer.write(request)
            return await read_answer(reader)
        finally:
            writer.close()

    def raw(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send these bytes on a new connection; returns status, headers and body of the answer."""
        return self.run(asyncio.wait_for(self.exchange(request), 30))

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.raw(message("GET", path, {"Host": self.host, **named(headers)}))

    def post(self, name: str, body: object, **headers: str) -> tuple[int, dict]:
        status, _, content = self.raw(self.request(name, body, **headers))
        return status, json.loads(content)

    def request(self, name: str, body: object, **headers: str) -> bytes:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Host": self.host, "Content-Type": "application/json", "Content-Length": str(len(content))}
        return message("POST", f"/api/{name}", fields | named(headers)) + content

    def close(self) -> None:
        self.run(self.server.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def message(method: str, path: str, headers: dict[str, str]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head[:-4].split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, await reader.readexactly(int(headers["Content-Length"]))


@pytest.fixture(scope="session")
def library() -> Library:
    return Library([])


@pytest.fixture(scope="module")
def play(library: Library) -> Iterator[Running]:
    running = Running(Server(handlers(library), read_time=1.0))
    yield running
    running.close()
