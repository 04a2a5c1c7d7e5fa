"""Files that are written whole or not at all, and read only if they are what they should be.

Writing is atomic.  Reading trusts nothing: a path may lead to a pipe that never ends, and an .npz archive of a few
kilobytes may claim to hold gigabytes.  So only regular files are opened, and sizes are compared before memory is
allocated.  Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


class DamagedFile(Exception):
    """A file that is not what it should be; the message says how it differs, and fits after "PATH is damaged: "."""


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
    sync_folder(path.parent)


def sync_folder(path: str | os.PathLike) -> None:
    """Make the names in a folder survive a power failure, on systems that can sync a folder."""
    with contextlib.suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def open_regular(path: str | os.PathLike, most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading; DamagedFile for a pipe, a device or a larger file.

    A symbolic link to a regular file is followed.
    """
    # Opening a pipe without O_NONBLOCK (which Windows lacks) would wait for somebody to write to it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFile("it is not a regular file")
        if status.st_size > most:
            raise DamagedFile(f"it has {status.st_size:,} bytes, more than the {most:,} it could need")
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: str | os.PathLike, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes."""
    with open_regular(path, most) as file:
        content = file.read(most + 1)
    if len(content) > most:  # it has grown since it was opened
        raise DamagedFile(f"it has more than {most:,} bytes")
    return content


def read_npy(file: Any, size: int) -> np.ndarray:
    """The array in .npy format that fills `size` bytes, from the file's position on; DamagedFile if it does not."""
    shape, column_major, dtype, header = npy_header(file)
    length = math.prod(shape) * dtype.itemsize
    if header + length != size:
        raise DamagedFile(f"an array claims {length:,} bytes where there are {size - header:,}")
    content = file.read(length)
    if len(content) != length:
        raise DamagedFile(f"an array has {len(content):,} of its {length:,} bytes")
    return np.frombuffer(bytearray(content), dtype).reshape(shape, order="F" if column_major else "C")


def npy_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, whether it is in column-major order, dtype, and length in bytes of the header of an .npy file."""
    start = file.tell()
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, column_major, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, column_major, dtype = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError
    except Exception:  # the header is a Python literal: a damaged one can fail in any part of Python's parser
        raise DamagedFile("the header of an array is not one that NumPy writes") from None
    if dtype.hasobject or any(length < 0 for length in shape):
        raise DamagedFile(f"an array has the dtype {dtype} and the shape {shape}")
    return shape, column_major, dtype, file.tell() - start


def read_npz(path: str | os.PathLike, most: int) -> dict[str, np.ndarray]:
    """The arrays of an .npz file that unpack to at most `most` bytes in all; DamagedFile for anything else."""
    with open_regular(path, most) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
                total = sum(entry.file_size for entry in entries)
                if total > most:
                    raise DamagedFile(f"it unpacks to {total:,} bytes, more than the {most:,} it could need")
                names = [entry.filename.removesuffix(".npy") for entry in entries]
                if len(set(names)) < len(names):
                    raise DamagedFile("it has two arrays of the same name")
                arrays = {}
                for name, entry in zip(names, entries, strict=True):
                    with archive.open(entry) as content:
                        arrays[name] = read_npy(content, entry.file_size)
                        content.read(1)  # at the end of an entry its checksum is compared
                return arrays
        except (DamagedFile, MemoryError):
            raise
        except Exception:  # a damaged archive can break zipfile in a dozen ways
            raise DamagedFile("it is not an archive of arrays") from None
