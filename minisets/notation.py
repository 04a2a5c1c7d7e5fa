"""The paper's notation for a sequence of layers."""

from __future__ import annotations

import itertools


def layer_notation(name: str, widths: tuple[int, ...], last: str | None) -> str:
    """A sequence of layers in the paper's notation, repeats counted: "FC(64, ReLU) × 3, FC(64, –)"."""
    layers = [f"{name}({d}, {'–' if last is None and i + 1 == len(widths) else 'ReLU'})" for i, d in enumerate(widths)]
    runs = [(text, len(list(group))) for text, group in itertools.groupby(layers)]
    return ", ".join(f"{text} × {count}" if count > 1 else text for text, count in runs)
