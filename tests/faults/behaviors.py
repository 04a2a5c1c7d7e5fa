"""How servers break the rules, and what may come of it: the right file, a sentence, or either."""

from __future__ import annotations

import io
import random
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.mutations import PAGE

LIFE = 15  # seconds, after which an answer without end does end
EITHER, RIGHT, REFUSED = ("right", "refused"), ("right",), ("refused",)


def _archive() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(zipfile.ZipInfo("it/numbers"), random.Random(0).randbytes(200_000))
    return made.getvalue()


CONTENT = _archive()


@dataclass
class Request:
    """What one connection asked for; `number` counts the connections."""

    number: int
    first: int
    url: str
    send: Callable[[bytes], None]

    def head(self, status: str = "200 OK", **headers: object) -> None:
        lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
        self.send("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape"))

    def good(self, cut: int | None = None) -> None:
        """A right answer, broken off after some bytes of the body."""
        body = CONTENT[self.first :]
        span = {"Content_Range": f"bytes {self.first}-{len(CONTENT) - 1}/{len(CONTENT)}"} if self.first else {}
        self.head("206 Partial Content" if self.first else "200 OK", Content_Length=len(body), **span)
        self.send(body[:cut])

    def endless(self, block: bytes, pause: float = 0.0) -> None:
        deadline = time.monotonic() + LIFE
        while time.monotonic() < deadline:
            self.send(block)
            time.sleep(pause)


Behavior = Callable[[Request], None]


def redirect(location: str, status: str = "302 Found") -> Behavior:
    """The first connection is sent elsewhere; whoever follows to this server gets the file."""

    def respond(request: Request) -> None:
        if request.number:
            return request.good()
        return request.head(status, Location=location.replace("HERE", request.url), Content_Length=0)

    return respond


def answer(status: str = "200 OK", body: bytes = CONTENT, **headers: object) -> Behavior:
    def respond(request: Request) -> None:
        request.head(status, **headers)
        request.send(body)

    return respond


def raw(content: bytes) -> Behavior:
    return lambda request: request.send(content)


def chunked(*chunks: bytes) -> Behavior:
    return answer(Transfer_Encoding="chunked", body=b"".join(chunks))


def alternating(request: Request) -> None:
    """By turns, a byte more than there is, and from the beginning again."""
    if request.number % 2:
        request.good(cut=1)
    else:
        request.head(Content_Length=len(CONTENT))
        request.send(CONTENT[: 10 + request.number])


def good_the_second_time(first: Behavior) -> Behavior:
    return lambda request: request.good() if request.number else first(request)


