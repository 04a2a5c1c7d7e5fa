"""Unpacking untrusted archives safely: zip, tar and tar.gz.

Only regular files and folders are created, and only inside the target folder: links, devices, absolute paths and ".."
are refused, and so is an archive with too many bytes or files.  Everything is unpacked into a temporary folder next to
the target, written to the disk and renamed at the end, so a crash or a bad archive leaves nothing that looks like data.

An archive is read to its end, where tar has a mark and gzip a checksum of everything before it.
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

from minisets.files import DamagedFile, open_regular, sync_folder
from tasks.data.locations import LIMIT_BYTES, DataError, lock
from tasks.harness.errors import printable

LIMIT_FILES = 400_000  # CelebA has 202,599
TAR_BLOCK = 512  # bytes; a block of zeros ends the archive
READ_ERRORS = (DamagedFile, zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error)
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
        reason = printable(str(error) or type(error).__name__)
        raise DataError(f"{path} is damaged or truncated ({reason}); remove it and download it again") from None


@dataclass(frozen=True)
class Member:
    """A file or folder inside an archive."""

    name: str
    size: int
    is_folder: bool
    unsupported: str  # "" for a regular file or folder, otherwise what it is: "a link"
    open: Callable[[], Any]

    def blocks(self) -> Iterator[bytes]:
        """Its content, in pieces; EOFError if that is not as long as its header says."""
        count = 0
        with self.open() as file:
            while count <= self.size and (block := file.read(2**20)):
                count += len(block)
                yield block
        if count != self.size:
            raise EOFError(f"{self.name} has {count:,} of {self.size:,} bytes")


def unpack(
    archive: Path, into: Path, *, limit_bytes: int = LIMIT_BYTES, limit_files: int = LIMIT_FILES,
    progress: Callable[[int], object] = lambda size: None,
) -> None:  # fmt: skip
    """Unpack the folder of the archive that has the name of `into`; it appears as `into` once it is complete."""
    temporary = into.with_name(f".{into.name}.unpacking")
    with as_data_error(archive), open_regular(archive, LIMIT_BYTES) as file:
        lock(file, f"another process is unpacking {archive}; wait for it")
        if into.exists():
            raise DataError(f"{into} already exists; remove it to unpack {archive} again")
        shutil.rmtree(temporary, ignore_errors=True)  # from a process that was killed
        temporary.mkdir(parents=True)
        try:
            _unpack(archive, temporary, limit_bytes, limit_files, progress)
            if not (temporary / into.name).is_dir():
                raise DataError(f"{archive} contains no folder {into.name}; it is not the expected file")
            _sync(temporary / into.name)
            os.rename(temporary / into.name, into)
            sync_folder(into.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _unpack(archive: Path, folder: Path, limit_bytes: int, limit_files: int, progress: Callable) -> None:
    bytes_left = limit_bytes
    for member in members(archive, limit_files):
        name = printable(member.name)
        if member.unsupported:
            raise DataError(f"{archive} contains {member.unsupported}, '{name}'; it was not unpacked")
        path = folder / safe_path(archive, member.name)
        try:
            (path if member.is_folder else path.parent).mkdir(parents=True, exist_ok=True)
            if member.is_folder:
                continue
            with open(path, "xb") as target:
                for block in member.blocks():  # counts the actual bytes: the header may lie
                    bytes_left -= len(block)
                    if bytes_left < 0:
                        raise DataError(f"{archive} unpacks to more than {limit_bytes:,} bytes; it is not the data set")
                    target.write(block)
                    progress(len(block))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise DataError(f"{archive} contains '{name}' twice; it was not unpacked") from None


def _sync(folder: Path) -> None:
    """Write everything in the folder to the disk."""
    for path, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(path, name), "rb+") as file:
                os.fsync(file.fileno())
        sync_folder(path)


def safe_path(archive: Path, name: str) -> PurePosixPath:
    """The relative path of a member; DataError if it could lead outside the target folder."""
    path = PurePosixPath(name)
    unsafe = path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in name
    if unsafe or not path.parts or any(len(part.encode("utf-8", "surrogateescape")) > 255 for part in path.parts):
        raise DataError(
            f"{archive} contains '{printable(name)}', a path that could lead outside its folder; it was not unpacked"
        )
    return path


def members(archive: Path, limit: int = LIMIT_FILES) -> Iterator[Member]:
    """The members of a zip, tar or tar.gz archive, in its order."""
    with open_regular(archive, LIMIT_BYTES) as file:
        start = file.read(2)
        file.seek(0)
        found = _zip(file) if start == b"PK" else _tar(gzip.GzipFile(fileobj=file) if start == b"\x1f\x8b" else file)
        for count, member in enumerate(found):
            if count == limit:
                raise DataError(f"{archive} contains more than {limit:,} files; it is not the data set")
            yield member


def _zip(file: BinaryIO) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        file.seek(max(file.seek(0, os.SEEK_END) - 2**16 - 22, 0))
        _, mark, end = file.read().rpartition(b"PK\5\6")  # the record at the end, which has the number of entries
        count = int.from_bytes(end[6:8], "little")
        if not mark or count not in (len(entries) % 2**16, 2**16 - 1):  # the largest number refers to Zip64
            raise zipfile.BadZipFile(f"it lists {len(entries):,} files instead of {count:,}")
        for info in entries:
            kind = stat.S_IFMT(info.external_attr >> 16)
            other = "a link" if kind == stat.S_IFLNK else "" if kind in (0, stat.S_IFREG, stat.S_IFDIR) else "a device"
            other = "an encrypted file" if info.flag_bits & 1 else other
            yield Member(info.orig_filename, info.file_size, info.is_dir(), other, lambda i=info: archive.open(i))


def _tar(file: Any) -> Iterator[Member]:
    limited = _LimitedReads(file)
    with tarfile.open(fileobj=limited, mode="r:") as archive:
        for info in archive:
            other = "a link" if info.islnk() or info.issym() else "" if info.isfile() or info.isdir() else "a device"
            other = "a sparse file" if info.issparse() else other
            yield Member(info.name, info.size, info.isdir(), other, lambda i=info: archive.extractfile(i))
    if limited.last != bytes(TAR_BLOCK):  # tarfile takes whatever is not a header for the end
        raise tarfile.ReadError("it breaks off before the mark at its end")
    padding = 0
    while block := limited.read(2**16):  # up to the end, where gzip compares its checksum
        padding += len(block)
        if padding > 2**20:
            raise tarfile.ReadError("too much follows the mark at its end")


class _LimitedReads(io.RawIOBase):
    """A file that refuses very large reads and seeks: a tar header can claim any length of a name or file."""

    def __init__(self, file: Any) -> None:
        self.file, self.last = file, b""

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= 2**24:
            raise tarfile.ReadError("a header claims too many bytes")
        self.last = self.file.read(size)
        return self.last

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if offset > LIMIT_BYTES:
            raise tarfile.ReadError("a header claims too many bytes")
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()
