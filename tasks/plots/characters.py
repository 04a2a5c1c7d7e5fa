"""Figures of counting characters: sets with the networks' outputs, and accuracies."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minisets.labels import parse
from tasks.harness.run_folder import RunFolder
from tasks.plots.curves import Examples, Plot, by_label, first_examples, line_style, protocol

SETS = 6  # shown in the figure of sets
_FRAMES = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222", "#e69f00", "#994f00")
_LINE = 0.21  # height of a line of text; an image is 1 high and 1 wide


def sets(examples: Examples) -> Plot:
    """Test sets with their true counts, and the output of a network of each architecture."""

    def plot(runs: list[RunFolder]) -> Figure | None:
        shown = first_examples(runs, examples)
        if not shown:
            return None
        arrays = next(iter(shown.values()))[1]
        outputs = {label: found["rates"] for label, (_, found) in shown.items()}
        (B, n), height = arrays["mask"].shape, max(1.15, _LINE * (len(outputs) + 1) + 0.2)
        figure = Figure(figsize=(0.78 * (n + 4), 0.78 * height * B + 0.7), layout="constrained")
        axes = figure.subplots()
        edges = np.cumsum(arrays["mask"].sum(axis=1))[:-1]
        rows = zip(np.split(arrays["pictures"], edges), np.split(arrays["characters"], edges), strict=True)
        for i, (pictures, kinds) in enumerate(rows):
            _images(axes, -height * i, pictures, kinds, np.random.default_rng(i))
            _outputs(axes, n + 0.15, -height * i, arrays["counts"][i], {name: r[i] for name, r in outputs.items()})
        axes.set(xlim=(0, n + 4), ylim=(-height * B, 0), aspect="equal")
        axes.axis("off")
        explained = "a frame color for each character; green: correct, red: wrong"
        figure.suptitle(f"Test sets ({protocol(runs)})\n{explained}", fontsize=10)
        return figure

    return plot


def _images(axes: Axes, top: float, pictures: np.ndarray, kinds: np.ndarray, rng: np.random.Generator) -> None:
    """The images of one set in random order, each framed in the color of its character."""
    names = list(dict.fromkeys(kinds))
    for x, j in enumerate(rng.permutation(len(pictures))):
        place = (x + 0.06, x + 0.94, top - 0.94, top - 0.06)
        axes.imshow(255 - pictures[j], cmap="gray", vmin=0, vmax=255, interpolation="nearest", extent=place)
        color = _FRAMES[names.index(kinds[j]) % len(_FRAMES)]
        axes.add_patch(Rectangle((x + 0.06, top - 0.94), 0.88, 0.88, fill=False, edgecolor=color, linewidth=2))


def _outputs(axes: Axes, x: float, top: float, count: int, rates: dict[str, float]) -> None:
    axes.text(x, top - _LINE, f"{count} different", fontsize=9, weight="bold", va="center")
    for k, (label, rate) in enumerate(rates.items(), 2):
        color = "#117733" if int(rate) == count else "#bb2222"
        text = f"{label}: {int(rate)}   (λ = {rate:.2f})"
        axes.text(x, top - k * _LINE, text, fontsize=8, va="center", color=color)


def inducing_points(runs: list[RunFolder]) -> Figure | None:
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
            axes.axhline(np.mean(heights), **line_style(label), linewidth=1.2)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="inducing points m", ylabel="accuracy", xticks=m, xticklabels=m)
    axes.grid(alpha=0.25)
    axes.set_title(protocol(runs), fontsize=8)
    figure.legend(loc="outside right center", fontsize=8)
    figure.suptitle("Accuracy against the number of inducing points", fontsize=11)
    return figure


def _is_isab(label: str) -> bool:
    return parse(label).encoder == "isab" and parse(label).pooling == "pma"


def _metrics(run: RunFolder) -> dict[str, Any]:
    return run.result()["metrics"]
