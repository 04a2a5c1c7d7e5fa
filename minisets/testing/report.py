"""A violated property in words: the smallest sets, the permutation, both outputs, where they differ, and a cause."""

from __future__ import annotations

import textwrap

import numpy as np

from minisets.testing.causes import Cause
from minisets.testing.violation import Violation


class PropertyError(AssertionError):
    """A set function does not have a property; the message has a counterexample."""

    def __init__(self, check: str, name: str, violation: Violation, cause: Cause, note: str = "") -> None:
        super().__init__(describe(check, name, violation, cause, note))
        self.check, self.violation, self.cause = check, violation, cause


def describe(check: str, name: str, violation: Violation, cause: Cause, note: str = "") -> str:
    """The whole message; the note is about the mask, if there is one."""
    X, mask, order = violation.X, violation.mask, violation.order
    lines = [f"{name} fails check_{check}: {violation.what}"]
    shown = {"X": X} | ({} if mask is None else {"mask": mask}) | ({} if order is None else {"π": order})
    shown |= {label: y for label, y in violation.values.items() if y is not X}
    width = max(map(len, shown))
    lines += [f"  {label:{width}} = {_array(value, width + 5)}" for label, value in shown.items()]
    if note and mask is not None:
        lines.append(f"  {note}")
    if violation.place is not None and len(violation.values) == 2:
        a, b = (float(y[violation.place]) for y in violation.values.values())
        apart = f", {abs(a - b):.2g} apart; rounding explains {violation.allowed:.1e}" if np.isfinite(a - b) else ""
        lines.append(f"  first difference at {list(violation.place)}: {a:.6g} and {b:.6g}{apart}")
    return "\n".join(
        [*lines, textwrap.fill(f"looks like: {cause}", 110, initial_indent="  ", subsequent_indent="    ")]
    )


def _array(y: np.ndarray, indent: int) -> str:
    """An array as a person reads it: four digits, large ones abbreviated."""
    sizes = np.abs(y[np.isfinite(y) & (y != 0)]) if y.dtype.kind == "f" else np.ones(1)
    plain = bool(sizes.max(initial=1) < 1e4 and sizes.max(initial=0) > 1e-2)
    with np.printoptions(precision=4, suppress=plain, threshold=60, edgeitems=2, linewidth=110):
        text = str(y) if y.size else f"[] of shape {y.shape}"
    return text.replace("\n\n", "\n").replace("\n", "\n" + " " * indent)
