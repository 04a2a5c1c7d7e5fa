"""The figure of `minisets bench`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tasks.plots.curves import plain_ticks

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


def figure(rows: list[dict[str, Any]], about: dict[str, Any]) -> Figure:
    """Bars of the milliseconds per training step, grouped by network; `about` has the machine and the threads."""
    kinds = [kind for kind in KINDS if kind in rows[0]]
    width = 0.8 / len(kinds)
    plotted = Figure(figsize=(max(7, 1.3 * len(rows) + 2), 4.6), layout="constrained")
    axes = plotted.subplots()
    for i, kind in enumerate(kinds):
        x = np.arange(len(rows)) + (i - (len(kinds) - 1) / 2) * width
        label, color = KINDS[kind]
        axes.bar(x, [row[kind]["ms"] for row in rows], width, label=label, color=color)
    axes.set_xticks(range(len(rows)), [f"{row['name']}\nn = {row['n']:,}" for row in rows], fontsize=7)
    axes.set(yscale="log", ylabel="milliseconds per training step")
    times = [row[kind]["ms"] for row in rows for kind in kinds]
    axes.set_ylim(_round_down(min(times)), max(times) * 1.3)
    plain_ticks(axes)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    plotted.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    machine = about["machine"]
    threads = f"{about['threads']} threads" if "threads" in about else f"{machine['cores']} cores"
    title = "Median time of a training step: forward, loss, backward, Adam, float32"
    axes.set_title(f"{title}\n({machine['processor']}, {threads})", fontsize=10)
    return plotted


def _round_down(ms: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most 0.8 ms, so that the shortest bar is visible."""
    power = 10 ** math.floor(math.log10(0.8 * ms))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= 0.8 * ms)
