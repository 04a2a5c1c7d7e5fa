"""The figure of `minisets bench --scaling`: speedup against the number of processes, measured and by the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from tasks.bench.cost_model import Network, Row, TwoProcesses, costs_of, predicted

MOST = 1_024  # processes
BATCHES = {1: "#0077bb", 8: "#ee7733", 64: "#009988"}  # times the paper's batch, and the color
TICKS = (1, 4, 16, 64, 256, 1_024)


def figure(stored: dict[str, Any]) -> Figure:
    """A panel for each experiment."""
    rows, cluster = stored["rows"], Network(**stored["cluster"])
    columns = min(4, len(rows))
    lines = -(-len(rows) // columns)
    plotted = Figure(figsize=(3.1 * columns + 0.6, 2.75 * lines + 1.5), layout="constrained")
    panels = plotted.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(rows) :]:
        axes.set_visible(False)
    for axes, row in zip(panels.flat, rows, strict=False):
        panel(axes, row, TwoProcesses(stored["sums"]), cluster)
    for axes in panels[:, 0]:
        axes.set_ylabel("speedup")
    for i, axes in enumerate(panels.flat[: len(rows)]):
        if i + columns >= len(rows):
            axes.set_xlabel("processes P")
            axes.xaxis.set_tick_params(labelbottom=True)
    machine, (latency, bandwidth) = stored["machine"], (cluster.latency * 1e6, cluster.bandwidth / 1e9)
    plotted.suptitle(
        "Speedup of a training step that P processes share: measured with P = 1 and 2, a model beyond\n"
        f"(measured: {machine['processor']}, {machine['cores']} cores, one thread per process; "
        f"model: a network of {latency:g} µs and {bandwidth:g} GB/s)",
        fontsize=10,
    )
    handles, labels = panels[0, 0].get_legend_handles_labels()
    plotted.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return plotted


def panel(axes: Axes, row: Row, here: TwoProcesses, cluster: Network) -> None:
    costs, B = costs_of(row), row["batch"]
    P = 2 ** np.arange(11)
    axes.axvspan(2.6, 2 * MOST, color="#000000", alpha=0.05, linewidth=0)
    axes.plot(P, P, color="#999999", linewidth=0.8, label="P times as fast")
    axes.plot(P, P / 2, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)), label="half of that (efficiency 50 %)")
    for times, color in BATCHES.items():
        shared = sorted({int(p) for p in P if p <= times * B} | {min(times * B, MOST)})
        speedups = [costs.speedup(p, times * B, cluster) for p in shared]
        text = "model: the paper's batch B, up to P = B" if times == 1 else f"model: batch {times} B"
        axes.plot(shared, speedups, color=color, linewidth=1.5, label=text)
        if times * B < MOST:
            axes.plot(shared[-1:], speedups[-1:], color=color, marker="o", markersize=3.5)
    model = [1, predicted(row, 1, here) / predicted(row, 2, here)]
    axes.plot([1, 2], model, color="black", linewidth=0, marker="o", fillstyle="none", label="model: this machine")
    measured = [1, row["measured"]["1"] / row["measured"]["2"]]
    axes.plot([1, 2], measured, color="black", linewidth=0, marker="x", markersize=6, label="measured on this machine")
    axes.set(xscale="log", yscale="log", xlim=(0.85, 1_400), ylim=(0.5, 1_400))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(NullLocator())
        axis.set_ticks(TICKS, [f"{tick:,}" for tick in TICKS])
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    axes.set_title(f"{row['name']}, B = {B}\n{row['network']}", fontsize=8.5)
    axes.text(0.97, 0.03, "model", transform=axes.transAxes, ha="right", fontsize=7.5, color="#666666", style="italic")
