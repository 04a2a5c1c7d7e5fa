"""Chapter 13, runs: write your answers here, then run python -m pytest docs/exercises/test_ch13.py"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def generators(seed: int, purposes: Iterable[str], steps: int) -> dict[tuple[str, int], np.random.Generator]:
    """A generator for every purpose ("weights", "training", …) and every step from 0 to steps − 1.

    Each is independent of all others, and none changes if purposes or steps are added later, or their order
    changes.
    """
    raise NotImplementedError


def state_as_text(rng: np.random.Generator) -> str:
    """The state of a generator as JSON, for a checkpoint."""
    raise NotImplementedError


def restored(text: str) -> np.random.Generator:
    """A new generator that goes on from the state in the text."""
    raise NotImplementedError


def replace_file(path: Path, content: bytes) -> None:
    """Write the content to the path so that a crash at any moment leaves the old file or the new one, whole.

    If something fails, an OSError is raised and nothing else is left behind.  (The check lets os.replace and
    writing fail.)
    """
    raise NotImplementedError


def rewind(log: bytes, step: int) -> list[dict[str, Any]]:
    """The lines of a log with which a run goes on from its checkpoint of this step: those of steps up to it.

    Each line is JSON with a "step".  The last line may have been cut off by a crash: it is ignored, unless it is
    whole.
    """
    raise NotImplementedError


def standard_error(accuracy: float, sets: int) -> float:
    """The standard error of an accuracy that was measured on so many test sets."""
    raise NotImplementedError


def sets_needed(accuracy: float, difference: float) -> int:
    """The number of test sets with which a difference between two networks is twice its standard error.

    Both have about this accuracy, and each is tested on other sets.
    """
    raise NotImplementedError


def footnote(options: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    """All options that differ from the paper's, in their order: "steps 2000 (paper: 50000), style authors (paper:
    paper)".

    An option for which the paper has no value is not listed.
    """
    raise NotImplementedError
