"""Pictures of chapter 6: the four blocks and a whole network, with shapes."""

import itertools

from docs.pictures.drawing import Drawing, picture


@picture
def mab() -> Drawing:
    d = Drawing(440, 520, "MAB(X, Y): attention, sum and norm give H; rFF, sum and norm give the output")
    x = d.box(120, 36, "X", below="(n, d)")
    y = d.box(310, 36, "Y", below="(m, d)")
    attention = d.box(250, 140, "Multihead", below="h heads, (n, d)", kind="op", width=190)
    plus_1 = d.circle(120, 216, 13, "+", kind="plain")
    norm_1 = d.box(120, 268, "LN", kind="op")
    h = d.box(120, 330, "H", below="(n, d)")
    rff = d.box(250, 388, "rFF", below="each row", kind="op")
    plus_2 = d.circle(120, 424, 13, "+", kind="plain")
    out = d.box(120, 480, "LN", kind="op")
    result = d.box(290, 480, "MAB(X, Y)", below="(n, d)", kind="result")
    d.route((x.x + 24, x.bottom + 2), (x.x + 24, 92), (200, 92), (200, attention.top - 2))
    d.text(172, 80, "queries", size=13, color="faint")
    d.arrow((y.x, y.bottom + 2), (y.x, attention.top - 2))
    d.text(y.x + 8, 92, "keys, values", size=13, color="faint", anchor="start")
    d.arrow((x.x, x.bottom + 2), plus_1)
    d.text(x.x - 10, 140, "skip", size=13, color="faint", anchor="end")
    d.route((250, attention.bottom + 2), (250, 216), (plus_1.right + 2, 216))
    d.arrow(plus_1, norm_1)
    d.arrow(norm_1, h)
    d.arrow(h, plus_2)
    d.text(h.x - 10, 388, "skip", size=13, color="faint", anchor="end")
    d.route((h.right + 2, h.y), (250, h.y), (250, rff.top - 2))
    d.route((250, rff.bottom + 2), (250, 424), (plus_2.right + 2, 424))
    d.arrow(plus_2, out)
    d.arrow(out, result)
    return d


@picture
def sab() -> Drawing:
    d = Drawing(440, 130, "SAB(X) is MAB(X, X)")
    x = d.box(50, 65, "X", below="(n, d)")
    block = d.box(230, 65, "MAB", kind="op", width=90, height=72)
    out = d.box(385, 65, "SAB(X)", below="(n, d)", kind="result")
    d.arrow(x.at(1.05, -0.5), block.at(-1.04, -0.32))
    d.arrow(x.at(1.05, 0.5), block.at(-1.04, 0.32))
    d.text(132, 40, "queries", size=12, color="faint")
    d.text(132, 93, "keys, values", size=12, color="faint")
    d.arrow(block, out)
    return d


@picture
def isab() -> Drawing:
    d = Drawing(540, 250, "ISAB(X): m inducing points attend to X and give H; X attends to H")
    inducing = d.box(70, 60, "I, learned", below="(m, d)", kind="parameter")
    x = d.box(70, 190, "X", below="(n, d)", width=84)
    first = d.box(225, 60, "MAB", kind="op", width=74, height=60)
    h = d.box(355, 60, "H", below="(m, d)")
    second = d.box(355, 190, "MAB", kind="op", width=74, height=60)
    out = d.box(480, 190, "ISAB(X)", below="(n, d)", kind="result")
    d.arrow(inducing, first)
    d.text(156, 47, "queries", size=12, color="faint")
    d.route((x.x, x.top - 2), (x.x, 122), (first.x, 122), (first.x, first.bottom + 2))
    d.text(150, 135, "keys, values", size=12, color="faint")
    d.arrow(first, h)
    d.arrow(h, second)
    d.text(364, 122, "keys, values", size=12, color="faint", anchor="start")
    d.arrow(x, second)
    d.text(212, 178, "queries", size=12, color="faint")
    d.arrow(second, out)
    return d


@picture
def pma() -> Drawing:
    d = Drawing(440, 190, "PMA(Z): k learned seeds attend to the n elements of Z")
    seeds = d.box(70, 48, "S, learned", below="(k, d)", kind="parameter")
    z = d.box(70, 138, "Z", below="(n, d)", width=84)
    block = d.box(235, 93, "MAB", kind="op", width=80, height=110)
    out = d.box(380, 93, "PMA(Z)", below="(k, d)", kind="result")
    d.arrow(seeds, (block.left - 2, seeds.y))
    d.text(158, 36, "queries", size=12, color="faint")
    d.arrow(z, (block.left - 2, z.y))
    d.text(154, 151, "keys, values", size=12, color="faint")
    d.arrow(block, out)
    return d


@picture
def set_transformer() -> Drawing:
    d = Drawing(470, 560, "The network ISAB(16) + PMA(4) for clustering, with the shape after each layer")
    steps = [
        ("X", "(B, n, 2)", "value", "sets of n points"),
        ("ISAB_{16}(128, 4)", "(B, n, 128)", "op", "points that know\ntheir set"),
        ("ISAB_{16}(128, 4)", "(B, n, 128)", "op", ""),
        ("PMA_{4}(128, 4)", "(B, 4, 128)", "op", "four vectors per set"),
        ("SAB(128, 4)", "(B, 4, 128)", "op", "… that know each\nother"),
        ("FC(5)", "(B, 4, 5)", "op", "log π, μ, σ of four\nGaussians"),
    ]
    shapes = []
    for i, (label, shape, kind, remark) in enumerate(steps):
        y = 40 + 96 * i
        shapes.append(d.box(185, y, label, below=shape, kind=kind, width=150))
        if remark:
            d.text(278, y, remark, size=12, color="faint", anchor="start")
    for a, b in itertools.pairwise(shapes):
        d.arrow(a, b)
    for name, first, last in (("encoder", 1, 2), ("decoder", 3, 5)):
        d.brace((100, shapes[first].top), (100, shapes[last].bottom), name)
    return d
