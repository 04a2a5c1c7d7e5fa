"""Unpacking untrusted archives safely: zip, tar and tar.gz.

Only regular files and folders are created, and only inside the target folder: links, devices, absolute paths and ".."
are refused, and so is an archive with too many bytes or files.  Everything is unpacked into a temporary folder next to
the target and renamed at the end, so a crash or a bad archive leaves nothing that looks like data.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import lzma
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from tasks.data.locations import DataError, lock

LIMIT_BYTES, LIMIT_FILES = 16 * 2**30, 400_000  # the largest data set has 10 GB; CelebA has 202,599 files
READ_ERRORS = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error)
READ_ERRORS += (EOFError, NotImplementedError, RuntimeError, ValueError, KeyError, IndexError, OverflowError)


@contextlib.contextmanager
def as_data_error(path: Path) -> Iterator[None]:
    """Turn whatever Python's readers raise on a damaged archive into a DataError that names it."""
    try:
        yield
    except (*READ_ERRORS, OSError) as error:
        # Other errno values are not the archive's fault (a full disk, for example); EINVAL comes from a bad seek.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = str(error) or type(error).__name__
        raise DataError(f"{path} is damaged or truncated ({reason}); download it again") from None


@dataclass(frozen=True)
class Member:
    """A file or folder inside an archive."""

    name: str
    size: int
    is_folder: bool
    unsupported: str  # "" for a regular file or folder, otherwise what it is: "a link"
    open: Callable[[], Any]


def unpack(
    archive: Path, into: Path, *, limit_bytes: int = LIMIT_BYTES, limit_files: int = LIMIT_FILES,
    progress: Callable[[int], object] = lambda size: None,
) -> None:  # fmt: skip
    """Unpack the folder of the archive that has the name of `into`; it appears as `into` once it is complete."""
    temporary = into.with_name(f".{into.name}.unpacking")
    with open(archive, "rb") as file:
        lock(file, f"another process is unpacking {archive}; wait for it")
        if into.exists():
            raise DataError(f"{into} already exists; remove it to unpack {archive} again")
        shutil.rmtree(temporary, ignore_errors=True)  # from a process that was killed
        temporary.mkdir(parents=True)
        try:
            with as_data_error(archive):
                _unpack(archive, temporary, limit_bytes, limit_files, progress)
            if not (temporary / into.name).is_dir():
                raise DataError(f"{archive} contains no folder {into.name}; it is not the expected file")
            os.rename(temporary / into.name, into)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _unpack(archive: Path, folder: Path, limit_bytes: int, limit_files: int, progress: Callable) -> None:
    bytes_left = limit_bytes
    for count, member in enumerate(members(archive), 1):
        if count > limit_files:
            raise DataError(f"{archive} contains more than {limit_files:,} files; it is not the data set")
        if member.unsupported:
            raise DataError(f"{archive} contains {member.unsupported}, {member.name!r}; it was not unpacked")
        path = folder / safe_path(archive, member.name)
        try:
            (path if member.is_folder else path.parent).mkdir(parents=True, exist_ok=True)
            if member.is_folder:
                continue
            with member.open() as source, open(path, "xb") as target:
                while block := source.read(min(2**20, bytes_left + 1)):  # counts the actual bytes: the header may lie
                    bytes_left -= len(block)
                    if bytes_left < 0:
                        raise DataError(f"{archive} unpacks to more than {limit_bytes:,} bytes; it is not the data set")
                    target.write(block)
                    progress(len(block))
                if target.tell() != member.size:
                    raise EOFError(f"{member.name} has {target.tell():,} of {member.size:,} bytes")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise DataError(f"{archive} contains {member.name!r} twice; it was not unpacked") from None


def safe_path(archive: Path, name: str) -> PurePosixPath:
    """The relative path of a member; DataError if it could lead outside the target folder."""
    path = PurePosixPath(name)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in name
    if unsafe or not path.parts or any(len(part.encode("utf-8", "surrogateescape")) > 255 for part in path.parts):
        raise DataError(f"{archive} contains {name!r}, a path that could lead outside its folder; it was not unpacked")
    return path


def members(archive: Path) -> Iterator[Member]:
    """The members of a zip, tar or tar.gz archive, in its order."""
    with open(archive, "rb") as file:
        start = file.read(6)
        file.seek(0)
        if start[:2] == b"PK":
            yield from _zip(file)
        else:
            yield from _tar(gzip.GzipFile(fileobj=file) if start[:2] == b"\x1f\x8b" else file)


def _zip(file: BinaryIO) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            other = "a link" if kind == stat.S_IFLNK else "" if kind in (0, stat.S_IFREG, stat.S_IFDIR) else "a device"
            other = "an encrypted file" if info.flag_bits & 1 else other
            yield Member(info.orig_filename, info.file_size, info.is_dir(), other, lambda i=info: archive.open(i))


def _tar(file: Any) -> Iterator[Member]:
    with tarfile.open(fileobj=_LimitedReads(file), mode="r:") as archive:
        for info in archive:
            other = "a link" if info.islnk() or info.issym() else "" if info.isfile() or info.isdir() else "a device"
            other = "a sparse file" if info.issparse() else other
            yield Member(info.name, info.size, info.isdir(), other, lambda i=info: archive.extractfile(i))


class _LimitedReads(io.RawIOBase):
    """A file that refuses very large reads: a tar header can claim a file name of any length."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= 2**24:
            raise tarfile.ReadError("a header claims too many bytes")
        return self.file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()