BEHAVIORS: dict[str, tuple[Behavior, tuple[str, ...]]] = {
    "an ordinary server": (lambda r: r.good(), RIGHT),
    "cut off, then resumed": (lambda r: r.good(cut=None if r.number else 70_000), RIGHT),
    "cut off every 50,000 bytes": (lambda r: r.good(cut=50_000), RIGHT),
    "503, then the file": (good_the_second_time(answer("503 Busy", b"", Content_Length=0, Retry_After=10**9)), RIGHT),
    "a redirect to itself, then the file": (redirect("HERE"), RIGHT),
    "a redirect without end": (lambda r: r.head("302 Found", Location=r.url, Content_Length=0), REFUSED),
    **{
        f"a malformed Location: {text[:30]!a}": (redirect(text), EITHER)
        for text in (
            "http://[", "http://[::1", "http://127.0.0.1:99999999/x", "http://127.0.0.1:port/", "//", "///", "http://",
            ":", "http:///x", "", " ", "\x01\x02", "http://a b.invalid/", "http://127.0.0.1:٣٠/", "é\udcff",
            "?" * 100_000, "http://%00.invalid/", "http://xn--a.invalid/", "http://" + "a" * 300 + "/",
            "http://127.0.0.1\\@b.invalid/", "\thttp://[", "http://[v1.a]/",
        )
    },
    "no Location": (answer("302 Found", b"", Content_Length=0), EITHER),
    "a redirect to ftp": (redirect("ftp://127.0.0.1/file.zip"), REFUSED),
    "a redirect to a local file": (redirect("file:///etc/hostname"), REFUSED),
    "a redirect to data": (redirect("data:text/plain,PK"), REFUSED),
    "a redirect to javascript": (redirect("javascript:alert(1)"), REFUSED),
    "a redirect whose body has no end": (
        good_the_second_time(lambda r: (r.head("302 Found", Location=r.url), r.endless(bytes(2**16)))), EITHER),
    "an error whose body has no end": (lambda r: (r.head("404 Not Found"), r.endless(bytes(2**16))), REFUSED),
    **{
        f"a length of {text[:20]!a}": (answer(Content_Length=text), EITHER)
        for text in (
            "9" * 5_000, "-1", "+5", "1e3", "0x10", "", "٣٠٠", "5, 5", "NaN", str(2**63), "1" * 15, "1_000",
        )
    },
    "two different lengths": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\n" + CONTENT), EITHER),
    "a length of 0": (answer(Content_Length=0), EITHER),
    "more than the length says": (answer(Content_Length=1_000), ("refused", "undetectable")),
    "no length, cut off": (answer(body=CONTENT[:1_000]), ("refused", "undetectable")),
    "a body without end": (lambda r: (r.head(), r.endless(bytes(2**16))), REFUSED),
    "chunks, as they should be": (chunked(b"%x\r\n" % len(CONTENT), CONTENT, b"\r\n0\r\n\r\n"), RIGHT),
    "a chunk of negative size": (chunked(b"-5\r\n", CONTENT), EITHER),
    "a chunk of negative size after a good one": (chunked(b"64\r\n", CONTENT[:100], b"\r\n-64\r\n", CONTENT), EITHER),
    "a chunk of 5,000 digits": (chunked(b"9" * 5_000, b"\r\n", CONTENT), EITHER),
    "a chunk of 60,000 digits": (chunked(b"9" * 60_000, b"\r\n", CONTENT), EITHER),
    "a chunk of no number": (chunked(b"many\r\n", CONTENT), EITHER),
    "a chunk larger than the file": (chunked(b"ffffffffff\r\n", CONTENT), EITHER),
    "chunks without an end": (chunked(b"%x\r\n" % len(CONTENT), CONTENT), EITHER),
    "empty lines for chunks": (lambda r: (r.head(Transfer_Encoding="chunked"), r.endless(b"\r\n")), EITHER),
    "chunks of one byte without end": (
        lambda r: (r.head(Transfer_Encoding="chunked"), r.endless(b"1\r\nx\r\n", 0.01)), REFUSED),
    "trailers without end": (
        lambda r: (r.head(Transfer_Encoding="chunked"), r.send(b"%x\r\n" % len(CONTENT) + CONTENT + b"\r\n0\r\n"),
                   r.endless(b"a: b\r\n" * 100)), EITHER),
    "a byte now and then": (lambda r: (r.head(Content_Length=len(CONTENT)), r.endless(b"P", 0.05)), REFUSED),
    "a header byte now and then": (lambda r: r.endless(b"H", 0.05), REFUSED),
    "header lines now and then": (lambda r: (r.send(b"HTTP/1.1 200 OK\r\n"), r.endless(b"a: b\r\n", 0.05)), REFUSED),
    "alternating cuts": (alternating, REFUSED),
    "a byte per connection": (lambda r: r.good(cut=1), REFUSED),
    "a flood of 100 Continue": (lambda r: r.endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100), REFUSED),
    "100 Continue now and then": (lambda r: r.endless(b"HTTP/1.1 100 Continue\r\n\r\n", 0.05), REFUSED),
    "a flood of 103 Early Hints": (lambda r: r.endless(b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n" * 100), REFUSED),
    "headers without end": (lambda r: (r.send(b"HTTP/1.1 200 OK\r\n"), r.endless(b"a: b\r\n" * 1_000)), REFUSED),
    "a header line without end": (lambda r: (r.send(b"HTTP/1.1 200 OK\r\na: "), r.endless(b"b" * 2**16)), REFUSED),
    "a status line without end": (lambda r: r.endless(b"HTTP/1.1 200 OK" * 1_000), REFUSED),
    "escape codes in the reason": (answer("404 \x1b[31mred\x1b]0;title\x07", b"", Content_Length=0), REFUSED),
    "escape codes in a temporary reason": (answer("503 \x1b[31mred", b"", Content_Length=0), REFUSED),
    "escape codes in an unknown status": (answer("499 \x1b[2J", b"", Content_Length=0), REFUSED),
    "escape codes in Location": (redirect("gopher://\x1b[31m"), REFUSED),
    "a page instead of the archive": (answer(body=PAGE, Content_Length=len(PAGE)), REFUSED),
    "a page first, then the archive": (good_the_second_time(answer(body=PAGE, Content_Length=len(PAGE))), EITHER),
    "nothing": (lambda r: None, REFUSED),
    "silence": (lambda r: time.sleep(LIFE), REFUSED),
    "an empty file": (answer(body=b"", Content_Length=0), REFUSED),
    "a reset connection": (lambda r: r.send(b"RESET"), REFUSED),
    "noise": (raw(bytes(range(256)) * 100), REFUSED),
    "HTTP/0.9": (raw(CONTENT), REFUSED),
    "HTTP/9.9": (raw(b"HTTP/9.9 200 OK\r\n\r\n" + CONTENT), EITHER),
    "a status of 99999": (raw(b"HTTP/1.1 99999 Much\r\n\r\n"), REFUSED),
    "a status of -1": (raw(b"HTTP/1.1 -1 Little\r\n\r\n"), REFUSED),
    "204 No Content": (answer("204 No Content", b""), REFUSED),
    "206 that nobody asked for": (answer("206 Partial Content", CONTENT[9:], Content_Range="bytes 9-99/100"), REFUSED),
    "416 that nobody asked for": (answer("416 No", b"", Content_Range="bytes */0", Content_Length=0), REFUSED),
    "a range of 5,000 digits": (
        lambda r: r.head("206 P", Content_Range=f"bytes {'9' * 5_000}-9/9") if r.number else r.good(cut=70_000),
        EITHER),
    "a wrong range": (
        lambda r: r.good(cut=70_000) if r.number != 1 else (r.head("206 P", Content_Range="bytes 5-9/9"), r.send(b"x")),
        EITHER),
    "an encoding that nobody asked for": (answer(body=PAGE, Content_Encoding="br", Content_Length=len(PAGE)), REFUSED),
    "503 forever": (answer("503 Busy", b"", Content_Length=0, Retry_After="9" * 5_000), REFUSED),
}  # fmt: skip
SECURE = {
    "https, as it should be": (lambda r: r.good(), RIGHT),
    "a redirect from https to http": (redirect("PLAIN"), REFUSED),
}
