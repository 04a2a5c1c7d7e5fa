"""Pictures of chapter 1: which parts of two networks see each other, and explaining away."""

import numpy as np

from docs.pictures.drawing import Drawing, picture


@picture
def who_sees_whom() -> Drawing:
    d = Drawing(690, 300, "What depends on what: in Deep Sets, and in a Set Transformer")
    elements, outputs = [60 + 45 * i for i in range(5)], [105, 150, 195]

    def column(x: float, heights: list[float], color: str) -> list[tuple[float, float]]:
        for y in heights:
            d.dot(x, y, 6, color=color)
        return [(x, y) for y in heights]

    def join(left: list[tuple[float, float]], right: list[tuple[float, float]], color: str = "faint") -> None:
        for x0, y0 in left:
            for x1, y1 in right:
                d.line((x0 + 9, y0), (x1 - 9, y1), color=color, width=0.9)

    def labels(texts: dict[float, str]) -> None:
        for x, text in texts.items():
            d.text(x, 278, text, size=19, color="faint")

    d.text(165, 22, "Deep Sets", bold=True, size=19)
    X, Z = column(30, elements, "blue"), column(120, elements, "gray")
    for a, b in zip(X, Z, strict=True):
        join([a], [b])
    pooled, Y = column(210, [150], "gray"), column(300, outputs, "green")
    join(Z, pooled)
    join(pooled, Y)
    labels({75: "φ", 165: "mean", 255: "ρ"})

    with d.group(x=360):
        d.text(165, 22, "Set Transformer", bold=True, size=19)
        X, Z = column(30, elements, "blue"), column(120, elements, "gray")
        seeds, Y = column(210, outputs, "orange"), column(300, outputs, "green")
        join(X, Z)
        join(Z, seeds)
        join(seeds, Y)
        labels({75: "SAB", 165: "PMA", 255: "SAB"})
    return d


POINTS = np.array(
    [(x + dx, y + dy) for x, y in ((-1.1, 0.7), (0.9, 0.9), (0.5, -1.0)) for dx, dy in
     ((0.0, 0.0), (0.3, 0.1), (-0.25, 0.15), (0.1, -0.3), (-0.1, 0.3), (0.25, -0.2), (-0.3, -0.15), (0.05, 0.15))]
)  # fmt: skip
STARTS = np.array([(-0.2, 0.5), (0.1, 0.4), (0.2, 0.1)])


def paths(jointly: bool, steps: int = 40, sigma: float = 0.5) -> np.ndarray:
    """Where three centers go if each moves to the weighted mean of the points: (steps + 1, 3, 2)."""
    found = [STARTS]
    for _ in range(steps):
        w = np.exp(-((POINTS[:, None] - found[-1]) ** 2).sum(axis=-1) / (2 * sigma**2))  # (points, centers)
        if jointly:
            w /= w.sum(axis=1, keepdims=True)
        found.append((w.T @ POINTS) / w.sum(axis=0)[:, None])
    return np.array(found)


@picture
def explaining_away() -> Drawing:
    d = Drawing(660, 352, "Three centers that are decided one by one, and jointly")
    for left, title, jointly in ((0, "each on its own", False), (330, "jointly", True)):
        found = paths(jointly) * [90, -90] + [left + 165, 185]
        d.text(left + 165, 22, title, bold=True, size=19)
        for x, y in POINTS * [90, -90] + [left + 165, 185]:
            d.dot(x, y, 3.5, color="gray", opacity=0.7)
        for k, color in enumerate(("blue", "orange", "purple")):
            d.line(*(tuple(p) for p in found[:, k]), color=color, width=1.8)
            d.dot(*found[0, k], 3, color=color)
            x, y = found[-1, k]
            same = [j for j in range(k) if np.hypot(*(found[-1, j] - found[-1, k])) < 3]
            d.circle(x, y, 9 + 5 * len(same), kind="plain")
            d.dot(x, y, 5, color=color)
    d.text(330, 336, "from the same three starts", size=17, color="faint")
    return d
