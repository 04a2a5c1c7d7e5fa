"""Figures of shapes in space, with the points that matter, and of confused classes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from tasks.harness.run_folder import RunFolder
from tasks.plots.curves import Examples, Plot, by_label, first_examples, protocol

_AZIMUTH, _ELEVATION = np.radians([-60, 25])  # the direction of view
RIGHT = np.array([-np.sin(_AZIMUTH), np.cos(_AZIMUTH), 0])  # the axes of the picture
UP = np.array([-np.cos(_AZIMUTH) * np.sin(_ELEVATION), -np.sin(_AZIMUTH) * np.sin(_ELEVATION), np.cos(_ELEVATION)])


def clouds(examples: Examples) -> Plot:
    """A row of test shapes for each architecture: which points matter, and the predicted classes, errors in red."""

    def plot(runs: list[RunFolder]) -> Figure | None:
        shown = first_examples(runs, examples)
        if not shown:
            return None
        columns = max(len(arrays["shapes"]) for _, arrays in shown.values())
        figure = Figure(figsize=(1.5 * columns + 0.8, 1.95 * len(shown) + 0.7), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
        panels = figure.subplots(len(shown), columns, squeeze=False)
        shares = [arrays["weights"].ravel() * arrays["weights"].shape[1] for _, arrays in shown.values()]
        most = max(2.0, float(np.quantile(np.concatenate(shares), 0.99)))
        for line, (label, (run, arrays)) in zip(panels, shown.items(), strict=True):
            for i, axes in enumerate(line):
                whole, weights = arrays["shapes"][i].astype(float), arrays["weights"][i]
                dots = _cloud(axes, whole, whole[arrays["index"]], weights, most)
                _caption(axes, str(arrays["predicted"][i]), str(arrays["true"][i]))
            accuracy = f"   accuracy {run.result()['metrics']['accuracy']:.3f}" if run.finished() else ""
            line[0].set_title(label + accuracy, loc="left", fontsize=9)
        bar = figure.colorbar(dots, ax=panels.ravel().tolist(), shrink=0.7, pad=0.01, extend="max")
        bar.set_label("weight of a point × n", fontsize=7)
        explained = "weight: of PMA's seed, or the share of features whose maximum a point is"
        figure.suptitle(
            f"Predicted classes and the points that matter, {len(weights):,} points ({protocol(runs)})\n{explained}",
            fontsize=9,
        )
        return figure

    return plot


def _cloud(axes: Axes, whole: np.ndarray, X: np.ndarray, weights: np.ndarray, most: float) -> PathCollection:
    """All points (P, 3) in gray; those that the network sees (n, 3) darker and larger the more weight they have."""
    share = weights * len(weights)  # 1: the weight of a point if all were equal
    order = np.argsort(share)  # the heaviest on top
    scale = np.sqrt(100 / len(X)) * 6  # fewer points, larger dots
    size = scale * (0.7 + 4 * np.minimum(share[order] / most, 1))
    look = {"c": share[order], "s": size, "cmap": "viridis_r", "vmin": 0, "vmax": most}
    axes.scatter(whole @ RIGHT, whole @ UP, s=1, color="#cccccc", linewidths=0, rasterized=True)
    dots = axes.scatter(X[order] @ RIGHT, X[order] @ UP, **look, linewidths=0, rasterized=True)
    half = 1.05 * max(np.abs(whole @ RIGHT).max(), np.abs(whole @ UP).max())
    axes.set(xlim=(-half, half), ylim=(-half, half), xticks=[], yticks=[], aspect="equal")
    return dots


def _caption(axes: Axes, predicted: str, true: str) -> None:
    right = predicted == true
    text = true if right else f"{predicted}, not {true}"
    axes.set_xlabel(text.replace("_", " "), fontsize=7, color="#222222" if right else "#cc3311", labelpad=2)


def confusion(runs: list[RunFolder]) -> Figure:
    """For each architecture, the fractions of each true class (row) predicted as each class (column)."""
    found = {label: [run.result()["metrics"]["confusion"] for run in group] for label, group in by_label(runs).items()}
    names = sorted({name for tables in found.values() for table in tables for name in table})  # all classes are tested
    panels = {}
    for label, tables in found.items():
        counts = np.array([[sum(t.get(a, {}).get(b, 0) for t in tables) for b in names] for a in names])
        accuracy = np.trace(counts) / counts.sum()
        panels[f"{label}   accuracy {accuracy:.3f}"] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = max(3.2, 0.115 * len(names))
    figure = Figure(figsize=(size * len(panels) + 1.6, size + 1.4), layout="constrained")
    for i, (axes, (label, shares)) in enumerate(
        zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True)
    ):
        squares = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        _class_names(axes, names, rows=i == 0)
        axes.set_title(label, fontsize=9)
    bar = figure.colorbar(squares, ax=figure.axes, shrink=0.7, pad=0.01)
    bar.set_label("fraction of the true class", fontsize=8)
    figure.suptitle(f"True classes (rows) and predicted ones (columns)\n({protocol(runs)})", fontsize=9)
    return figure


def _class_names(axes: Axes, names: list[str], rows: bool) -> None:
    k, ticks = len(names), [name.replace("_", " ") for name in names]
    axes.set_xticks(range(k), ticks, rotation=90, fontsize=5 if k > 20 else 7)
    axes.set_yticks(range(k), ticks if rows else [""] * k, fontsize=5 if k > 20 else 7)
    axes.tick_params(length=0)
