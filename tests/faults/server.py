"""Servers on loopback that break the rules: a download ends with the right file, or in a sentence, and soon."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from tasks.data import download
from tasks.data.catalog import DATA_SETS, DataSet, Published
from tasks.harness.cli import main
from tests.faults.behaviors import BEHAVIORS, CONTENT, LIFE, SECURE, Behavior, Request
from tests.faults.outcomes import Outcome, attempt, sentence_problem

HASTE = {"BACKOFF": 0.01, "TIMEOUT": 1.0, "WINDOW": 2.0, "LEAST": 2**15}  # seconds, and bytes in WINDOW seconds


class Servers:
    """Each behavior twice: of a file whose size and checksum are known, and of one about which nothing is known."""

    name, short = "servers", 16

    def numbers(self, short: bool) -> list[int]:
        full = 2 * len(self.behaviors)
        return [i * full // self.short + i % 2 for i in range(self.short)] if short else list(range(full))

    def prepare(self, work: Path) -> None:
        for name, value in HASTE.items():
            setattr(download, name, value)
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            os.environ.pop(name, None), os.environ.pop(name.upper(), None)
        self.behaviors = BEHAVIORS
        if shutil.which("openssl"):
            self.certificate = work / "certificate.pem"
            words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
            words += " -addext subjectAltName=IP:127.0.0.1"
            subprocess.run(
                [*words.split(), "-keyout", self.certificate, "-out", work / "public"], check=True, capture_output=True
            )
            self.certificate.write_bytes(self.certificate.read_bytes() + (work / "public").read_bytes())
            os.environ["SSL_CERT_FILE"] = str(work / "public")
            self.behaviors = BEHAVIORS | SECURE

    def trial(self, number: int, folder: Path) -> Outcome:
        name = list(self.behaviors)[number // 2]
        behavior, expected = self.behaviors[name]
        known = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()} if number % 2 == 0 else {}
        what = f"{name}, {'checksum known' if known else 'nothing known'}"
        with serve(behavior, self.certificate if name in SECURE else None) as url:
            source = Published("fault/file.zip", url, **known)
            DATA_SETS["fault"] = DataSet("fault", "Fault", (("fault/file.zip",),), (source,))
            os.environ["MINISETS_DATA"] = str(folder)
            done = attempt(lambda: main(["data", "fetch", "fault"]))
        path = folder / "fault/file.zip"
        if done.problem:
            return Outcome("wrong", what, done.problem)
        if done.code:
            problem = sentence_problem(done.err, (url, str(path))) or ("a file was left" if path.exists() else "")
            problem = problem or ("refused what should have worked: " + done.err if "refused" not in expected else "")
            return Outcome("wrong" if problem else "refused", what, problem or done.err.strip())
        if path.read_bytes() != CONTENT:
            verdict = "undetectable" if "undetectable" in expected and not known else "wrong"
            return Outcome(verdict, what, f"another file was accepted: {path.read_bytes()[:40]!r}")
        return Outcome("right", what) if "right" in expected else Outcome("wrong", what, "it should have been refused")


# ---- the server, a process of its own -------------------------------------------------------------------------------


@contextlib.contextmanager
def serve(behavior: Behavior, certificate: Path | None) -> Iterator[str]:
    """The address of a server that behaves like this, in a process that ends after LIFE seconds at the latest."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as plain:
        places = {listening: f"{'https' if certificate else 'http'}://127.0.0.1:{listening.getsockname()[1]}/file.zip",
                  plain: f"http://127.0.0.1:{plain.getsockname()[1]}/file.zip"}  # fmt: skip
        child = os.fork()
        if not child:
            signal.alarm(LIFE + 5)
            threading.Thread(
                target=_accept, args=(plain, lambda r: r.good(), places[plain], None, ""), daemon=True
            ).start()
            _accept(listening, behavior, places[listening], certificate, places[plain])
        try:
            yield places[listening]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _accept(listening: socket.socket, behavior: Behavior, url: str, certificate: Path | None, plain: str) -> None:
    for number in range(1_000):
        connection, _ = listening.accept()
        threading.Thread(
            target=_respond, args=(connection, number, behavior, url, certificate, plain), daemon=True
        ).start()
    os._exit(0)


def _respond(
    connection: socket.socket, number: int, behavior: Behavior, url: str, certificate: Path | None, plain: str
) -> None:
    with contextlib.suppress(OSError):
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            connection = context.wrap_socket(connection, server_side=True)
        asked = b""
        while b"\r\n\r\n" not in asked and (more := connection.recv(2**16)):
            asked += more
        span = asked.lower().partition(b"range: bytes=")[2].partition(b"-")[0]

        def send(content: bytes) -> None:
            if content == b"RESET":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                connection.sendall(
                    content.replace(b"PLAIN", plain.encode()) if b"Location: PLAIN" in content else content
                )

        behavior(Request(number, int(span or 0), url, send))
        if not certificate:
            connection.shutdown(socket.SHUT_WR)
    connection.close()
