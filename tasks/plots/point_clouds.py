"""Drawings of shapes in space, with the points that matter, and of how classes are confused."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

# All points (P, 3), those the network sees (n, 3), their weights (n,), and two names: the one given and the true one.
Shape = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, str]]

_SIDE, _ABOVE = np.radians([-60, 25])  # where we look from
RIGHT = np.array([-np.sin(_SIDE), np.cos(_SIDE), 0])  # the axes of the picture
UP = np.array([-np.cos(_SIDE) * np.sin(_ABOVE), -np.sin(_SIDE) * np.sin(_ABOVE), np.cos(_ABOVE)])


def clouds(rows: dict[str, list[Shape]], title: str) -> Figure:
    """A row of shapes for each label: points as dark and large as their weights, those not seen grey; errors in red."""
    columns = max(len(sets) for sets in rows.values())
    figure = Figure(figsize=(1.5 * columns + 0.8, 1.95 * len(rows) + 0.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    panels = figure.subplots(len(rows), columns, squeeze=False)
    most = max(2.0, float(np.quantile([w * len(w) for sets in rows.values() for _, _, w, _ in sets], 0.99)))
    for line, (label, sets) in zip(panels, rows.items(), strict=True):
        for axes, shape in zip(line, sets, strict=True):
            drawn = _cloud(axes, *shape, most)
        line[0].set_title(label, loc="left", fontsize=9)
    bar = figure.colorbar(drawn, ax=panels.ravel().tolist(), shrink=0.7, pad=0.01, extend="max")
    bar.set_label("weight of a point,\nin parts of 1/n", fontsize=7)
    figure.suptitle(title, fontsize=10)
    return figure


def _cloud(
    axes: Axes, whole: np.ndarray, X: np.ndarray, weights: np.ndarray, names: tuple[str, str], most: float
) -> PathCollection:
    share = weights * len(weights)  # 1 where a point gets no more and no less than its part
    order = np.argsort(share)  # the heavy ones on top
    scale = np.sqrt(100 / len(X)) * 6  # fewer points, larger dots
    size = scale * (0.7 + 4 * np.minimum(share[order] / most, 1))
    look = {"c": share[order], "s": size, "cmap": "viridis_r", "vmin": 0, "vmax": most}
    axes.scatter(whole @ RIGHT, whole @ UP, s=1, color="#cccccc", linewidths=0, rasterized=True)
    drawn = axes.scatter(X[order] @ RIGHT, X[order] @ UP, **look, linewidths=0, rasterized=True)
    named, true = names
    said = true if named == true else f"{named}, not {true}"
    axes.set_xlabel(said.replace("_", " "), fontsize=7, color="#222222" if named == true else "#cc3311", labelpad=2)
    axes.set(xticks=[], yticks=[], aspect="equal")
    half = 1.05 * max(np.abs(whole @ RIGHT).max(), np.abs(whole @ UP).max())
    axes.set(xlim=(-half, half), ylim=(-half, half))
    return drawn


def confusion(panels: dict[str, np.ndarray], names: list[str], title: str) -> Figure:
    """A square for each label: rows are true classes, columns named ones, dark where many of a row are."""
    k, each = len(names), max(3.2, 0.115 * len(names))
    figure = Figure(figsize=(each * len(panels) + 1.6, each + 1.4), layout="constrained")
    for i, (axes, (label, shares)) in enumerate(
        zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True)
    ):
        drawn = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        ticks = [name.replace("_", " ") for name in names]
        axes.set_xticks(range(k), ticks, rotation=90, fontsize=5 if k > 20 else 7)
        axes.set_yticks(range(k), ticks if i == 0 else [], fontsize=5 if k > 20 else 7)
        axes.tick_params(length=0)
        axes.set_title(label, fontsize=9)
    bar = figure.colorbar(drawn, ax=figure.axes, shrink=0.7, pad=0.01)
    bar.set_label("share of the true class", fontsize=8)
    figure.suptitle(title, fontsize=10)
    return figure
