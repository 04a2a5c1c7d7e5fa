"""Errors that the command line reports as one sentence, without a traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class UsageError(Exception):
    """A request that cannot be met: one sentence, exit code 2."""


class Diverged(Exception):
    """A run that cannot continue because its loss or its weights are no longer finite: exit code 1."""


class Interrupted(Exception):
    """A run that was stopped by Ctrl-C or SIGTERM after saving its state: exit code 130."""


@contextlib.contextmanager
def as_usage_error(what: str) -> Iterator[None]:
    """Turn an OSError into a UsageError that starts with `what`: as_usage_error(f"cannot read {path}")."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what}: {error.strerror or error}") from None
