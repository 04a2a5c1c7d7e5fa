"""Pictures of chapter 9: a product of low rank, Nyström's error, and what trained inducing points attend to."""

from pathlib import Path

import numpy as np

from docs.pictures.drawing import Drawing, Shape, picture
from docs.pictures.plot import COLORS, Plot, new_figure

RESULTS = Path(__file__).parents[1] / "results"


def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=-1) / 2)


def normalized(K: np.ndarray) -> np.ndarray:
    return K / K.sum(axis=1, keepdims=True)


@picture
def low_rank() -> Drawing:
    d = Drawing(520, 250, "n by n weights of a SAB, and the n by m and m by n weights of an ISAB")
    X = np.array([-2.6, -2.2, -1.6, -1.0, 0.9, 1.5, 2.0, 2.7])[:, None]
    Z = np.array([[-2.0], [2.0]])
    P, P1, P0 = normalized(kernel(X, X)), normalized(kernel(X, Z)), normalized(kernel(Z, X))
    size = 20
    left = d.cells(20, 50, 8, 8, size=size, values=P, scale=0.5)
    tall = d.cells(250, 50, 8, 2, size=size, values=P1)
    flat = d.cells(340, 110, 2, 8, size=size, values=P0, scale=0.5)
    d.text(left.x, 30, "SAB: P")
    d.text(tall.x, 30, "ISAB: P_{1}")
    d.text(flat.x, 90, "P_{0}")
    d.text((tall.right + flat.left) / 2, flat.y, "×")
    d.text(left.x, 230, "n × n", color="faint")
    d.text(tall.x, 230, "n × m", color="faint")
    d.text(flat.x, 170, "m × n", color="faint")
    return d


@picture
def nystrom_error() -> Plot:
    rng = np.random.default_rng(0)
    centers = rng.uniform(-4, 4, size=(4, 2))
    X = np.concatenate([c + 0.3 * rng.normal(size=(75, 2)) for c in centers])
    K = kernel(X, X)
    singular = np.linalg.svd(K, compute_uv=False)
    counts = np.array([1, 2, 4, 8, 16, 32])
    best = [np.sqrt((singular[m:] ** 2).sum() / (singular**2).sum()) for m in counts]
    nystrom, twice = np.zeros((2, len(counts)))
    for i, m in enumerate(counts):
        for _ in range(20):
            Z = X[rng.choice(len(X), m, replace=False)]
            low = kernel(X, Z) @ np.linalg.pinv(kernel(Z, Z), rcond=1e-10) @ kernel(Z, X)
            nystrom[i] += np.linalg.norm(low - K) / np.linalg.norm(K) / 20
            P = normalized(K)
            low = normalized(kernel(X, Z)) @ normalized(kernel(Z, X))
            twice[i] += np.linalg.norm(low - P) / np.linalg.norm(P) / 20
    figure = new_figure(5.2, 3.2)
    axes = figure.subplots()
    for errors, label, color, marker in (
        (twice, "two attentions", "red", "s"),
        (nystrom, "Nyström", "blue", "o"),
        (best, "best of rank m", "gray", "^"),
    ):
        axes.plot(counts, errors, marker=marker, color=COLORS[color], label=label)
    axes.set(xscale="log", yscale="log", xlabel="m", ylabel="relative error", xticks=counts, xticklabels=counts)
    axes.minorticks_off()
    axes.legend()
    return Plot(figure, "The error of rank-m approximations of a kernel matrix of 300 points, against m")


@picture
def inducing_points() -> Drawing:
    run = np.load(RESULTS / "clustering/paper/isab16-pma-seed0/examples.npz")
    X, A = run["X"][0][run["mask"][0]], run["attention"]
    d = Drawing(540, 500, "The attention of four of sixteen inducing points to the points of one set")
    low, high = X.min(axis=0), X.max(axis=0)
    for panel, i in enumerate((0, 3, 14, 15)):
        left, top = 12 + 266 * (panel % 2), 28 + 244 * (panel // 2)
        d.rect(Shape(left + 125, top + 105, 250, 210), round=3)
        d.text(left + 125, top - 12, f"inducing point {i + 1}", size=13)
        share = A[i] * len(X)  # 1: the weight of an element under uniform attention
        for x, s in sorted(zip(X, share, strict=True), key=lambda pair: pair[1]):
            u, v = (x - low) / (high - low)
            strength = min(float(s) / 4, 1.0)
            d.dot(
                left + 12 + 226 * u, top + 198 - 186 * v, 1.6 + 2.6 * strength,
                color="orange" if strength > 0.25 else "gray", opacity=0.35 + 0.65 * strength,
            )  # fmt: skip
    return d


@picture
def inducing_shares() -> Drawing:
    run = np.load(RESULTS / "clustering/paper/isab16-pma-seed0/examples.npz")
    mask = run["mask"][0]
    X, A = run["X"][0][mask], run["attention"]
    cluster = ((X[:, None] - run["true_mu"][0][None]) ** 2).sum(axis=-1).argmin(axis=1)
    shares = np.stack([A[:, cluster == j].sum(axis=1) for j in range(4)])
    points = np.bincount(cluster) / len(X)
    d = Drawing(
        560, 190, "The attention of 16 inducing points, divided among four clusters, beside the clusters' sizes"
    )
    order = np.lexsort(shares.round(1))
    d.cells(
        70,
        40,
        4,
        16,
        size=30,
        values=shares[:, order],
        labels=[[f"{100 * s:.0f}" for s in row] for row in shares[:, order]],
    )
    for j in range(4):
        d.text(60, 55 + 30 * j, f"{100 * points[j]:.0f} %", anchor="end", size=13)
    d.text(60, 22, "points", anchor="end", size=13, color="faint")
    d.text(310, 22, "percent of attention, a column for each inducing point", size=13, color="faint")
    return d
