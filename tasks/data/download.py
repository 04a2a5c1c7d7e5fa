"""Downloading a file: with a progress bar, resuming after interruptions, and verified before it gets its name.

Received bytes are kept next to the file as .NAME.partial, which survives the end of the process.  It is renamed to NAME
only if its size and checksum are right.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from tasks.data.catalog import Published
from tasks.data.locations import DataError, lock
from tasks.data.unpack import LIMIT_BYTES
from tasks.harness.errors import as_usage_error

ATTEMPTS = 5  # in a row without a single new byte
TIMEOUT = 30.0  # seconds without a byte before a connection counts as broken
BACKOFF = 1.0  # seconds before the second attempt, doubled before each further one
CONNECTION_ERRORS = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)
TEMPORARY = (429, 500, 502, 503, 504)  # HTTP status codes that are worth another attempt


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
                problem = checksum_error(source, partial)
                if problem:
                    _restart(file)
                    raise DataError(f"{source.url} sent a file that is not the published one: {problem}; removed it")
                os.replace(partial, path)
            finally:
                if not file.tell():
                    partial.unlink(missing_ok=True)


def _receive_all(source: Published, file: BinaryIO) -> None:
    """Reconnect until the file is complete, or until ATTEMPTS connections in a row brought nothing."""
    failures, before = 0, file.tell()
    while not _receive(source, file):
        failures = 0 if file.tell() > before else failures + 1
        before = file.tell()
        if failures == ATTEMPTS:
            raise DataError(f"{source.url} failed {ATTEMPTS} times in a row; {_kept(file)}")
        time.sleep(BACKOFF * 2**failures)


def _receive(source: Published, file: BinaryIO) -> bool:
    """Append what one connection sends; False if the file is not complete yet."""
    received = file.tell()
    request = urllib.request.Request(source.url, headers={"User-Agent": "minisets", "Accept-Encoding": "identity"})
    if received:
        request.add_header("Range", f"bytes={received}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return _append(source, file, response)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # range not satisfiable: we have all bytes, or those of another file
            total = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
            return (int(total[1]) if total else source.size) == received or _restart(file)
        if error.code in TEMPORARY:
            return False
        raise DataError(f"{source.url} responds {error.code} {error.reason}; {_kept(file)}") from None
    except urllib.error.URLError as error:
        raise DataError(f"cannot reach {source.url}: {error.reason}; {_kept(file)}") from None
    except CONNECTION_ERRORS:
        return False


def _append(source: Published, file: BinaryIO, response: Any) -> bool:
    start = _first_byte(response)
    if start != file.tell():
        _restart(file)
        if start != 0:
            return False
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else source.size
    limit = source.size or min(total or LIMIT_BYTES, LIMIT_BYTES)
    with progress_bar(source.name, total, start) as bar:
        while block := response.read(2**16):
            file.write(block)
            bar.update(len(block))
            if file.tell() > limit:
                _restart(file)
                raise DataError(f"{source.url} sends more than the expected {limit:,} bytes")
    return total is None or file.tell() >= total  # http.client does not report a connection that closes early


def _restart(file: BinaryIO) -> bool:
    """Discard the received bytes; returns False, because the download is not complete."""
    file.seek(0)
    file.truncate()
    return False


def _first_byte(response: Any) -> int:
    """The position of the first byte that the server sends: 0 if it ignores the Range header."""
    part = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(part[1]) if response.status == 206 and part else 0


def _kept(file: BinaryIO) -> str:
    received = file.tell()
    return f"{received:,} bytes are kept; run the same command again to resume" if received else "received nothing"


def checksum_error(source: Published, path: Path) -> str:
    """How the size, or the strongest known checksum, of a file differs from the published one; "" if it does not."""
    size = path.stat().st_size
    if source.size is not None and size != source.size:
        return f"it has {size:,} bytes instead of {source.size:,}"
    kind, expected = ("sha256", source.sha256) if source.sha256 else ("md5", source.md5)
    if expected:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
        if found != expected:
            return f"its {kind} is {found} instead of {expected}"
    return ""
