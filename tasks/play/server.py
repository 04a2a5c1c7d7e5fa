"""The server of minisets play: HTTP/1.1 on asyncio, for one user on this machine.

GET gives the files of the page, POST /api/NAME takes a JSON object and answers with one.  It listens on a loopback
address, and refuses requests that a web page of somebody else could cause:

    Host      must be localhost, 127.0.0.1 or [::1] with the server's port, else a name that an attacker points here
              (DNS rebinding) would do
    Origin    if given, must be the page's own; Sec-Fetch-Site must not say that another site asks

Sizes and times are bounded, so that a slow or a broken client costs little, and computing happens in threads (jobs.py).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import mimetypes
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.play.jobs import Jobs, Overloaded, Superseded
from tasks.play.messages import BadMessage, Message, parse, plain, text

PAGE = Path(__file__).parent / "page"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
HEADER_BYTES, BODY_BYTES = 16_384, 2_000_000  # 10,000 points with all digits are about 400,000 bytes
CONNECTIONS = 256
HEADERS = (
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
)
REASONS = {
    200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 409: "Conflict", 411: "Length Required", 413: "Content Too Large",
    415: "Unsupported Media Type", 421: "Misdirected Request", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}  # fmt: skip

Handler = Callable[[Message], Any]


class Refused(Exception):
    """A request that gets an error: its status and one sentence.  close: nothing after it on the connection is read."""

    def __init__(self, status: int, sentence: str, close: bool = True) -> None:
        super().__init__(sentence)
        self.status, self.close = status, close


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]  # by name in lower case
    body: bytes = b""


@dataclass
class Server:
    """Answers requests on one port.  Times are in seconds."""

    handlers: dict[str, Handler]  # by the NAME in /api/NAME
    jobs: Jobs = field(default_factory=Jobs)
    read_time: float = 10.0  # for a whole request, from its first byte
    idle_time: float = 60.0  # between requests
    write_time: float = 20.0
    port: int = 0
    files: dict[str, Path] = field(default_factory=dict)
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    count: Iterator[int] = field(default_factory=itertools.count)  # of requests that do not say whose they are
    _server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen; raises OSError if the port is in use."""
        self.files = {f"/{path.name}": path for path in PAGE.iterdir() if path.suffix in TYPES}
        self.files["/"] = self.files["/index.html"]
        self._server = await asyncio.start_server(self._connected, host, port, limit=HEADER_BYTES, backlog=128)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self.connections:
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)
        self.jobs.close()

    # ---- one connection ---------------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            await self._converse(reader, writer)
            writer.close()  # once everything is sent
            await asyncio.wait_for(writer.wait_closed(), self.write_time)
        except (OSError, TimeoutError, asyncio.CancelledError):  # it has gone away or is too slow, or the server ends
            pass
        finally:
            writer.transport.abort()
            self.connections.discard(task)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        goes_on = True
        while goes_on:
            try:
                if len(self.connections) > CONNECTIONS:
                    raise Refused(503, "too many connections are open; close some pages")
                request = await self._read(reader)
                if request is None:
                    return
                goes_on = request.headers.get("connection", "").lower() != "close"
                status, kind, content = await self._answer(request)
            except Refused as error:
                goes_on = not error.close
                status, kind, content = error.status, "application/json", _json({"error": str(error)})
            connection = "keep-alive" if goes_on else "close"
            head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}; charset=utf-8\r\n"
            head += f"Content-Length: {len(content)}\r\nConnection: {connection}\r\n{HEADERS}"
            head += "Allow: GET, POST\r\n" if status == 405 else ""
            writer.write(f"{head}\r\n".encode() + content)
            await asyncio.wait_for(writer.drain(), self.write_time)

    # ---- reading ----------------------------------------------------------------------------------------------------

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        """The next request; None if the client has closed the connection, or says nothing for long."""
        try:
            first = await asyncio.wait_for(reader.read(1), self.idle_time)
        except TimeoutError:
            return None
        if not first:
            return None
        try:
            async with asyncio.timeout(self.read_time):
                return await self._read_rest(reader, first)
        except TimeoutError:
            raise Refused(408, f"the request did not arrive within {self.read_time:g} seconds") from None

    async def _read_rest(self, reader: asyncio.StreamReader, first: bytes) -> Request:
        try:
            head = first + await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Refused(431, f"the header has more than {HEADER_BYTES:,} bytes") from None
        except asyncio.IncompleteReadError:
            raise Refused(400, "the connection ended within the header") from None
        request = _parse_head(head)
        self._require_same_origin(request)
        if request.method == "GET":
            if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
                raise Refused(400, "a GET request has no body here")
            return request
        if request.method != "POST":
            raise Refused(405, f"the method {request.method[:20]} is not one of GET and POST")
        if "transfer-encoding" in request.headers:
            raise Refused(501, "a body must come with its Content-Length, not in chunks")
        length = request.headers.get("content-length", "")
        if not length:
            raise Refused(411, "a POST request needs a Content-Length")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            raise Refused(400, "the Content-Length is not a number of bytes")
        if int(length) > BODY_BYTES:
            raise Refused(413, f"the body has {int(length):,} bytes, more than the {BODY_BYTES:,} that are read")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "the Content-Type must be application/json")
        try:
            request.body = await reader.readexactly(int(length))
        except asyncio.IncompleteReadError:
            raise Refused(400, "the connection ended within the body") from None
        return request

    def _require_same_origin(self, request: Request) -> None:
        names = ("localhost", "127.0.0.1", "[::1]")
        hosts = [f"{name}:{self.port}" for name in names] + (list(names) if self.port == 80 else [])
        host = request.headers.get("host", "").lower()
        if host not in hosts:
            raise Refused(421, f"the Host must be localhost:{self.port} or 127.0.0.1:{self.port}")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            raise Refused(403, "the request comes from a page of another origin")
        site, mode = (request.headers.get(f"sec-fetch-{name}", "") for name in ("site", "mode"))
        follows_link = request.method == "GET" and mode == "navigate"
        if site not in ("", "none", "same-origin") and not follows_link:
            raise Refused(403, "the request comes from a page of another origin")

    # ---- answering --------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request) -> tuple[int, str, bytes]:
        path = request.path.partition("?")[0]
        if request.method == "GET":
            file = self.files.get(path)
            if file is None:
                raise Refused(404, "there is no such page", close=False)
            kind = TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "text/plain"
            return 200, kind, file.read_bytes()
        handler = self.handlers.get(path.removeprefix("/api/")) if path.startswith("/api/") else None
        if handler is None:
            known = ", ".join(f"/api/{name}" for name in self.handlers)
            raise Refused(404, f"there is nothing at this address; POST takes {known}", close=False)
        try:
            message = parse(request.body)
            client = text(message, "client", "") or f"request {next(self.count)}"
            content = await self.jobs.submit(f"{path} {client}", lambda: _json(plain(handler(message))))
            return 200, "application/json", content
        except BadMessage as error:
            raise Refused(400, str(error), close=False) from None
        except Superseded:
            raise Refused(409, "a newer request of the same client came first", close=False) from None
        except Overloaded:
            raise Refused(503, "too many requests are waiting; try again", close=False) from None
        except MemoryError:
            raise Refused(503, "there is not enough memory for so large a set", close=False) from None
        except Exception:  # a defect: the page gets a sentence, the terminal the traceback
            traceback.print_exc(file=sys.stderr)
            raise Refused(500, "the server failed; its terminal says how", close=False) from None


def _parse_head(head: bytes) -> Request:
    """The request line and the headers; each header that matters may occur once."""
    try:
        first, *lines = head.decode("ascii")[:-4].split("\r\n")
        method, target, version = first.split(" ")
    except ValueError:
        raise Refused(400, "the request is not HTTP/1.1") from None
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refused(505, "the protocol must be HTTP/1.1")
    if not target.startswith("/"):
        raise Refused(400, "the address must begin with /")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or not line.isprintable():
            raise Refused(400, "a header is not NAME: VALUE")
        name = name.lower()
        if name in headers and name in ("host", "origin", "content-length", "content-type", "transfer-encoding"):
            raise Refused(400, f"the header {name} is given twice")
        headers[name] = value.strip()
    return Request(method, target, headers)


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
