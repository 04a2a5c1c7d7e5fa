"""examples.npz: the arrays that the figures of a run show."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from minisets.files import DamagedFile, read_npz
from tasks.harness.errors import UsageError, as_usage_error


class Examples(dict):
    """The arrays of the file by name; one that is missing is reported as what it is, an outdated file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with as_usage_error(f"cannot read {path}"):
            try:
                super().__init__(read_npz(path, most=2**30))
            except DamagedFile as error:
                raise UsageError(f"{path} is damaged: {error}; delete it to have it computed again") from None
        self.run = str(self.pop("run")) if "run" in self else None  # files of earlier versions do not have it

    def __missing__(self, name: str) -> np.ndarray:
        raise UsageError(f"{self.path} has no {name!r}: it is out of date; delete it to have it computed again")


def packed(run: str, arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of the file."""
    content = io.BytesIO()
    np.savez_compressed(content, run=np.array(run), **arrays)
    return content.getvalue()
