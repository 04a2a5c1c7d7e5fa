"""Checksums of large files, computed once: remembered beside the prepared arrays, by path, size and time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from minisets.files import DamagedFile, atomic_write, open_regular, read_regular
from tasks.data.locations import LIMIT_BYTES, DataError, cache_folder
from tasks.harness.errors import as_usage_error

SETTLED = 2.0  # seconds: a file that has just changed may change again without getting a new time


def checksum(path: Path, kind: str) -> str:
    """The checksum of a file, of kind "sha256" or "md5", in hexadecimal digits."""
    try:
        with as_usage_error(f"cannot read {path}"), open_regular(path, LIMIT_BYTES) as file:
            status, now = os.fstat(file.fileno()), time.time()
            key = f"{kind} {path.absolute()}"
            stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
            remembered = _read().get(key)
            if isinstance(remembered, list) and remembered[:-1] == stamp and isinstance(remembered[-1], str):
                return remembered[-1]
            found = hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
    except DamagedFile as problem:
        raise DataError(f"{path} cannot be used: {problem}") from None
    if now - max(status.st_mtime, status.st_ctime) > SETTLED:
        with contextlib.suppress(OSError):  # where nothing can be written, it is computed again
            _path().parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(_path()) as target:
                target.write(json.dumps(_read() | {key: [*stamp, found]}, indent=1).encode())
    return found


def _path() -> Path:
    return cache_folder() / "checksums.json"


def _read() -> dict:
    """What is remembered; nothing if the file is missing or damaged, for it can be computed again."""
    try:
        content = json.loads(read_regular(_path(), 2**20))
    except (OSError, ValueError, DamagedFile, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
