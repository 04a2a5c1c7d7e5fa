"""Where data sets lie on this machine: one folder, $MINISETS_DATA or else ~/.cache/minisets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from tasks.harness.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows has no flock; two processes on one file are then the user's business
    fcntl = None


class DataError(UsageError):
    """A data set that is absent, damaged or not what was expected: one sentence that names the file."""


def data_folder() -> Path:
    """The folder that holds all data sets; it need not exist."""
    return Path(os.environ.get("MINISETS_DATA") or "~/.cache/minisets").expanduser()


def locate(*names: str) -> Path | None:
    """The first of these names, relative to the data folder, that exists there: locate("omniglot/images.zip")."""
    paths = (data_folder() / name for name in names)
    return next((path for path in paths if path.exists()), None)


def cache_folder() -> Path:
    """Where to keep what was made from data sets: beside them, or in ~/.cache/minisets if nobody is to write there."""
    beside = data_folder()
    if beside.is_dir() and not (
        beside.stat().st_mode & 0o222 and os.access(beside, os.W_OK)
    ):  # root can, but should not
        return Path("~/.cache/minisets/prepared").expanduser()
    return beside / "prepared"


def lock(file: IO, otherwise: str) -> None:
    """Hold an open file until it is closed, or refuse if another process holds it."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(otherwise) from None
