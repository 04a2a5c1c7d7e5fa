"""Figures in the plane: sets of points with their mixtures or clusters, and where attention goes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from scipy.optimize import linear_sum_assignment

from tasks.harness.run_folder import RunFolder
from tasks.metrics.mixtures import Mixture, assign
from tasks.plots.curves import COMPONENTS, Examples, Plot, first_examples, protocol

FAINT = 0.01  # a component of smaller weight is plotted faintly
IN_THE_PAPER = ("rFF + Pooling", "SAB + Pooling", "rFF + PMA", "SAB + PMA")  # the networks of its figure


# ---- mixtures -------------------------------------------------------------------------------------------------------


def mixtures(examples: Examples) -> Plot:
    """The paper's figure: test sets in columns, a row for each architecture, the true mixtures last.

    If the four networks of the paper's figure are among the runs, it shows those alone.
    """

    def plot(runs: list[RunFolder]) -> Figure | None:
        shown = first_examples(runs, examples)
        if not shown:
            return None
        labels = IN_THE_PAPER if shown.keys() >= set(IN_THE_PAPER) else shown.keys()
        rows = {f"{label}{_scores(shown[label][0])}": (shown[label][1], "found") for label in labels}
        rows["the true mixtures"] = next(iter(shown.values()))[1], "true"
        columns = max(len(arrays["X"]) for arrays, _ in rows.values())
        figure = _grid_figure(columns, len(rows), 1.45)
        grid = figure.subplots(len(rows), columns, squeeze=False)
        for line, (label, (arrays, kind)) in zip(grid, rows.items(), strict=True):
            for i, (axes, X, mask) in enumerate(zip(line, arrays["X"], arrays["mask"], strict=False)):
                _mixture(axes, X[mask], _one(arrays, kind, i), _one(arrays, "true", i))
            line[0].set_title(label, loc="left", fontsize=9)
        cross = Line2D([], [], linestyle="", marker="x", color="black", markersize=5, label="center of a component")
        ring = Line2D([], [], color="#666666", label="its 2σ ellipse")
        faint = Line2D([], [], color="#666666", alpha=0.3, label=f"a component with π < {FAINT}")
        figure.legend(handles=[cross, ring, faint], loc="outside lower center", ncols=3, fontsize=8, frameon=False)
        figure.suptitle(f"Ten test sets, colored by component ({protocol(runs)})", fontsize=10)
        return figure

    return plot


def _scores(run: RunFolder) -> str:
    metrics = run.result()["metrics"] if run.finished() else {}
    return "".join(f"   {name} {metrics[name]:.3f}" for name in ("LL0", "LL1") if name in metrics).replace("-", "−")


def _one(arrays: dict[str, np.ndarray], kind: str, i: int) -> Mixture:
    return Mixture(*(arrays[f"{kind}_{part}"][i : i + 1] for part in ("log_pi", "mu", "sigma")))


def _mixture(axes: Axes, points: np.ndarray, mixture: Mixture, truth: Mixture) -> None:
    """Points (n, 2) in the color of their component, with centers and 2σ ellipses."""
    found, true = (assign(points[None], one)[0] for one in (mixture, truth))
    names = _matched(found, true, max(len(mixture.mu[0]), len(truth.mu[0])))
    colors = [COMPONENTS[j % len(COMPONENTS)] for j in names]
    axes.scatter(*points.T, s=5, c=[colors[j] for j in found], linewidths=0, rasterized=True)
    for j, (pi, mu, sigma) in enumerate(zip(np.exp(mixture.log_pi[0]), mixture.mu[0], mixture.sigma[0], strict=True)):
        alpha = 1.0 if pi >= FAINT else 0.3
        axes.add_patch(Ellipse(mu, *(4 * sigma), fill=False, edgecolor=colors[j], linewidth=1.2, alpha=alpha))
        axes.plot(*mu, marker="x", color="black", markersize=5, markeredgewidth=1.2, alpha=alpha)
    _fit(axes, points)


def _matched(found: np.ndarray, true: np.ndarray, k: int) -> np.ndarray:
    """For each found cluster, the true one that shares the most points with it, one to one: (k,)"""
    together = np.zeros((k, k))
    np.add.at(together, (found, true), 1)
    return linear_sum_assignment(-together)[1]


def _fit(axes: Axes, points: np.ndarray) -> None:
    """A square view of all points, with some room around them."""
    middle, half = (points.max(axis=0) + points.min(axis=0)) / 2, 0.56 * np.ptp(points, axis=0).max() + 1e-9
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    axes.set(xticks=[], yticks=[], aspect="equal")


def _grid_figure(columns: int, rows: int, size: float) -> Figure:
    figure = Figure(figsize=(size * columns, (size + 0.17) * rows + 0.8), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    return figure


# ---- clusters of vectors, in the plane that separates them best -----------------------------------------------------


def labeled_points(examples: Examples) -> Plot:
    """Test sets in columns, a row for each architecture, each point in the color of its cluster; the classes last."""

    def plot(runs: list[RunFolder]) -> Figure | None:
        shown = first_examples(runs, examples)
        if not shown:
            return None
        rows = {
            f"{label}   ARI0 of these sets {arrays['ari'].mean():.3f}": (arrays, arrays["found"])
            for label, (_, arrays) in shown.items()
        }
        arrays = next(iter(shown.values()))[1]
        rows["the true classes"] = arrays, arrays["labels"]
        columns = max(len(arrays["plane"]) for arrays, _ in rows.values())
        figure = _grid_figure(columns, len(rows), 1.9)
        grid = figure.subplots(len(rows), columns, squeeze=False)
        for line, (label, (arrays, clusters)) in zip(grid, rows.items(), strict=True):
            for axes, points, mask, found, true in zip(
                line, arrays["plane"], arrays["mask"], clusters, arrays["labels"], strict=False
            ):
                names = _matched(found[mask], true[mask], 1 + int(max(found.max(), true.max())))
                colors = [COMPONENTS[names[j] % len(COMPONENTS)] for j in found[mask]]
                axes.scatter(*points[mask].T, s=6, c=colors, linewidths=0, rasterized=True)
                _fit(axes, points[mask])
            line[0].set_title(label, loc="left", fontsize=9)
        figure.suptitle(f"Six test sets, colored by cluster ({protocol(runs)})", fontsize=10)
        return figure

    return plot


def separating_plane(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Points (n, d) as (n, 2): along the two directions in which the class means differ most."""
    means = np.stack([x[labels == c].mean(axis=0) for c in np.unique(labels)])
    _, _, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return (x - means.mean(axis=0)) @ directions[:2].T


