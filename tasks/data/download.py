"""Downloading a file: with a progress bar, resuming after interruptions, and verified before it gets its name.

Received bytes are kept next to the file as .NAME.partial, which survives the end of the process.  It is renamed to NAME
only if its size and checksum are right.
"""

from __future__ import annotations

import http
import os
import re
import sys
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from minisets.files import sync_folder
from tasks.data.catalog import Published
from tasks.data.connection import Progress, TooSlow, open_url
from tasks.data.locations import DataError, lock
from tasks.harness.errors import UsageError, as_usage_error, printable

ATTEMPTS = 5  # in a row without a single new byte
TIMEOUT = 30.0  # seconds without a byte before a connection counts as broken
WINDOW, LEAST = 120.0, 480 * 2**10  # seconds, and the new bytes that each such time must bring: 4 kB per second
BACKOFF = 1.0  # seconds before the second attempt, doubled before each further one
TEMPORARY = (429, 500, 502, 503, 504)  # HTTP status codes that are worth another attempt


class Broken(Exception):
    """A connection that failed, or a server that broke the rules of HTTP: worth another attempt."""


def progress_bar(title: str, total: int | None, initial: int = 0) -> tqdm:
    """A progress bar counting bytes, shown on terminals only."""
    look = {"unit": "B", "unit_scale": True, "unit_divisor": 1024, "dynamic_ncols": True}
    return tqdm(desc=title, total=total, initial=initial, disable=not sys.stderr.isatty(), **look)


def download(source: Published, path: Path) -> None:
    """Download and verify the file, or raise a DataError; calling it again resumes an interrupted download."""
    partial = path.with_name(f".{path.name}.partial")
    with as_usage_error(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "ab") as file:
            lock(file, f"another process is downloading {path}; wait for it")
            try:
                _receive_all(source, file)
                file.flush()
                os.fsync(file.fileno())
                problem = source.mismatch(partial)
                if problem:
                    _restart(file)
                    raise DataError(f"{source.url} sent a file that is not the published one: {problem}; removed it")
                os.replace(partial, path)
                sync_folder(path.parent)
            finally:
                if not file.tell():
                    partial.unlink(missing_ok=True)


def _receive_all(source: Published, file: BinaryIO) -> None:
    """Reconnect until the file is complete, as long as there is progress."""
    progress = Progress(file.tell(), WINDOW, LEAST)
    failures, before = 0, progress.furthest
    try:
        while not _receive(source, file, progress):
            failures = 0 if progress.furthest > before else failures + 1
            before = progress.furthest
            if failures == ATTEMPTS:
                raise DataError(f"{source.url} failed {ATTEMPTS} times in a row; {_kept(file)}")
            time.sleep(BACKOFF * 2**failures)
            progress.check()
    except TooSlow as error:
        raise DataError(f"{source.url} {error}; {_kept(file)}") from None


def _receive(source: Published, file: BinaryIO, progress: Progress) -> bool:
    """Append what one connection sends; False if the file is not complete yet."""
    received = file.tell()
    headers = {"User-Agent": "minisets", "Accept-Encoding": "identity"}
    if received:
        headers["Range"] = f"bytes={received}-"
    try:
        with _connect(source.url, headers, progress) as response:
            return _append(source, file, response, progress)
    except urllib.error.HTTPError as error:
        with error:
            total = _number(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
        if error.code == 416:  # range not satisfiable: we have all bytes, or those of another file
            return (source.size if total is None else total) == received or _restart(file)
        if error.code in TEMPORARY:
            return False
        known = {status.value: f" {status.phrase}" for status in http.HTTPStatus}  # the server's own words may be any
        raise DataError(f"{source.url} responds {error.code}{known.get(error.code, '')}; {_kept(file)}") from None
    except urllib.error.URLError as error:
        raise DataError(f"cannot reach {source.url}: {printable(error.reason)}; {_kept(file)}") from None
    except Broken:
        return False


def _connect(url: str, headers: dict[str, str], progress: Progress) -> Any:
    try:
        return open_url(url, headers, progress, TIMEOUT)
    except (UsageError, TooSlow, urllib.error.URLError):
        raise
    except Exception as error:  # http.client fails in a dozen ways when a server breaks the rules
        raise Broken from error


def _blocks(response: Any) -> Iterator[bytes]:
    """The body of a response, as it arrives."""
    while True:
        try:
            block = response.read1(2**16)
            if response.chunked and (response.chunk_left or 0) < 0:
                raise ValueError("a chunk of negative size")
        except TooSlow:
            raise
        except Exception as error:
            raise Broken from error
        if not block:
            return
        yield block


def _append(source: Published, file: BinaryIO, response: Any, progress: Progress) -> bool:
    start = 0 if response.status != 206 else _number(r"bytes (\d+)-.*", response.headers.get("Content-Range", ""))
    if start != file.tell():
        _restart(file)
        if start != 0:
            return False
    announced = ", ".join(sorted(set(response.headers.get_all("Content-Length", []))))
    length = _number(r"(\d+)", announced)
    if length is None and "Content-Length" in response.headers:
        raise Broken(f"a length of {printable(announced)}")
    total = source.size if length is None else start + length
    limit = source.size or min(total or source.most, source.most)
    with progress_bar(source.name, total, start) as bar:
        for block in _blocks(response):
            file.write(block)
            progress.advance(file.tell())
            bar.update(len(block))
            if max(file.tell(), total or 0) > limit:
                _restart(file)
                raise DataError(f"{source.url} sends more than the expected {limit:,} bytes; removed them")
    return file.tell() >= (total or 1)  # http.client does not report a connection that closes early


def _restart(file: BinaryIO) -> bool:
    """Discard the received bytes; returns False, because the download is not complete."""
    file.seek(0)
    file.truncate()
    return False


def _number(pattern: str, header: str) -> int | None:
    """The number in a header; None if there is none, or none that could be a size."""
    found = re.fullmatch(pattern, header.strip(), re.ASCII)
    return int(found[1]) if found and len(found[1]) <= 15 else None


def _kept(file: BinaryIO) -> str:
    received = file.tell()
    return f"{received:,} bytes are kept; run the same command again to resume" if received else "received nothing"
