"""Pictures of chapters 15 to 20: the networks of the experiments with their shapes, and a set of twenty characters."""

from __future__ import annotations

import base64
import io
import itertools

import numpy as np
from PIL import Image

from docs.pictures.drawing import Drawing, Shape, picture
from tasks.data.standins import glyphs

Step = tuple[str, str, str]  # label, shape, kind
STEP = 66  # from one layer to the next


def column(d: Drawing, x: float, y: float, steps: list[Step], width: float) -> list[Shape]:
    """Layers from top to bottom, with arrows between them."""
    shapes = []
    for i, (label, shape, kind) in enumerate(steps):
        shapes.append(d.box(x, y + STEP * i, label, below=shape, kind=kind, width=width, height=46, size=14))
    for a, b in itertools.pairwise(shapes):
        d.arrow(a, b)
    return shapes


def two_networks(title: str, first: tuple[str, list[Step]], second: tuple[str, list[Step]], note: str = "") -> Drawing:
    """Two networks side by side, aligned at the top; their encoders and decoders are marked by the caller's labels."""
    rows = max(len(first[1]), len(second[1]))
    d = Drawing(520, 60 + STEP * rows + (26 if note else 0), title)
    for x, (name, steps) in ((140, first), (380, second)):
        d.text(x, 20, name, bold=True)
        column(d, x, 64, steps, 216)
    if note:
        d.text(260, d.height - 16, note, size=13, color="faint")
    return d


@picture
def max_regression() -> Drawing:
    return two_networks(
        "Maximum regression: rFF + Pooling (four FC, pooling, two FC) and SAB + PMA (two SABs, PMA, FC)",
        (
            "rFF + Pooling",
            [
                ("X / 100", "(B, n, 1)", "value"),
                ("FC(64, ReLU) × 3, FC(64)", "(B, n, 64)", "op"),
                ("mean, sum or max", "(B, 1, 64)", "op"),
                ("FC(64, ReLU)", "(B, 1, 64)", "op"),
                ("FC(1) × 100", "(B, 1)", "result"),
            ],
        ),
        (
            "SAB + PMA",
            [
                ("X / 100", "(B, n, 1)", "value"),
                ("SAB(64, 4)", "(B, n, 64)", "op"),
                ("SAB(64, 4)", "(B, n, 64)", "op"),
                ("PMA_{1}(64, 4)", "(B, 1, 64)", "op"),
                ("FC(1) × 100", "(B, 1)", "result"),
            ],
        ),
    )


@picture
def clustering_networks() -> Drawing:
    return two_networks(
        "Clustering: rFF + Pooling hands one vector to its head, ISAB + PMA hands four vectors to it",
        (
            "rFF + Pooling",
            [
                ("X", "(B, n, 2)", "value"),
                ("FC(128, ReLU) × 4", "(B, n, 128)", "op"),
                ("mean", "(B, 1, 128)", "op"),
                ("FC(128, ReLU) × 3", "(B, 1, 128)", "op"),
                ("FC(4 · 5)", "(B, 4, 5)", "op"),
                ("log π, μ, σ", "of 4 Gaussians", "result"),
            ],
        ),
        (
            "ISAB (16) + PMA",
            [
                ("X", "(B, n, 2)", "value"),
                ("ISAB_{16}(128, 4) × 2", "(B, n, 128)", "op"),
                ("PMA_{4}(128, 4)", "(B, 4, 128)", "op"),
                ("SAB(128, 4)", "(B, 4, 128)", "op"),
                ("FC(5), for each seed", "(B, 4, 5)", "op"),
                ("log π, μ, σ", "of 4 Gaussians", "result"),
            ],
        ),
    )


@picture
def counting_network() -> Drawing:
    d = Drawing(
        520, 560, "Counting: convolutions on each image, padding to sets, then one of two set networks, then softplus"
    )
    top = column(
        d,
        260,
        40,
        [
            ("images", "(N, 1, 28, 28), all sets in one list", "value"),
            ("Conv(64, 3, stride 2, BN, ReLU) × 4", "(N, 64, 2, 2)", "op"),
            ("padded", "(B, n, 256), with a mask", "value"),
        ],
        290,
    )
    last = []
    for x, name, steps in (
        (
            130,
            "rFF + Pooling",
            [
                ("FC(64, ReLU) × 3, FC(64)", "(B, n, 64)", "op"),
                ("mean", "(B, 1, 64)", "op"),
                ("FC(64, ReLU)", "(B, 1, 64)", "op"),
            ],
        ),
        (390, "SAB + PMA (1)", [("SAB(64, 4) × 2", "(B, n, 64)", "op"), ("PMA_{1}(64, 4)", "(B, 1, 64)", "op")]),
    ):
        shapes = column(d, x, 284, steps, 200)
        d.arrow(top[-1], shapes[0])
        d.text(x + (-52 if x < 260 else 52), 244, name, bold=True, size=14)
        last.append(shapes[-1])
    result = d.box(260, 516, "λ = softplus(FC(1))", below="(B)", kind="result", width=190, height=46, size=14)
    for shape in last:
        d.arrow(shape, result)
    return d


