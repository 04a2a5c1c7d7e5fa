"""Shuffle, duplicate, pad: changes of a set that must not change what a set network answers.

Softmax attention and means do not notice that every element is listed twice; a sum does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.play.messages import BadMessage, Message, flag, whole


@dataclass(frozen=True)
class Change:
    """What is done to a set before it is shown to the network a second time."""

    shuffle: int  # the seed of the order; 0: as it was
    duplicate: bool  # list every element twice
    pad: bool  # add elements of nan, masked out

    def __bool__(self) -> bool:
        return bool(self.shuffle or self.duplicate or self.pad)

    def apply(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The set (n, d) changed, and its mask."""
        n, d = X.shape
        mask = None
        if self.duplicate:
            X = np.concatenate([X, X])
        if self.pad:
            garbage = max(4, n // 4)
            X, mask = np.concatenate([X, np.full((garbage, d), np.nan)]), np.arange(len(X) + garbage) < len(X)
        if self.shuffle:
            order = np.random.default_rng(self.shuffle).permutation(len(X))
            X, mask = X[order], mask if mask is None else mask[order]
        return X, mask


def change(message: Message) -> Change:
    wanted = message.get("change", {})
    if not isinstance(wanted, dict):
        raise BadMessage("'change' must be an object with shuffle, duplicate and pad")
    return Change(whole(wanted, "shuffle", 0, 2**31, 0), flag(wanted, "duplicate"), flag(wanted, "pad"))


def difference(before: dict[str, np.ndarray], after: dict[str, np.ndarray], change: Change, n: int) -> dict[str, Any]:
    """The largest change of any output, and whether it is zero to rounding in single precision."""
    largest = max(float(np.abs(after[name] - before[name]).max()) for name in before)
    size = max(float(np.abs(before[name]).max()) for name in before)
    words = ["in another order"] if change.shuffle else []
    words += [f"each of {n:,} twice"] if change.duplicate else []
    words += [f"with {max(4, n // 4):,} masked elements of nan"] if change.pad else []
    return {"largest": largest, "zero": largest <= 1e-4 * (1 + size), "what": ", ".join(words)}
