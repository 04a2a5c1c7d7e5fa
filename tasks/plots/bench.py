"""The figure of `minisets bench`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

KINDS = {  # label and color of a bar, from left to right
    "products": ("matrix products alone", "#bbbbbb"),
    "ours": ("ours", "#0077bb"),
    "other": ("the other checkout", "#999933"),
    "torch sdpa": ("PyTorch, SDPA", "#ee7733"),
    "torch eager": ("PyTorch, eager", "#cc3311"),
    "one thread": ("one thread", "#33bbee"),
    "textbook order": ("textbook order", "#009988"),
    "default malloc": ("default malloc", "#ee3377"),
    "plain forms": ("plain forms", "#ccbb44"),
}


def step_times(rows: list[dict[str, Any]], processor: str, threads: int) -> Figure:
    """Bars of the milliseconds per training step, grouped by network."""
    kinds = [kind for kind in KINDS if kind in rows[0]]
    width = 0.8 / len(kinds)
    figure = Figure(figsize=(max(7, 1.3 * len(rows) + 2), 4.6), layout="constrained")
    axes = figure.subplots()
    for i, kind in enumerate(kinds):
        x = np.arange(len(rows)) + (i - (len(kinds) - 1) / 2) * width
        label, color = KINDS[kind]
        axes.bar(x, [row[kind]["ms"] for row in rows], width, label=label, color=color)
    axes.set_xticks(range(len(rows)), [f"{row['name']}\nn = {row['n']:,}" for row in rows], fontsize=7)
    axes.set(yscale="log", ylabel="milliseconds per training step")
    times = [row[kind]["ms"] for row in rows for kind in kinds]
    axes.set_ylim(_round_down(min(times)), max(times) * 1.3)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:,.0f}" if ms >= 1 else f"{ms:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    cores = f"{threads} thread{'s' if threads > 1 else ''}"
    axes.set_title(
        f"Median time of a training step: forward, backward, Adam, float32\n({processor}, {cores})", fontsize=10
    )
    return figure


def _round_down(ms: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most 0.8 ms, so that the shortest bar is visible."""
    power = 10 ** math.floor(math.log10(0.8 * ms))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= 0.8 * ms)