@picture
def image_clustering() -> Drawing:
    d = Drawing(
        520,
        430,
        "An image becomes 512 features by a VGG network that was trained before; sets of features are clustered",
    )
    d.text(130, 20, "once for each image", color="faint", size=13)
    first = column(
        d,
        130,
        60,
        [
            ("image", "(3, 32, 32)", "value"),
            ("VGG, trained to classify", "", "op"),
            ("512 features", "before the last layer", "value"),
        ],
        190,
    )
    d.text(390, 20, "for each set", color="faint", size=13)
    second = column(
        d,
        390,
        60,
        [
            ("X", "(B, n, 512)", "value"),
            ("ISAB_{16}(256, 4) × 3", "(B, n, 256)", "op"),
            ("PMA_{4}(256, 4)", "(B, 4, 256)", "op"),
            ("SAB(256, 4) × 2", "(B, 4, 256)", "op"),
            ("FC(1 + 2 · 512)", "(B, 4, 1025)", "op"),
            ("log π, μ, σ", "of 4 Gaussians", "result"),
        ],
        190,
    )
    d.route(
        (first[-1].right + 2, first[-1].y), (262, first[-1].y), (262, second[0].y), (second[0].left - 2, second[0].y)
    )
    d.text(130, 236, "stored, standardized;\nn of them make a set", size=13, color="faint")
    return d


@picture
def odd_face_network() -> Drawing:
    d = Drawing(
        520,
        400,
        "Each face becomes a vector z, all z together become eight vectors y, and products of both score the faces",
    )
    x = d.box(130, 40, "8 faces", below="(B, 8, 3, 64, 64)", kind="value", width=170, height=46)
    cnn = d.box(130, 130, "CNN on each face", below="", kind="op", width=170, height=40)
    z = d.box(130, 220, "z_{1} … z_{8}", below="(B, 8, 256)", kind="value", width=170, height=46)
    net = d.box(390, 130, "set network", below="SAB × 4, PMA_{4}, SAB, FC", kind="op", width=210, height=46)
    y = d.box(390, 220, "y_{1} … y_{8}", below="(B, 8, 256)", kind="value", width=170, height=46)
    score = d.box(
        260,
        330,
        "s_{i} = log Σ_{j} exp ⟨y_{j}, z_{i}⟩",
        below="(B, 8): one score for each face",
        kind="result",
        width=250,
        height=50,
    )
    d.arrow(x, cnn)
    d.arrow(cnn, z)
    d.route((z.right + 2, z.y - 8), (250, z.y - 8), (250, net.y), (net.left - 2, net.y))
    d.arrow(net, y)
    d.arrow(z, score)
    d.arrow(y, score)
    d.text(105, 285, "move with\nthe faces", size=12, color="faint")
    d.text(425, 285, "do not depend\non the order", size=12, color="faint")
    return d


@picture
def point_cloud_networks() -> Drawing:
    return two_networks(
        "Point clouds: rFF + Pooling and ISAB + PMA, with dropout before and after pooling",
        (
            "rFF + Pooling",
            [
                ("X", "(B, n, 3)", "value"),
                ("FC(256, ReLU) × 3, FC(256)", "(B, n, 256)", "op"),
                ("max", "(B, 1, 256)", "op"),
                ("Dropout(½)", "", "op"),
                ("FC(256, ReLU)", "(B, 1, 256)", "op"),
                ("Dropout(½)", "", "op"),
                ("FC(40)", "(B, 40)", "result"),
            ],
        ),
        (
            "ISAB (16) + PMA",
            [
                ("X", "(B, n, 3)", "value"),
                ("ISAB_{16}(256, 4) × 2", "(B, n, 256)", "op"),
                ("Dropout(½)", "", "op"),
                ("PMA_{1}(256, 4)", "(B, 1, 256)", "op"),
                ("Dropout(½)", "", "op"),
                ("FC(40)", "(B, 40)", "result"),
            ],
        ),
    )


def masked_image(name: str, ink: np.ndarray, x: float, y: float, side: float) -> str:
    """An image of values from 0 to 1 in the color of ink, whatever that is on the page: the values are a mask."""
    file = io.BytesIO()
    Image.fromarray((255 * ink).astype("uint8")).save(file, format="png")
    data = base64.b64encode(file.getvalue()).decode()
    place = f'x="{x}" y="{y}" width="{side}" height="{side}"'
    return (
        f'<rect class="b-plain" {place} rx="4"/>'
        f'<mask id="{name}"><image {place} href="data:image/png;base64,{data}"/></mask>'
        f'<rect class="f-ink" {place} mask="url(#{name})"/>'
    )


@picture
def counting_twenty() -> Drawing:
    """Twenty drawings of fourteen of the stand-in's characters."""
    rng, drawings = np.random.default_rng(4), glyphs.synthesize(0)["test"]
    inked = np.argsort(drawings.mean(axis=(1, 2, 3)))[-200:]  # of a single stroke, many look alike
    chosen = rng.choice(inked, 14, replace=False)
    which = rng.permutation(np.concatenate([np.arange(14), rng.integers(14, size=6)]))
    d = Drawing(
        560, 452, "Twenty drawings of characters made of random strokes; fourteen of the characters are different"
    )
    taken = dict.fromkeys(range(14), 0)
    for i, c in enumerate(which.tolist()):
        ink = drawings[chosen[c], taken[c]]
        taken[c] += 1
        d.raw(masked_image(f"drawing{i}", ink, 14 + 109 * (i % 5), 12 + 109 * (i // 5), 96))
    return d
