"""Reading the files of a data set, which may be anything: every failure is a DataError that names the file."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import BinaryIO

from minisets.files import DamagedFile, open_regular
from tasks.data.locations import DataError


def open_file(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes."""
    try:
        return open_regular(path, most)
    except DamagedFile as error:
        raise DataError(f"cannot read {path}: {error}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def read_file(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes."""
    with open_file(path, most) as file:
        try:
            return file.read(most)
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def excerpt(text: str) -> str:
    """The beginning of a text from a file, quoted, so that a message stays one short line."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def read_text(path: Path, most: int) -> str:
    try:
        return read_file(path, most).decode()
    except UnicodeDecodeError:
        raise DataError(f"{path} is damaged: it is not text") from None


def read_lines(path: Path, most: int) -> list[str]:
    """The lines of a text file that are not empty; DataError if there are none."""
    lines = [line.strip() for line in read_text(path, most).splitlines() if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty")
    return lines


def read_list(path: Path, most: int, pattern: str, expected: str) -> list[str]:
    """The pattern's group in each line, never the same twice; DataError for a line that does not match."""
    found = []
    for line in read_lines(path, most):
        match = re.fullmatch(pattern, line)
        if not match or len(match[1]) > 100:
            raise DataError(f"{path} should list {expected}, but has {excerpt(line)}")
        found.append(match[1])
    name, times = Counter(found).most_common(1)[0]
    if times > 1:
        raise DataError(f"{path} lists {name} {times:,} times")
    return found
