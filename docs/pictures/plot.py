"""Matplotlib figures as pictures of the book: reproducible SVG that works on light and dark pages.

    from docs.pictures.drawing import picture
    from docs.pictures.plot import COLORS, HEAT, Plot, new_figure

    @picture
    def learned() -> Plot:
        figure = new_figure(6, 3)  # inches
        axes = figure.subplots()
        axes.plot([0, 1], [1, 0], color=COLORS["blue"])
        axes.imshow(weights, cmap=HEAT)  # transparent to blue
        return Plot(figure, "What the plot shows, for readers who cannot see it")

Draw with COLORS (the names of docs/pictures/drawing.py) and the color map HEAT only: in the file they become names,
which have a light and a dark value.  Any other color stays as it is.  pyplot is not needed.  Images do not keep their
exact pixels from one version of Matplotlib to another; everything else does.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from docs.pictures.style import COLORS as NAMES
from docs.pictures.style import FONT, STYLE

COLORS = {name: f"#0101{i:02x}" for i, name in enumerate(NAMES, start=1)}  # placeholders, replaced in the file
HEAT = LinearSegmentedColormap.from_list("heat", [(0.23, 0.51, 0.86, 0.0), (0.23, 0.51, 0.86, 1.0)])
SETTINGS = {
    "svg.hashsalt": "minisets",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor"), "ink"
    ),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), "faint"),
}
SETTINGS = {key: COLORS.get(str(value), value) for key, value in SETTINGS.items()}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in the book's style; at most 7 inches wide."""
    matplotlib.rcParams.update(SETTINGS)
    return Figure(figsize=(width, height), layout="constrained")


@dataclass(frozen=True)
class Plot:
    """A figure, and a title for screen readers."""

    figure: Figure
    title: str

    def svg(self) -> str:
        """The whole file."""
        file = io.StringIO()
        with matplotlib.rc_context(SETTINGS):
            self.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        text = re.sub(r"<metadata>.*?</metadata>\s*", "", file.getvalue(), flags=re.S)
        text = text[text.index("<svg") :]
        for name, placeholder in COLORS.items():
            text = text.replace(placeholder, f"var(--{name})")
        text = re.sub(r"font: ([^;\"]*?px) [^;\"]*", rf"font: \1 {FONT.replace(chr(34), chr(39))}", text)
        opening, rest = text.split(">", 1)
        opening = re.sub(r'(width|height)="([\d.]+)pt"', lambda m: f'{m[1]}="{float(m[2]) * 4 / 3:.0f}"', opening)
        return (
            f'{opening} class="drawing" role="img">\n<title>{escape(self.title)}</title>\n<style>\n{STYLE}\n</style>\n'
            f'<rect class="back" width="100%" height="100%" rx="6"/>{rest}'
        )
