"""What the figures share: a line style for each architecture, the examples of runs, and learning curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, StrMethodFormatter

from minisets.labels import parse
from tasks.harness.errors import UsageError
from tasks.harness.options import data_used, deviations
from tasks.harness.records import NUMBER
from tasks.harness.run_folder import RunFolder

COMPONENTS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")  # safe for color blindness

_ENCODERS = {"rff": "#444444", "rffp-mean": "#aa7722", "rffp-max": "#ccaa22", "sab": "#cc3311", "isab": "#0077bb"}
_POOLINGS = {"pma": "-", "dotprod": ":", "pooling": "--"}
_POOLING_KINDS = {"mean": "#444444", "sum": "#aa7722", "max": "#228833"}
_BLUES = {1: "#88ccaa", 2: "#44aa99", 4: "#117766", 8: "#99aaee", 16: "#66bbee", 32: "#0077bb", 64: "#003366"}  # by m
_REDS = {1: "#cc3311", 2: "#ee7733", 4: "#ee3377", 8: "#882255"}  # by the number of seeds after SABs


Examples = Callable[[Any, Any], dict[str, Any]]  # (config, trained network) -> the arrays that a figure shows
Plot = Callable[[list[RunFolder]], Figure | None]


def line_style(label: str) -> dict[str, Any]:
    """Color by encoder (and kind of pooling), dashes by pooling, so that thirteen curves can be told apart."""
    try:
        row = parse(label)
    except ValueError:  # not an architecture of the paper: a color that its name decides
        return {"color": COMPONENTS[sum(label.encode()) % len(COMPONENTS)], "label": label}
    seeds = _REDS.get(row.k) if row.encoder == "sab" else None
    color = _POOLING_KINDS.get(row.kind) or _BLUES.get(row.m) or seeds or _ENCODERS[row.encoder]
    return {"color": color, "linestyle": _POOLINGS[row.pooling], "label": label}


def by_label(runs: list[RunFolder]) -> dict[str, list[RunFolder]]:
    """Runs of each architecture, in the order of the paper's table."""
    groups: dict[str, list[RunFolder]] = {}
    for run in runs:
        groups.setdefault(getattr(run.options(), "arch", run.experiment.name), []).append(run)
    order = runs[0].experiment.rows
    return dict(sorted(groups.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def first_examples(runs: list[RunFolder], examples: Examples) -> dict[str, tuple[RunFolder, dict[str, np.ndarray]]]:
    """For each architecture, the first run whose examples are there, and these examples."""
    found = {}
    for label, group in by_label(runs).items():
        for run in group:
            shown = run.examples(examples)
            if shown is not None:
                found[label] = run, shown
                break
    return found


def protocol(runs: list[RunFolder]) -> str:
    """How the runs were trained, for a title: presets, steps, and the data where there is a choice."""
    kinds = set()
    for run in runs:
        config = run.options()
        style, data = getattr(config, "style", ""), data_used(config)
        preset, steps = run.manifest()["preset"], getattr(config, "steps", None)
        changed = " (changed)" if preset == "paper" and deviations(config) else ""
        parts = [
            f"preset {preset}{changed}",
            f"{steps:,} steps" if steps else "",
            f"style {style}" if style else "",
            data,
        ]
        kinds.add(", ".join(filter(None, parts)))
    return "; ".join(sorted(kinds))


def learning_curves(
    panels: dict[str, tuple[str, float]], *, scale: str = "linear", references: dict[str, str] | None = None
) -> Callable[[list[RunFolder]], Figure]:
    """A figure of metrics against steps: one panel per metric, given its axis label and a factor.

    References are metrics of the result, such as the oracle's, plotted as horizontal lines.
    """

    def plot(runs: list[RunFolder]) -> Figure:
        figure = Figure(figsize=(5.2 * len(panels) + 2.4, 4.2), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        result = next((run.result()["metrics"] for run in runs if run.finished()), {})
        known = {text: result[key] for text, key in (references or {}).items() if key in result}
        for axis, (name, (title, factor)) in zip(axes, panels.items(), strict=True):
            curves = [_curve(axis, label, group, name, factor) for label, group in by_label(runs).items()]
            for text, height in known.items():
                axis.axhline(height, color="#999999", linewidth=1, label=text)
            later = np.concatenate([curve[len(curve) // 10 :] for curve in curves])
            if scale == "linear" and len(later):  # the first steps are far off and would compress the rest
                low, high = min([*later, *known.values()]), max([*later, *known.values()])
                axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low) + 1e-9)
            axis.set(xlabel="step", ylabel=title, yscale=scale)
            axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            plain_ticks(axis)
            axis.grid(alpha=0.25)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", fontsize=8)
        figure.suptitle(f"Learning curves\n({protocol(runs)})", fontsize=10)
        return figure

    return plot


def _curve(axis: Axes, label: str, runs: list[RunFolder], name: str, factor: float) -> np.ndarray:
    """Plot the mean over seeds as a line and the range as a band; returns the mean."""
    curves = [{line["step"]: line[name] for line in run.metrics() if name in line} for run in runs]
    steps = sorted(set.intersection(*(set(curve) for curve in curves)))
    heights = factor * np.array([[curve[step] for step in steps] for curve in curves])  # (seeds, steps)
    style = line_style(label)
    marker = {"marker": "o", "markersize": 4} if len(steps) < 3 else {}  # a line through one point is invisible
    axis.plot(steps, heights.mean(axis=0), **style, **marker, linewidth=1.4)
    if len(curves) > 1:
        axis.fill_between(
            steps, heights.min(axis=0), heights.max(axis=0), color=style["color"], alpha=0.15, linewidth=0
        )
    return heights.mean(axis=0)


def metric_against(name: str, xlabel: str, ylabel: str, title: str, scale: str = "linear") -> Callable[..., Figure]:
    """A figure of a metric that the result has for each of several integers: mean over seeds, a dot for each seed."""

    def plot(runs: list[RunFolder]) -> Figure:
        figure = Figure(figsize=(7.6, 4.2), layout="constrained")
        axes = figure.subplots()
        for label, group in by_label(runs).items():
            curves = [_numbers_by_integer(run, name) for run in group]
            x = sorted(map(int, set.intersection(*(set(curve) for curve in curves))))
            heights = np.array([[curve[str(i)] for i in x] for curve in curves])
            style = line_style(label)
            axes.plot(x, heights.mean(axis=0), **style, linewidth=1.5)
            axes.plot(x, heights.T, linestyle="", marker="o", markersize=3, alpha=0.5, color=style["color"])
        axes.set(xlabel=xlabel, ylabel=ylabel, yscale=scale, xticks=x)
        plain_ticks(axes)
        axes.set_title(protocol(runs), fontsize=8)
        axes.grid(alpha=0.25, which="both")
        figure.legend(loc="outside right center", fontsize=8)
        figure.suptitle(title, fontsize=11)
        return figure

    return plot


def _numbers_by_integer(run: RunFolder, name: str) -> dict[str, float]:
    """A metric that has a number for each of several integers."""
    curve = run.result()["metrics"].get(name)
    if not isinstance(curve, dict) or not all(i.isdecimal() and NUMBER.accepts(value) for i, value in curve.items()):
        raise UsageError(f"{run.result_path} is not the result of a run: its {name} are not numbers")
    return curve


def plain_ticks(axes: Axes) -> None:
    """On logarithmic axes, ticks at 1, 2 and 5 times powers of ten, or at powers alone, as numbers: 0.5, not 5×10⁻¹."""
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "log":
            wide = limits[1] / limits[0] > 5e3
            axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
