"""One attempt: a function in a forked child, with limits on time and memory; and what the attempt came to.

right           the result of undamaged files, bit for bit
refused         one sentence that names the file, and nothing changed on disk
undetectable    another result, where no reader of the format could know: a pixel of a file without a checksum
wrong           anything else: a traceback, a hang, another result, far too much memory, a file lost in a refusal
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import resource
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERDICTS = ("right", "refused", "undetectable", "wrong")
SECONDS = 10.0  # every attempt takes a fraction of a second
MEMORY = 150 * 2**20  # what an attempt may use above what the process has when it begins
ADDRESSES = 3 * 2**30  # beyond this the system itself says no, before an endless file fills the machine
TRACEBACK = 70  # the exit code of an exception that nobody caught


@dataclass(frozen=True)
class Outcome:
    """The verdict on one fault: `what` was done, and `why` the verdict is as it is."""

    verdict: str
    what: str
    why: str = ""


@dataclass(frozen=True)
class Attempt:
    """What a child process left: its exit code (negative: the signal that ended it), its output and its memory."""

    code: int
    out: str
    err: str
    memory: int
    late: bool  # it had to be killed

    @property
    def problem(self) -> str:
        """Why it is wrong whatever the files hold; "" if it is not."""
        if self.late:
            return "it did not end in time"
        if self.memory > MEMORY:
            return f"it used {self.memory / 2**20:,.0f} MB"
        if "Traceback (most recent call last)" in self.err or self.code == TRACEBACK:
            return f"a traceback: {self.err.strip().splitlines()[-1] if self.err.strip() else ''}"
        return f"it ended with signal {-self.code}" if self.code < 0 else ""


def attempt(
    function: Callable[[], int], seconds: float | None = None, meanwhile: Callable[[int], Any] | None = None
) -> Attempt:
    """Run the function, which returns an exit code, in a forked child; `meanwhile` gets the child's number."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        before, deadline, late = _resident(), time.monotonic() + (seconds or SECONDS), False
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os._exit(_run(function, out.fileno(), err.fileno()))
        if meanwhile:
            meanwhile(child)
        while True:
            ended, status, used = os.wait4(child, os.WNOHANG)
            if ended:
                break
            if not late and time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                late = True
            time.sleep(0.002)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(2**20).decode(errors="backslashreplace"))
        scale = 1 if sys.platform == "darwin" else 1024
        memory = max(used.ru_maxrss * scale - before, 0)
        return Attempt(os.waitstatus_to_exitcode(status), *texts, memory, late)


def _run(function: Callable[[], int], out: int, err: int) -> int:
    """In the child: the function's exit code, with its output in two files."""
    os.dup2(out, 1), os.dup2(err, 2)
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(n, "w"), "utf-8", "backslashreplace") for n in (1, 2))
    for kind, limit in ((resource.RLIMIT_AS, ADDRESSES), (resource.RLIMIT_FSIZE, 2**28), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (limit, limit))
    code = TRACEBACK
    try:
        code = function()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    return code


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def sentence_problem(text: str, names: Iterable[str]) -> str:
    """How an error message falls short of one printable sentence that names a file; "" if it does not."""
    lines = text.strip().splitlines()
    if len(lines) != 1:
        return f"{len(lines)} lines instead of one sentence: {text[:300]!r}"
    if not lines[0].isprintable():
        return f"characters that cannot be printed: {lines[0][:300]!r}"
    if len(lines[0]) > 700:
        return f"a sentence of {len(lines[0]):,} characters: {lines[0][:300]!r}"
    if not any(name in lines[0] for name in names):
        return f"no file is named: {lines[0]!r}"
    return ""


def snapshot(folder: Path) -> dict[str, str]:
    """Every file below a folder, and what it is: the checksum of its content, or its kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[str(path.relative_to(folder))] = os.readlink(path) if stat.S_ISLNK(mode) else oct(stat.S_IFMT(mode))
    return found


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    """The names that differ between two snapshots."""
    return ", ".join(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))
