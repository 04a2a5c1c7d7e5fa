"""Where data sets are stored on this machine: one folder, $MINISETS_DATA, or ~/.cache/minisets by default."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from tasks.harness.errors import UsageError, as_usage_error, printable

try:
    import fcntl
except ImportError:  # Windows has no flock: there, nothing prevents two processes from writing the same file
    fcntl = None

DEFAULT = "~/.cache/minisets"
LIMIT_BYTES = 16 * 2**30  # of a file, packed or unpacked; the largest data set has 10 GB


class DataError(UsageError):
    """A data set that is missing, damaged or not the expected one: one sentence that names the file."""


def data_folder() -> Path:
    """The folder that holds all data sets; it need not exist."""
    given = os.environ.get("MINISETS_DATA", DEFAULT)
    if not given.strip():
        raise DataError(f"MINISETS_DATA is set but empty; set it to a folder, or unset it to use {DEFAULT}")
    shown = printable(given, 300)
    try:
        folder = Path(given).expanduser()
        if folder.exists() and not folder.is_dir():
            raise DataError(f"MINISETS_DATA is {shown}, which is not a folder; set it to one")
        if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
            raise DataError(f"MINISETS_DATA is {shown}, a folder that may not be read; change that, or set another")
    except (RuntimeError, OSError) as error:  # ~nosuchuser; a folder above it that may not be read; a name too long
        reason = error.strerror if isinstance(error, OSError) else "there is no such user"
        raise DataError(f"MINISETS_DATA is {shown}, but {reason}; set it to a folder") from None
    return folder


def locate(*names: str) -> Path | None:
    """The first of these names, relative to the data folder, that exists there: locate("omniglot/images.zip")."""
    folder = data_folder()
    with as_usage_error(f"cannot read {folder}"):
        return next((folder / name for name in names if (folder / name).exists()), None)


def cache_folder() -> Path:
    """Where to keep arrays made from data sets: next to them, or in ~/.cache/minisets if that folder is read-only."""
    folder = data_folder()
    # os.access says yes to root even where the mode forbids writing
    read_only = folder.is_dir() and not (folder.stat().st_mode & 0o222 and os.access(folder, os.W_OK))
    return Path(DEFAULT, "prepared").expanduser() if read_only else folder / "prepared"


def lock(file: IO, otherwise: str) -> None:
    """Lock an open file until it is closed; DataError(otherwise) if another process holds the lock."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(otherwise) from None