# ---- attention ------------------------------------------------------------------------------------------------------


def inducing_points(examples: Examples) -> Plot:
    """What each inducing point of the last ISAB attends to on the first test set, averaged over heads."""

    def plot(runs: list[RunFolder]) -> Figure | None:
        for label, (run, arrays) in first_examples(runs, examples).items():
            if "attention" in arrays:
                title = f"Attention of the inducing points of the last ISAB, {label} ({protocol([run])})"
                return attention(arrays["X"][0][arrays["mask"][0]], arrays["attention"], title, "point")
        return None

    return plot


def attention(X: np.ndarray, weights: np.ndarray, title: str, name: str) -> Figure:
    """A panel for each query: the points X (n, 2), darker and larger the more weight (queries, n) they get."""
    count, n = weights.shape
    columns = min(count, 8)
    rows = -(-count // columns)
    most = max(2.0, float(np.quantile(weights * n, 0.99)))  # the end of the color scale
    figure = Figure(figsize=(1.6 * columns, 1.75 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for i, axes in enumerate(panels):
        if i >= count:
            axes.set_axis_off()
            continue
        share = weights[i] * n  # 1: the weight of a point under uniform attention
        order = np.argsort(share)  # the heaviest on top
        size = 4 + 24 * np.minimum(share[order] / most, 1)
        look = {"c": share[order], "s": size, "cmap": "viridis_r", "vmin": 0, "vmax": most}
        dots = axes.scatter(*X[order].T, **look, linewidths=0, rasterized=True)  # as vectors they would be huge
        axes.set_title(f"{name} {i + 1}", fontsize=7, pad=2)
        _fit(axes, X)
    bar = figure.colorbar(dots, ax=panels.tolist(), shrink=0.7, pad=0.01, extend="max")
    bar.set_label("weight × n", fontsize=8)
    figure.suptitle(title, fontsize=10)
    return figure
