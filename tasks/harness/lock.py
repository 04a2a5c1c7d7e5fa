"""One process at a time in the folder of a run."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tasks.harness.errors import UsageError, as_usage_error

try:
    import fcntl
except ImportError:  # Windows has no flock: there, nothing prevents two runs in one folder
    fcntl = None

UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}  # a file system without locks


class FolderLock:
    """Held while a run writes; it ends with the process.  It also notices that the folder is no longer the same."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle: int | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        if os.name != "posix":  # elsewhere a folder cannot be opened
            yield
            return
        with as_usage_error(f"cannot write to the folder {self.path}"):
            self.handle = os.open(self.path, os.O_RDONLY)
        try:
            self._lock()
            yield
        finally:
            os.close(self.handle)
            self.handle = None

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another process is running in {self.path}; wait for it, or choose another --out"
            ) from None
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise UsageError(f"cannot lock the folder {self.path}: {error.strerror or error}") from None
            text = f"{self.path} is on a file system without locks; make sure that no other run uses this folder"
            print(f"minisets: {text}", file=sys.stderr)

    def require_same_folder(self) -> None:
        """Raise a UsageError if the locked folder was removed, or another folder is now in its place."""
        if self.handle is None:
            return
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self.path), os.fstat(self.handle)):
                return
        raise UsageError(
            f"the folder {self.path} was removed or replaced while this run was writing to it; "
            "put it back and --resume, or begin again in another --out"
        )
