"""The figure of set anomaly detection: sets of faces, the odd one and the network's choice."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from tasks.harness.run_folder import RunFolder
from tasks.plots.curves import Examples, Plot, first_examples, protocol


def sets(examples: Examples) -> Plot:
    """The paper's figure, for the last architecture of the table: a row for each set, with its shared attributes."""

    def plot(runs: list[RunFolder]) -> Figure | None:
        shown = first_examples(runs, examples)
        if not shown:
            return None
        label, (run, arrays) = list(shown.items())[-1]
        rows, n = arrays["images"].shape[:2]
        figure = Figure(figsize=(8.6, 0.85 * rows + 1.2), layout="constrained")
        grid = figure.subplots(rows, n, squeeze=False)
        for line, images, odd, chosen, shared in zip(
            grid, arrays["images"], arrays["odd"], arrays["chosen"], arrays["shared"], strict=True
        ):
            for i, (axes, image) in enumerate(zip(line, images, strict=True)):
                _face(axes, image, odd=i == odd, chosen=i == chosen)
            text = "\n".join(str(name).replace("_", " ") for name in shared)
            line[-1].text(1.12, 0.5, text, transform=line[-1].transAxes, va="center", fontsize=9)
        frame = Patch(facecolor="none", edgecolor="#dd1111", linewidth=2, label="the one without the two attributes")
        dot = Line2D([], [], linestyle="", marker="o", color="white", markeredgecolor="black", label="chosen")
        figure.legend(handles=[frame, dot], loc="outside lower center", ncols=2, fontsize=8, frameon=False)
        title = f"{label} chooses the odd one in {float(arrays['accuracy']):.0%} of all test sets"
        figure.suptitle(f"{title}\n({protocol([run])})", fontsize=9)
        return figure

    return plot


def _face(axes: Axes, image, odd: bool, chosen: bool) -> None:
    axes.imshow(image.transpose(1, 2, 0))
    axes.axis("off")
    if odd:
        frame = {"transform": axes.transAxes, "fill": False, "edgecolor": "#dd1111", "linewidth": 4}
        axes.add_patch(Rectangle((0, 0), 1, 1, clip_on=False, **frame))
    if chosen:
        dot = {"color": "white", "markeredgecolor": "black", "markersize": 8}
        axes.plot(0.12, 0.86, "o", transform=axes.transAxes, **dot)
