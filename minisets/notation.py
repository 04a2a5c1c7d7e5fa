"""How the paper writes runs of layers."""

from __future__ import annotations

import itertools


def layers_in_words(name: str, widths: tuple[int, ...], last: str | None) -> str:
    """The paper's notation for a run of layers, equal ones counted: "FC(64, ReLU) × 3, FC(64, –)"."""
    each = [f"{name}({d}, {'–' if last is None and i + 1 == len(widths) else 'ReLU'})" for i, d in enumerate(widths)]
    runs = [(text, len(list(group))) for text, group in itertools.groupby(each)]
    return ", ".join(f"{text} × {count}" if count > 1 else text for text, count in runs)
