"""Atomic file writes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a new file for writing, which replaces `path` once it is completely on disk.

    It is written beside the old file under a temporary name.  A crash at any moment leaves either the old file or the
    new one; an error leaves the old file and removes the temporary one.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.unfinished")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # on disk before it is renamed
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    with contextlib.suppress(OSError):  # the new name too, on systems that can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
