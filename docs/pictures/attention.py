"""Pictures of chapter 5: the worked example, heads, masks, and attention over a plane."""

import numpy as np

from docs.pictures.drawing import Drawing, picture
from docs.pictures.plot import COLORS, HEAT, Plot, new_figure

KIND, AMOUNT = np.array([1.0, 1.0, -1.0]), np.array([2.0, 4.0, 9.0])  # the set of chapter 5


def number(x: float, digits: int = 0) -> str:
    return f"{x:.{digits}f}".replace("-", "−")


def softmax(s: np.ndarray) -> np.ndarray:
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@picture
def attention_worked() -> Drawing:
    d = Drawing(
        520, 410, "The first of three elements attends to the set: keys, scores, weights, values, weighted mean"
    )
    scores = 2 * KIND[0] * KIND
    weights = softmax(scores)
    rows = {"elements": 34, "keys": 104, "scores": 180, "weights": 256, "values": 312}
    for name, y in rows.items():
        d.text(14, y, name, anchor="start", color="faint")
    out = d.box(320, 376, f"weighted mean: {number(weights @ AMOUNT, 3)}", kind="result")
    for j, x in enumerate((190, 320, 450)):
        element = d.box(x, rows["elements"], f"*x*_{{{j + 1}}} = ({number(KIND[j])}, {number(AMOUNT[j])})")
        key = d.box(x, rows["keys"], number(KIND[j]), kind="op", width=64)
        score = d.box(x, rows["scores"], number(scores[j]), kind="plain", width=64)
        weight = d.cells(
            x - 28, rows["weights"] - 24, 1, 1, size=56, values=[[weights[j]]], labels=[[number(weights[j], 3)]]
        )
        d.arrow(element, key)
        d.arrow(key, score)
        d.text(x + 10, (rows["keys"] + rows["scores"]) / 2, "× query 2", anchor="start", size=12, color="orange")
        d.arrow(score, weight)
        d.text(x, rows["values"], f"× {number(AMOUNT[j])}")
        d.arrow((x, rows["values"] + 13), (x + (out.x - x) * 0.42, out.top - 2))
    d.text(14, (rows["scores"] + rows["weights"]) / 2, "softmax", anchor="start", size=13)
    return d


@picture
def attention_heads() -> Drawing:
    d = Drawing(
        540, 400, "The d features are cut into h = 4 groups; each head attends on its own; then they are joined"
    )
    hues, size, n = ("blue", "orange", "green", "purple"), 20, 4
    left = 270 - 4 * size

    def whole(top: float) -> list:
        return [
            d.cells(left + 2 * size * j, top, n, 2, size=size, values=[[0.5, 0.5]] * n, color=hues[j]) for j in range(4)
        ]

    top = whole(24)
    bottom = whole(296)
    for j, x in enumerate((84, 208, 332, 456)):
        head = d.cells(x - size, 144, n, 2, size=size, values=[[0.5, 0.5]] * n, color=hues[j])
        box = d.box(x, 252, f"Att_{{{j + 1}}}", kind="op", size=14)
        d.arrow((top[j].x, top[j].bottom), (x, head.top - 3), color=hues[j])
        d.arrow(head, box, color=hues[j])
        d.arrow(box, (bottom[j].x, bottom[j].top - 3), color=hues[j])
    d.text(left + 8 * size + 14, 64, "(n, d)", anchor="start", color="faint")
    d.text(456 + size + 10, 184, "(n, d/h)", anchor="start", color="faint", size=14)
    d.text(left + 8 * size + 14, 336, "(n, d), then W^{O}", anchor="start", color="faint")
    d.text(left - 14, 64, "X W^{Q}", anchor="end")
    d.text(left - 14, 336, "concat", anchor="end")
    return d


@picture
def attention_mask() -> Drawing:
    d = Drawing(540, 462, "Masked scores become minus infinity and get no weight; zeroed keys get some")
    scores = np.concatenate([2 * np.outer(KIND, KIND), np.zeros((3, 2))], axis=1)
    masked = np.where(np.arange(5) < 3, scores, -np.inf)

    def row(top: float, scores: np.ndarray, title: str, color: str) -> None:
        size = 44
        d.text(20, top - 42, title, anchor="start", color=color, bold=True)
        labels = [["−∞" if np.isinf(s) else number(s) for s in line] for line in scores]
        d.cells(20, top, 3, 5, size=size, labels=labels)
        weights = softmax(scores)
        shown = [[number(p, 2) if p else "0" for p in line] for line in weights]
        right = d.cells(300, top, 3, 5, size=size, values=weights, labels=shown)
        d.arrow((244, top + 66), (296, top + 66))
        d.text(270, top + 52, "softmax", size=12, color="faint")
        for left in (20, 300):
            for j in range(5):
                text = f"*x*_{{{j + 1}}}" if j < 3 else "pad"
                d.text(left + (j + 0.5) * size, top - 13, text, size=13, color="faint")
        wrong = weights[:, 3:].sum(axis=1)
        d.text(
            right.right,
            right.bottom + 16,
            f"weight on padding: {number(wrong[0], 2)}, {number(wrong[1], 2)}, {number(wrong[2], 2)}",
            anchor="end",
            size=13,
            color=color,
        )

    row(68, masked, "scores masked", "green")
    row(300, scores, "keys multiplied by the mask", "red")
    return d


@picture
def attention_plane() -> Plot:
    keys = np.array([[2.6, 2.2], [1.4, 1.2], [0.5, 0.2], [-1.0, 1.8], [-2.0, -1.0], [1.8, -1.5], [0.2, 2.4]])
    query, r = np.array([1.2, 0.8]), 3.0
    axis = np.linspace(-r, r, 60)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    scores = {
        "score qᵀk": lambda k: k @ query,
        "score −½ |q − k|²": lambda k: -((k - query) ** 2).sum(axis=-1) / 2,
    }
    figure = new_figure(6, 3.3)
    for axes, (title, score) in zip(figure.subplots(1, 2), scores.items(), strict=True):
        field, weights = np.exp(score(grid) - score(grid).max()), softmax(score(keys))
        axes.imshow(field, cmap=HEAT, origin="lower", extent=(-r, r, -r, r), vmin=0, vmax=1, interpolation="bilinear")
        axes.scatter(
            *keys.T, s=10 + 260 * weights, color=COLORS["orange"], edgecolor=COLORS["ink"], linewidth=0.8, zorder=3
        )
        for k, p in zip(keys, weights, strict=True):
            if p > 0.02:
                away = 5 + 8 * np.sqrt(p)
                left = k[0] > 2
                place = {"xytext": (-away if left else away, 0), "ha": "right" if left else "left", "va": "center"}
                axes.annotate(f"{p:.2f}", k, textcoords="offset points", fontsize=10, **place)
        axes.annotate(
            "", query, (0, 0), arrowprops={"arrowstyle": "->", "color": COLORS["ink"], "shrinkA": 0, "shrinkB": 0}
        )
        axes.annotate("q", query / 2, xytext=(-4, 6), textcoords="offset points", ha="center", fontsize=11)
        axes.set(xlim=(-r, r), ylim=(-r, r), xticks=(), yticks=(), aspect="equal")
        axes.set_title(title, fontsize=11)
    return Plot(figure, "Attention weights over the plane for a dot product and for a distance")
