"""How much there is of each data set.  One that lacks a part can be trained on, but not in silence."""

from __future__ import annotations

import sys
from pathlib import Path

COMPLETE = {  # Omniglot is not among them: its loader refuses what is incomplete
    ("cifar100", "train"): {"images": 50_000, "classes": 100},
    ("cifar100", "test"): {"images": 10_000, "classes": 100},
    ("modelnet40", "train"): {"shapes": 9_843, "classes": 40},
    ("modelnet40", "test"): {"shapes": 2_468, "classes": 40},
    ("celeba", "all"): {"images": 202_599, "attributes": 40},
}
_shown: set[str] = set()  # a run loads its data more than once


def warn_unless_complete(data: str, part: str, source: Path | str, **found: int) -> None:
    """Print one line, once, if a part of a data set does not have what it has as published."""
    expected = COMPLETE[data, part]
    wrong = [f"{found[what]:,} {what} ({count:,} expected)" for what, count in expected.items() if found[what] != count]
    text = f"minisets: warning: {source}, {part}: {' and '.join(wrong)}; results will not compare with the paper's"
    if wrong and text not in _shown:
        _shown.add(text)
        print(text, file=sys.stderr)
