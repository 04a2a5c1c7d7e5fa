"""Downloading one file: with a bar, going on where it broke off, and checked before anybody sees it.

What has come is kept beside the file under the name .NAME.partial, over the end of the process as well.  Only when size
and checksum are right does it take the file's name.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tqdm import tqdm

from tasks.data.catalogue import Published
from tasks.data.locations import DataError, lock
from tasks.data.unpack import LIMIT_BYTES
from tasks.harness.errors import as_usage_error

TRIES = 5  # in a row without a single new byte
PATIENCE = 30.0  # seconds without a byte before a connection counts as broken
PAUSE = 1.0  # seconds before the second try; then twice as long each time
BROKEN = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)


def bar(title: str, total: int | None, done: int = 0) -> tqdm:
    """A bar of bytes, where somebody watches."""
    look = {"unit": "B", "unit_scale": True, "unit_divisor": 1024, "dynamic_ncols": True}
    return tqdm(desc=title, total=total, initial=done, disable=not sys.stderr.isatty(), **look)


def download(source: Published, path: Path) -> None:
    """Get the file, whole and right, or raise a DataError; a broken download goes on when it is asked for again."""
    partial = path.with_name(f".{path.name}.partial")
    with as_usage_error(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "ab") as file:
            lock(file, f"another process is downloading {path}; wait for it")
            try:
                _complete(source, file)
                file.flush()
                os.fsync(file.fileno())
                wrong = mistake(source, partial)
                if wrong:
                    _empty(file)
                    raise DataError(f"{source.url} sent a file that is not the published one: {wrong}; it was removed")
                os.replace(partial, path)
            finally:
                if not file.tell():
                    partial.unlink(missing_ok=True)


def _complete(source: Published, file: BinaryIO) -> None:
    """Connect again and again, as long as that brings something."""
    tries, before = 0, file.tell()
    while not _receive(source, file):
        tries = 0 if file.tell() > before else tries + 1
        before = file.tell()
        if tries == TRIES:
            raise DataError(f"{source.url} broke off {TRIES} times in a row; {_kept(file)}")
        time.sleep(PAUSE * 2**tries)


def _receive(source: Published, file: BinaryIO) -> bool:
    """One connection: append what it sends.  False if it broke off before the end."""
    have = file.tell()
    request = urllib.request.Request(source.url, headers={"User-Agent": "minisets", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return _append(source, file, reply)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # no byte comes after those we have: that is all, or it was another file
            total = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range", ""))
            return (int(total[1]) if total else source.size) == have or _empty(file)
        if error.code in (429, 500, 502, 503, 504):  # they may pass
            return False
        raise DataError(f"{source.url} answers {error.code} {error.reason}; {_kept(file)}") from None
    except urllib.error.URLError as error:
        raise DataError(f"cannot reach {source.url}: {error.reason}; {_kept(file)}") from None
    except BROKEN:
        return False


def _append(source: Published, file: BinaryIO, reply: Any) -> bool:
    start = _start(reply)
    if start != file.tell():
        _empty(file)
        if start != 0:
            return False
    length = reply.headers.get("Content-Length", "")
    total = start + int(length) if length.isdecimal() else source.size
    limit = source.size or min(total or LIMIT_BYTES, LIMIT_BYTES)
    with bar(source.name, total, start) as shown:
        while block := reply.read(2**16):
            file.write(block)
            shown.update(len(block))
            if file.tell() > limit:
                _empty(file)
                raise DataError(f"{source.url} sends more than the {limit:,} bytes that the file should have")
    return total is None or file.tell() >= total  # a connection that just closes is no error to http.client


def _empty(file: BinaryIO) -> bool:
    """Begin again: False, as the download is not complete."""
    file.seek(0)
    file.truncate()
    return False


def _start(reply: Any) -> int:
    """The first byte that the server sends; one that ignores Range sends all from 0."""
    part = re.match(r"bytes (\d+)-", reply.headers.get("Content-Range", ""))
    return int(part[1]) if reply.status == 206 and part else 0


def _kept(file: BinaryIO) -> str:
    return f"{file.tell():,} bytes are kept, and the same command goes on from there" if file.tell() else "nothing came"


def mistake(source: Published, path: Path) -> str:
    """What is wrong with a file: its size, or the strongest checksum that is known; "" if nothing is."""
    size = path.stat().st_size
    if source.size is not None and size != source.size:
        return f"it has {size:,} bytes and not {source.size:,}"
    kind, expected = ("sha256", source.sha256) if source.sha256 else ("md5", source.md5)
    if expected:
        digest = hashlib.new(kind, usedforsecurity=False)
        for block in _blocks(path):
            digest.update(block)
        if digest.hexdigest() != expected:
            return f"its {kind} is {digest.hexdigest()} and not {expected}"
    return ""


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(2**20):
            yield block
