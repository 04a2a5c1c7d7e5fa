"""Figures of the counting of characters: sets with their answers, and accuracies."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minisets.architectures import parse
from tasks.harness.run_folder import Folder
from tasks.plots.curves import by_label, look, protocol

SETS = 6  # that the figure of sets shows
_FRAMES = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222", "#e69f00", "#994f00")


def sets(images: np.ndarray, drawn: Any, answers: dict[str, np.ndarray], title: str) -> Figure:
    """A row for each set: its images (N, 28, 28), framed in a colour for each character; beside them, the answers."""
    B, n = drawn.mask.shape
    line = 0.21  # height of a line of text, an image being 1 high and wide
    high = max(1.15, line * (len(answers) + 1) + 0.2)  # of a row
    figure = Figure(figsize=(0.78 * (n + 4), 0.78 * high * B + 0.5), layout="constrained")
    axes = figure.subplots()
    edges = np.cumsum(drawn.mask.sum(axis=1))[:-1]
    rows = zip(np.split(images, edges), np.split(drawn.images[:, 0], edges), drawn.counts, strict=True)
    for i, (pictures, characters, count) in enumerate(rows):
        top, kinds = -high * i, list(dict.fromkeys(characters))
        order = np.random.default_rng(i).permutation(len(pictures))  # drawn with one of each kind first
        for x, j in enumerate(order):
            place = (x + 0.06, x + 0.94, top - 0.94, top - 0.06)
            axes.imshow(1 - pictures[j], cmap="gray", vmin=0, vmax=1, interpolation="nearest", extent=place)
            color = _FRAMES[kinds.index(characters[j]) % len(_FRAMES)]
            axes.add_patch(Rectangle((x + 0.06, top - 0.94), 0.88, 0.88, fill=False, edgecolor=color, linewidth=2))
        axes.text(n + 0.15, top - line, f"{count} different", fontsize=9, weight="bold", va="center")
        for k, (label, found) in enumerate(answers.items(), 2):
            text = f"{label}: {int(found[i])}   (λ = {found[i]:.2f})"
            color = "#117733" if int(found[i]) == count else "#bb2222"
            axes.text(n + 0.15, top - k * line, text, fontsize=8, va="center", color=color)
    axes.set(xlim=(0, n + 4), ylim=(-high * B, 0), aspect="equal")
    axes.axis("off")
    figure.suptitle(f"{title}\nframes: the characters; green: right, red: wrong", fontsize=10)
    return figure


def inducing_points(runs: list[Folder]) -> Figure | None:
    """The paper's figure: accuracy of ISAB (m) + PMA against m, other architectures as horizontal lines."""
    scores = {label: [_metrics(run)["Accuracy"] for run in group] for label, group in by_label(runs).items()}
    points = {parse(label).m: heights for label, heights in scores.items() if _is_isab(label)}
    if not points:
        return None
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes, m = figure.subplots(), sorted(points)
    for i in m:
        axes.plot([i] * len(points[i]), points[i], linestyle="", marker="o", markersize=4, alpha=0.5, color="#0077bb")
    axes.plot(m, [np.mean(points[i]) for i in m], color="#0077bb", linewidth=1.6, label="ISAB (m) + PMA")
    for label, heights in scores.items():
        if not _is_isab(label):
            axes.axhline(np.mean(heights), **look(label), linewidth=1.2)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="inducing points m", ylabel="accuracy", xticks=m, xticklabels=m)
    axes.grid(alpha=0.25)
    axes.set_title(protocol(runs), fontsize=8)
    figure.legend(loc="outside right center", fontsize=8)
    figure.suptitle("Accuracy against the number of inducing points", fontsize=11)
    return figure


def _is_isab(label: str) -> bool:
    return parse(label).encoder == "isab" and parse(label).pooling == "pma"


def accuracy_by_count(runs: list[Folder]) -> Figure:
    """The accuracy against the true number of characters, the mean over seeds."""
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.subplots()
    for label, group in by_label(runs).items():
        curves = [_metrics(run)["Accuracy of count"] for run in group]
        counts = sorted(map(int, set.intersection(*(set(curve) for curve in curves))))
        heights = np.array([[curve[str(c)] for c in counts] for curve in curves])
        axes.plot(counts, heights.mean(axis=0), **look(label), linewidth=1.5)
    axes.set(xlabel="different characters in the set", ylabel="accuracy", xticks=counts, ylim=(0, 1.02))
    axes.set_title(protocol(runs), fontsize=8)
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right center", fontsize=8)
    figure.suptitle("Accuracy against the number of different characters", fontsize=11)
    return figure


def _metrics(run: Folder) -> dict[str, Any]:
    return run.outcome()["metrics"]
