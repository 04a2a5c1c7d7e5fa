"""The figure of the runtime benchmark."""

from __future__ import annotations

from matplotlib.figure import Figure

from tasks.harness.run_folder import RunFolder
from tasks.plots.curves import plain_ticks


def runtime_figure(runs: list[RunFolder]) -> Figure:
    """The supplement's figure, with memory beside it; of several runs, the last."""
    about, result = runs[-1].manifest(), runs[-1].result()["metrics"]
    sets = about["options"]["sets"]
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, label, color in (("SAB", "SAB(64, 8)", "#cc3311"), ("ISAB", "ISAB₄(64, 8)", "#0077bb")):
        points = [p for p in result["points"] if p["block"] == name]
        n, dots = [p["n"] for p in points], {"color": color, "marker": "o", "markersize": 3}
        for key, text, style in (("both", "forward and backward", "-"), ("forward", "forward", ":")):
            fit = (
                f", grows as $n^{{{result[f'{name} time']:.2f}}}$" if key == "both" and f"{name} time" in result else ""
            )
            left.plot(n, [p[key] * sets for p in points], style, **dots, label=f"{label} {text}{fit}")
        fit = f", grows as $n^{{{result[f'{name} memory']:.2f}}}$" if f"{name} memory" in result else ""
        right.plot(n, [p["memory"] / 2**20 for p in points], "-", **dots, label=f"{label}{fit}")
    left.set(xlabel="size of the set", ylabel=f"seconds for {sets:,} sets", xscale="log", yscale="log")
    right.set(xlabel="size of the set", ylabel="peak memory of one set (MiB)", xscale="log", yscale="log")
    for axes in (left, right):
        plain_ticks(axes)
        axes.grid(alpha=0.25)
        axes.set_ylim(top=axes.get_ylim()[1] * 12)  # room for the legend
        axes.legend(fontsize=8, loc="upper left")
    device = about["machine"]["processor"] if about["options"]["device"] == "cpu" else about["options"]["device"]
    figure.suptitle(f"Runtime of one block on sets of zeros ({device}, {about['options']['dtype']})", fontsize=10)
    return figure
