"""A web server on loopback that misbehaves on request."""

import contextlib
import hashlib
import http.server
import random
import threading

from tasks.data.catalog import Published

CONTENT = random.Random(0).randbytes(300_000)


class Server(http.server.ThreadingHTTPServer):
    """Serves one content; `plan` says how to answer each of the next requests, then every further one correctly.

    {"raw": [b"HTTP/1.1 200 OK\\r\\n", …], "every": 0.1} sends these bytes and nothing else, with pauses in between.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.plan, self.asked = content, [], []
        self.let_go = threading.Event()  # at the end of a test: whatever the server still sends stops
        self.url = f"http://127.0.0.1:{self.server_port}/file"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        do = server.plan.pop(0) if server.plan else {}
        if "raw" in do:
            self.close_connection = True
            with contextlib.suppress(ConnectionError):
                for part in do["raw"]:
                    if server.let_go.wait(do.get("every", 0)):
                        return
                    self.wfile.write(part)
            return
        first = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and not do.get("ignores range") else 0
        body = server.content[first:]
        if "code" in do or (first and not body):
            self.send_response(do.get("code", 416))
            if do.get("code", 416) == 416 and not do.get("without a range"):
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
        with contextlib.suppress(ConnectionError):  # the client may have closed the connection
            self.wfile.write(body[: do.get("breaks after", len(body))])
        if do.get("hangs"):
            server.let_go.wait(5)

    def log_message(self, *words: object) -> None:
        pass


def published(server: Server, **more: object) -> Published:
    right = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    return Published(**{"path": "it/file.bin", "url": server.url} | right | more)
