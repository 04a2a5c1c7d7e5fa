"""metrics.jsonl: the log of a run, a line for each step that was logged, after a head that names the run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from minisets.files import atomic_write
from tasks.harness.errors import UsageError, as_usage_error
from tasks.harness.records import LARGEST_LOG, LOG_HEAD, LOG_LINE, digest, mismatch, parse_json, read_bytes

Line = dict[str, Any]


class MetricsLog:
    """The file; it grows by whole lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[str | None, list[Line]]:
        """The name of the run, if it has one, and the lines; a last line that a crash cut off is ignored."""
        *complete, _ = read_bytes(self.path, LARGEST_LOG).split(b"\n")
        run, lines = None, []
        for number, text in enumerate(complete, 1):
            try:
                line = parse_json(text)
                problem = mismatch(line, LOG_HEAD if number == 1 and "run" in line else LOG_LINE)
            except (ValueError, TypeError):
                problem = "something that is not JSON"
            if problem:
                raise UsageError(f"{self.path} is damaged in line {number}: it has {problem}")
            if "run" in line:
                run = line["run"]
            else:
                lines.append(line)
        return run, lines

    def write(self, run: str, lines: Iterable[Line]) -> None:
        """Replace the file, atomically."""
        text = "".join(json.dumps(line) + "\n" for line in [{"run": run}, *lines])
        with as_usage_error(f"cannot write {self.path}"), atomic_write(self.path) as file:
            file.write(text.encode())

    def append(self, line: Line) -> None:
        """Add a line, all of it or nothing."""
        with as_usage_error(f"cannot write {self.path}"), open(self.path, "ab", buffering=0) as file:
            text, before = (json.dumps(line) + "\n").encode(), file.seek(0, os.SEEK_END)
            try:
                if file.write(text) < len(text):
                    raise OSError("no room for the whole line")
                os.fsync(file.fileno())  # before the checkpoint that relies on it
            except OSError:
                file.truncate(before)
                raise


def chained(before: str, line: Line) -> str:
    """The digest of a log that has one line more: it depends on every line, and on their order."""
    return digest([before, line])


def digest_of(lines: Iterable[Line]) -> str:
    log = ""
    for line in lines:
        log = chained(log, line)
    return log
