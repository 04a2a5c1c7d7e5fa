"""Drawings on the plane: sets of points with their mixtures, and where attention goes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from tasks.metrics.mixtures import Mixture, assign
from tasks.plots.curves import COMPONENTS

Set = tuple[np.ndarray, Mixture]  # points (1, n, 2) and a mixture for them


def clusters(rows: dict[str, list[Set]], title: str) -> Figure:
    """A row of sets for each label: points in the colour of their component, centres as crosses, ellipses of 2σ."""
    columns = max(len(sets) for sets in rows.values())
    figure = Figure(figsize=(1.45 * columns, 1.62 * len(rows) + 0.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    for line, (label, sets) in zip(figure.subplots(len(rows), columns, squeeze=False), rows.items(), strict=True):
        for axes, (X, mixture) in zip(line, sets, strict=False):
            _mixture(axes, X, mixture)
        line[0].set_title(label, loc="left", fontsize=9)
    figure.suptitle(title, fontsize=10)
    return figure


def coloured(rows: dict[str, list[tuple[np.ndarray, np.ndarray]]], title: str) -> Figure:
    """A row of sets for each label: points (n, 2), each in the colour of its cluster (n,); a column is one set."""
    columns = max(len(sets) for sets in rows.values())
    figure = Figure(figsize=(1.9 * columns, 1.95 * len(rows) + 0.5), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    for line, (label, sets) in zip(figure.subplots(len(rows), columns, squeeze=False), rows.items(), strict=True):
        for axes, (points, clusters) in zip(line, sets, strict=True):
            colours = [COMPONENTS[j % len(COMPONENTS)] for j in clusters]
            axes.scatter(*points.T, s=5, c=colours, linewidths=0, rasterized=True)
            axes.set(xticks=[], yticks=[])
        line[0].set_title(label, loc="left", fontsize=9)
    figure.suptitle(title, fontsize=10)
    return figure


def _mixture(axes: Axes, X: np.ndarray, mixture: Mixture) -> None:
    axes.scatter(
        *X[0].T,
        s=1.5,
        c=[COMPONENTS[j % len(COMPONENTS)] for j in assign(X, mixture)[0]],
        linewidths=0,
        rasterized=True,
    )
    for j, (pi, mu, sigma) in enumerate(zip(np.exp(mixture.log_pi[0]), mixture.mu[0], mixture.sigma[0], strict=True)):
        color = COMPONENTS[j % len(COMPONENTS)]
        faint = 1.0 if pi > 0.01 else 0.3  # a component that hardly counts is drawn, but faintly
        axes.add_patch(Ellipse(mu, *(4 * sigma), fill=False, edgecolor=color, linewidth=1.2, alpha=faint))
        axes.plot(*mu, marker="x", color="black", markersize=5, markeredgewidth=1.2, alpha=faint)
    axes.set(xlim=(-5, 5), ylim=(-5, 5), xticks=[], yticks=[], aspect="equal")


def attention(X: np.ndarray, weights: np.ndarray, title: str, name: str) -> Figure:
    """A panel for each query: the points X (n, 2), each as dark and as large as the weight (queries, n) it is given."""
    count, n = weights.shape
    columns = min(count, 8)
    rows = -(-count // columns)
    most = max(2.0, float(np.quantile(weights * n, 0.99)))  # where the colours end
    figure = Figure(figsize=(1.6 * columns, 1.75 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for i, axes in enumerate(panels):
        axes.set(xticks=[], yticks=[], aspect="equal")
        if i >= count:
            axes.set_axis_off()
            continue
        share = weights[i] * n  # 1 where a point gets no more and no less than its part
        order = np.argsort(share)  # the heavy ones on top
        size = 4 + 24 * np.minimum(share[order] / most, 1)
        look = {"c": share[order], "s": size, "cmap": "viridis_r", "vmin": 0, "vmax": most}
        drawn = axes.scatter(*X[order].T, **look, linewidths=0, rasterized=True)  # an SVG of all dots would be huge
        axes.set_title(f"{name} {i + 1}", fontsize=7, pad=2)
        axes.set(xlim=(-5, 5), ylim=(-5, 5))
    bar = figure.colorbar(drawn, ax=panels.tolist(), shrink=0.7, pad=0.01, extend="max")
    bar.set_label("weight, in parts of 1/n", fontsize=8)
    figure.suptitle(title, fontsize=10)
    return figure
