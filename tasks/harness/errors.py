"""Errors that the command line reports as one sentence, without a traceback."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator


class UsageError(Exception):
    """A request that cannot be met: one sentence, exit code 2."""


class Busy(UsageError):
    """Another process is running in the folder."""


class Diverged(Exception):
    """A run that cannot continue because its loss or its weights are no longer finite: exit code 1."""


class Interrupted(Exception):
    """A run that was stopped by Ctrl-C, SIGTERM or SIGHUP after saving its state: exit code 130."""


def printable(text: object, most: int = 100) -> str:
    """Text from a file or a server as it may be shown: one line, no control characters, at most `most` characters."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


@functools.cache  # each sentence once: a run reads its data more than once
def warn(sentence: str) -> None:
    """Report what is not an error but should not pass in silence."""
    print(f"minisets: warning: {sentence}", file=sys.stderr)


@contextlib.contextmanager
def as_usage_error(what: str) -> Iterator[None]:
    """Turn an OSError into a UsageError that starts with `what`: as_usage_error(f"cannot read {path}")."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what}: {error.strerror or error}") from None
