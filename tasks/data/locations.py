"""Where data sets are stored on this machine: one folder, $MINISETS_DATA, or ~/.cache/minisets by default."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from tasks.harness.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows has no flock: there, nothing prevents two processes from writing the same file
    fcntl = None


class DataError(UsageError):
    """A data set that is missing, damaged or not the expected one: one sentence that names the file."""


def data_folder() -> Path:
    """The folder that holds all data sets; it need not exist."""
    return Path(os.environ.get("MINISETS_DATA") or "~/.cache/minisets").expanduser()


def locate(*names: str) -> Path | None:
    """The first of these names, relative to the data folder, that exists there: locate("omniglot/images.zip")."""
    paths = (data_folder() / name for name in names)
    return next((path for path in paths if path.exists()), None)


def cache_folder() -> Path:
    """Where to keep arrays made from data sets: next to them, or in ~/.cache/minisets if that folder is read-only."""
    folder = data_folder()
    # os.access says yes to root even where the mode forbids writing
    read_only = folder.is_dir() and not (folder.stat().st_mode & 0o222 and os.access(folder, os.W_OK))
    return Path("~/.cache/minisets/prepared").expanduser() if read_only else folder / "prepared"


def lock(file: IO, otherwise: str) -> None:
    """Lock an open file until it is closed; DataError(otherwise) if another process holds the lock."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(otherwise) from None
