"""One process at a time in the folder of a run."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tasks.harness.errors import Busy, UsageError, as_usage_error

try:
    import fcntl
except ImportError:  # Windows has no flock: there, nothing prevents two runs in one folder
    fcntl = None

MOMENTS = 5  # how often to try: another process may hold the lock for a moment, only to see whether it is free
UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}  # a file system without locks


class FolderLock:
    """Held while a run writes; it ends with the process.  It also notices that the folder is no longer the same."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle: int | None = None

    @contextlib.contextmanager
    def held(self, *, shared: bool = False) -> Iterator[None]:
        """Keep others out; all who share a lock hold it together."""
        if os.name != "posix":  # elsewhere a folder cannot be opened
            yield
            return
        with as_usage_error(f"cannot write to the folder {self.path}"):
            self.handle = os.open(self.path, os.O_RDONLY)
        try:
            self._lock(shared)
            yield
        finally:
            os.close(self.handle)
            self.handle = None

    def is_held(self) -> bool:
        """Whether a process holds the lock now; False where that cannot be known."""
        if fcntl is None:
            return False
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except OSError:  # there is no such folder, or none that could be locked
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        finally:
            os.close(handle)  # and with it the lock
        return False

    def _lock(self, shared: bool) -> None:
        if fcntl is None:
            return
        try:
            for moment in range(MOMENTS):
                try:
                    fcntl.flock(self.handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if moment == MOMENTS - 1:
                        raise
                    time.sleep(0.02)
        except BlockingIOError:
            raise Busy(f"another process is running in {self.path}; wait for it, or choose another --out") from None
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
