"""Unpacking archives that nobody has to trust: zip, tar and tar.gz.

Only plain files and folders are made, under names that stay inside; links, devices, absolute names and ".." are
refused, and so is more than a limit on bytes or files.  All of it goes into a temporary folder beside the place it is
meant for, and takes its name at the end: a crash or a bad archive leaves nothing that looks like data.
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

LIMIT_BYTES, LIMIT_FILES = 16 * 2**30, 400_000  # the largest data set here has 10 GB, the one with most files 202,599
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error)
DAMAGE += (EOFError, NotImplementedError, RuntimeError, ValueError, KeyError, IndexError, OverflowError)


@contextlib.contextmanager
def damage(path: Path) -> Iterator[None]:
    """Whatever a broken archive makes Python's readers raise, as one sentence that names it."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (
            None,
            errno.EINVAL,
        ):  # a full disk, say; EINVAL: a bad seek
            raise
        raise DataError(f"{path} is damaged or cut off ({str(error) or type(error).__name__}); get it again") from None


@dataclass(frozen=True)
class Member:
    """A file or folder inside an archive."""

    name: str
    size: int
    folder: bool
    odd: str  # what it is, if it is something else: "a link"
    open: Callable[[], Any]


def unpack(
    archive: Path, into: Path, *, limit_bytes: int = LIMIT_BYTES, limit_files: int = LIMIT_FILES,
    progress: Callable[[int], object] = lambda size: None,
) -> None:  # fmt: skip
    """Unpack the folder named like `into` that the archive holds, and let it appear as `into` when it is whole."""
    temporary = into.with_name(f".{into.name}.unpacking")
    with open(archive, "rb") as file:
        lock(file, f"another process is unpacking {archive}; wait for it")
        if into.exists():
            raise DataError(f"{into} is there already; remove it to unpack {archive} again")
        shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
        temporary.mkdir(parents=True)
        try:
            with damage(archive):
                _unpack(archive, temporary, limit_bytes, limit_files, progress)
            if not (temporary / into.name).is_dir():
                raise DataError(f"{archive} holds no folder {into.name}; it is another file than was expected")
            os.rename(temporary / into.name, into)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _unpack(archive: Path, folder: Path, limit_bytes: int, limit_files: int, progress: Callable) -> None:
    left = limit_bytes
    for count, member in enumerate(members(archive), 1):
        if count > limit_files:
            raise DataError(f"{archive} holds more than {limit_files:,} files; that is not the data set")
        if member.odd:
            raise DataError(f"{archive} holds {member.odd}, {member.name!r}; it was not unpacked")
        path = folder / safe(archive, member.name)
        try:
            (path if member.folder else path.parent).mkdir(parents=True, exist_ok=True)
            if member.folder:
                continue
            with member.open() as source, open(path, "xb") as target:
                while block := source.read(min(2**20, left + 1)):  # what is there counts, not what the header says
                    left -= len(block)
                    if left < 0:
                        raise DataError(
                            f"{archive} unpacks to more than {limit_bytes:,} bytes; that is not the data set"
                        )
                    target.write(block)
                    progress(len(block))
                if target.tell() != member.size:
                    raise EOFError(f"{member.name} has {target.tell():,} of {member.size:,} bytes")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise DataError(f"{archive} holds {member.name!r} twice; it was not unpacked") from None


def safe(archive: Path, name: str) -> PurePosixPath:
    """A member's name, or a refusal if it could lead anywhere but inside."""
    path = PurePosixPath(name)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in name
    if unsafe or not path.parts or any(len(part.encode("utf-8", "surrogateescape")) > 255 for part in path.parts):
        raise DataError(f"{archive} holds {name!r}, a name that could lead outside of its folder; it was not unpacked")
    return path


def members(archive: Path) -> Iterator[Member]:
    """What is inside, whatever the kind of archive, in its own order."""
    with open(archive, "rb") as file:
        start = file.read(6)
        file.seek(0)
        if start[:2] == b"PK":
            yield from _zip(file)
        else:
            yield from _tar(gzip.GzipFile(fileobj=file) if start[:2] == b"\x1f\x8b" else file)


def _zip(file: BinaryIO) -> Iterator[Member]:
    with zipfile.ZipFile(file) as opened:
        for one in opened.infolist():
            kind = stat.S_IFMT(one.external_attr >> 16)
            odd = "a link" if kind == stat.S_IFLNK else "" if kind in (0, stat.S_IFREG, stat.S_IFDIR) else "a device"
            odd = "an encrypted file" if one.flag_bits & 1 else odd
            yield Member(one.orig_filename, one.file_size, one.is_dir(), odd, lambda one=one: opened.open(one))


def _tar(file: Any) -> Iterator[Member]:
    with tarfile.open(fileobj=_Careful(file), mode="r:") as opened:
        for one in opened:
            odd = "a link" if one.islnk() or one.issym() else "" if one.isfile() or one.isdir() else "a device"
            odd = "a sparse file" if one.issparse() else odd
            yield Member(one.name, one.size, one.isdir(), odd, lambda one=one: opened.extractfile(one))


class _Careful(io.RawIOBase):
    """A file from which nobody reads too much at once: a tar header can ask for a name of any length."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= 2**24:
            raise tarfile.ReadError("a header that asks for too much")
        return self.file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()
