"""How much there is of each data set.  One that lacks a part can be trained on, but not in silence."""

from __future__ import annotations

from pathlib import Path

from tasks.harness.errors import warn

COMPLETE = {  # Omniglot is not among them: its loader refuses what is incomplete
    ("cifar100", "train"): {"images": 50_000, "classes": 100},
    ("cifar100", "test"): {"images": 10_000, "classes": 100},
    ("modelnet40", "train"): {"shapes": 9_843, "classes": 40},
    ("modelnet40", "test"): {"shapes": 2_468, "classes": 40},
    ("celeba", "all"): {"images": 202_599, "attributes": 40},
}


def shortfall(data: str, part: str, **found: int) -> str:
    """How much a part of a data set has that is not as published, in words; "" if all of it is."""
    expected = COMPLETE[data, part]
    wrong = [f"{found[what]:,} {what} ({count:,} expected)" for what, count in expected.items() if found[what] != count]
    return " and ".join(wrong)


def warn_unless_complete(data: str, part: str, source: Path | str, **found: int) -> None:
    """Report, once, a part of a data set that does not have what it has as published."""
    if problem := shortfall(data, part, **found):
        warn(f"{source}, {part}: {problem}; results will not compare with the paper's")
