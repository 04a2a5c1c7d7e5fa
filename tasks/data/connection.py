"""A GET request that ends, whatever the server does.

urllib.request speaks HTTP and TLS and knows the proxies of the environment.  What it lacks is a bound: its timeout is
for one wait, so a server that sends a byte now and then, or headers without end, holds it forever.  Here every byte
from the network passes through `_Metered`, below the parser, where `Progress` counts it and watches the clock.
"""

from __future__ import annotations

import functools
import http.client
import io
import string
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from tasks.data.locations import DataError
from tasks.harness.errors import printable

OVERHEAD = 2**20  # bytes of headers and the like, before or between those of the file
REDIRECTS = 5


class TooSlow(Exception):
    """The download makes too little progress to be continued; the message fits after the URL."""


class Progress:
    """How far a download has come, over all its connections, and whether that is enough.

    Every `window` seconds must bring `least` new bytes of the file.
    """

    def __init__(self, received: int, window: float, least: int) -> None:
        self.window, self.least = window, least
        self.furthest = self.at_start = received  # a server that starts again from 0 makes no progress
        self.started, self.overhead = time.monotonic(), 0

    def advance(self, position: int) -> None:
        """The file has been received up to this position."""
        self.furthest, self.overhead = max(self.furthest, position), 0

    def check(self) -> None:
        """TooSlow if the last window brought too little."""
        now = time.monotonic()
        if now >= self.started + self.window:
            if self.furthest - self.at_start < self.least:
                raise TooSlow(f"sent less than {self.least:,} new bytes in {self.window:g} seconds")
            self.started, self.at_start = now, self.furthest

    def count(self, size: int) -> None:
        """So many bytes came from the network, of whatever kind."""
        self.overhead += size
        if self.overhead > OVERHEAD:
            raise TooSlow(f"sent {OVERHEAD:,} bytes of headers and none of the file")


class _Metered(io.RawIOBase):
    """The receiving end of a socket."""

    def __init__(self, raw: io.RawIOBase, progress: Progress) -> None:
        self.raw, self.progress = raw, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self.progress.check()
        size = self.raw.readinto(buffer)
        self.progress.count(size or 0)
        return size

    def close(self) -> None:
        self.raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, *words: Any, progress: Progress, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.fp = io.BufferedReader(_Metered(self.fp.detach(), progress))


class _Handler(urllib.request.AbstractHTTPHandler):
    """Opens http and https addresses with metered connections."""

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.response_class = functools.partial(_Response, progress=progress)

    def http_open(self, request: Any) -> Any:
        return self.do_open(self._metered(http.client.HTTPConnection), request)

    def https_open(self, request: Any) -> Any:
        return self.do_open(self._metered(http.client.HTTPSConnection), request)

    def _metered(self, kind: type) -> Callable:
        def connect(host: str, **settings: Any) -> Any:
            connection = kind(host, **settings)
            connection.response_class = self.response_class
            return connection

        return connect


def open_url(url: str, headers: dict[str, str], progress: Progress, timeout: float) -> Any:
    """The response to a GET request, after redirections; urllib.error.HTTPError for a status other than 2xx.

    A single wait, for a connection or for the next byte, may take `timeout` seconds.
    """
    opener = urllib.request.OpenerDirector()  # without the handlers for ftp and local files
    for handler in (urllib.request.ProxyHandler(), _Handler(progress), urllib.request.HTTPErrorProcessor()):
        opener.add_handler(handler)
    opener.add_handler(urllib.request.HTTPDefaultErrorHandler())
    for _ in range(REDIRECTS + 1):
        try:
            return opener.open(urllib.request.Request(url, headers=headers), timeout=timeout)
        except urllib.error.HTTPError as error:
            if error.code not in (301, 302, 303, 307, 308):
                raise
            with error:  # its body is of no interest, and may have no end
                url = redirected(url, error.headers.get("Location", ""))
    raise DataError(f"{printable(url)} is the end of more than {REDIRECTS} redirections; refused")


def redirected(url: str, location: str) -> str:
    """The address that a Location header leads to; DataError if it is not one, or not as safe as the one before."""
    try:
        target = urljoin(url, quote(location, safe=string.punctuation, encoding="latin-1"))
        scheme, host, _ = urlsplit(target).scheme, urlsplit(target).hostname, urlsplit(target).port
    except ValueError:
        scheme = host = ""
    if not location or not host or scheme not in ("http", "https"):
        raise DataError(f"{printable(url)} redirects to '{printable(location)}', which is not a web address; refused")
    if url.startswith("https:") and scheme != "https":
        raise DataError(f"{printable(url)} redirects to '{printable(location)}', which is not encrypted; refused")
    return target
