"""Pictures of chapters 2 to 4: tapes with the numbers that flow back, the pull of attention, errors of differences."""

import itertools

import numpy as np

from autograd import Tensor
from autograd.tape import Node, _newest_first
from docs.pictures.drawing import Drawing, picture
from docs.pictures.plot import COLORS, Plot, new_figure


def gradients_of_nodes(output: Tensor) -> dict[Node, np.ndarray]:
    """The gradient that each node of a graph receives in backward, by asking them all as it runs."""
    received = {}

    def asked(node: Node):
        pull = node.pull

        def told(g):
            received[node] = g
            return pull(g)

        return told

    for node in _newest_first(output.node):
        node.pull = asked(node)
    output.backward()
    return received


def written(value) -> str:
    """[6, -4] as (6, −4), 1.0 as 1."""
    numbers = [f"{v:g}".replace("-", "−") for v in np.atleast_1d(value)]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


@picture
def fan_out() -> Drawing:
    d = Drawing(560, 260, "A value that is used twice receives two gradients, and passes on their sum")
    a = Tensor(3.0, requires_grad=True)
    b = a * a
    c = b * 2.0
    total = b + c
    nodes = (b.node, c.node, total.node)
    values = [written(t.data) for t in (a, b, c, total)]
    g = gradients_of_nodes(total)
    gb, gc, gd = (g[node] for node in nodes)
    boxes = [
        d.box(x, y, f"*{name}* = {value}", below=below, kind=kind)
        for x, y, name, value, below, kind in (
            (60, 150, "a", values[0], "leaf", "parameter"),
            (210, 150, "b", values[1], "a a", "op"),
            (360, 70, "c", values[2], "2 b", "op"),
            (500, 150, "d", values[3], "b + c", "result"),
        )
    ]
    A, B, C, D = boxes
    for start, end in ((A, B), (B, C), (C, D), (B, D)):
        d.arrow(start, end, color="faint")
    back = {"color": "red", "width": 1.8}
    d.arrow(D.at(-0.5, 1), B.at(0.7, 1), bend=14, label=f"{written(gd)}", **back)
    d.arrow(D.at(0.2, -1), C.at(1, -0.3), bend=-14, label=f"{written(gc)}", **back)
    d.arrow(C.at(-1, -0.3), B.at(-0.2, -1), bend=-16, label=f"2 · {written(gc)} = {written(2 * gc)}", **back)
    d.arrow(B.at(-0.5, 1), A.at(0.5, 1), bend=16, label=f"6 · {written(gb)} = {written(a.grad)}", **back)
    d.text(222, 220, f"*b* has {written(gd)} + {written(2 * gc)} = {written(gb)}", color="red", size=14)
    return d


@picture
def tape() -> Drawing:
    d = Drawing(610, 222, "The tape of ((w x).sum() − 1)², and the gradients that flow back")
    w = Tensor([2.0, -1.0], requires_grad=True)
    product = w * np.array([3.0, 4.0])
    total = product.sum()
    difference = total - 1.0
    loss = difference**2
    steps = (product, total, difference, loss)
    nodes = [t.node for t in steps]
    values = [written(t.data) for t in steps]
    g = gradients_of_nodes(loss)
    leaf = d.box(45, 110, "w", below=written(w.data), kind="parameter", width=70)
    boxes = [leaf]
    for x, node, value in zip((185, 310, 435, 560), nodes, values, strict=True):
        boxes.append(d.box(x, 110, node.op, below=value, kind="result" if node is nodes[-1] else "op", width=86))
    for box, text in ((boxes[1], "x = (3, 4)"), (boxes[3], "1"), (boxes[4], "2")):
        d.text(box.x, 38, text, color="faint", size=14)
        d.arrow((box.x, 49), (box.x, box.top - 2), color="faint")
    for start, end in itertools.pairwise(boxes):
        d.arrow(start, end)
    sent = [w.grad, *(g[node] for node in nodes)]
    for box, before, gradient in zip(boxes[1:], boxes, sent, strict=False):
        d.arrow(box.at(-0.2, 1), before.at(0.2, 1), bend=22, label=written(gradient), color="red", width=1.8)
    d.arrow((603, 175), boxes[-1].at(0.4, 1), color="red", width=1.8)
    d.text(598, 188, written(sent[-1]), color="red", size=14)
    d.text(20, 22, "forward: values", anchor="start", size=15, color="faint")
    d.text(20, 202, "backward: gradients", anchor="start", size=15, color="red")
    return d


@picture
def attention_pull() -> Drawing:
    d = Drawing(560, 440, "Attention, forward and back")
    places = {"Q": (45, 50), "K": (45, 120), "V": (45, 190), "S": (210, 85), "P": (370, 85), "O": (515, 135)}
    shapes = {"Q": "n × e", "K": "m × e", "V": "m × f", "S": "n × m", "P": "n × m", "O": "n × f"}

    def boxes(kind: str, label: str) -> dict:
        kinds = dict.fromkeys(places, kind) | ({"O": "result"} if kind == "value" else {})
        return {
            name: d.box(x, y, label.format(name).replace("g_{O}", "g"), below=shapes[name], kind=kinds[name])
            for name, (x, y) in places.items()
        }

    b = boxes("value", "*{}*")
    d.arrow(b["Q"], b["S"])
    d.arrow(b["K"], b["S"])
    d.arrow(b["S"], b["P"], label="softmax")
    d.arrow(b["P"], b["O"])
    d.route(b["V"].at(1, 0), (455, 190), (b["O"].left - 3, 150))
    d.text(128, 85, "α *Q K*^{⊤}", size=15, color="faint")
    d.text(450, 84, "*P V*", size=15, color="faint")
    d.line((20, 225), (540, 225), color="faint", width=0.7, dashed=True)
    with d.group(y=220):
        b = boxes("red", "g_{{{}}}")
        back = {"color": "red"}
        d.arrow(b["O"], b["P"], **back)
        d.route(b["O"].at(-1, 0.4), (455, 190), b["V"].at(1, 0), **back)
        d.arrow(b["P"], b["S"], **back)
        d.arrow(b["S"], b["Q"], **back)
        d.arrow(b["S"], b["K"], **back)
        d.text(452, 82, "g *V*^{⊤}", size=15, color="faint")
        d.text(280, 206, "*P*^{⊤} g", size=15, color="faint")
        d.text(290, 44, "*P* ⊙ (g_{P} − r)", size=15, color="faint")
        d.text(140, 45, "α g_{S} *K*", size=15, color="faint")
        d.text(140, 132, "α g_{S}^{⊤} *Q*", size=15, color="faint")
    return d


@picture
def step_size() -> Plot:
    def f(x: float) -> float:
        return 1 / (1 + x * x)

    true = -2 * 2 / (1 + 2 * 2) ** 2
    steps = 2.0 ** -np.arange(2, 46)  # powers of two: 2 + h is exact
    forward = [abs((f(2 + h) - f(2)) / h - true) for h in steps]
    central = [abs((f(2 + h) - f(2 - h)) / (2 * h) - true) for h in steps]
    figure = new_figure(6, 3.6)
    axes = figure.subplots()
    axes.plot(steps, forward, marker="o", markersize=3, color=COLORS["orange"], label="(f(x + h) − f(x)) / h")
    axes.plot(steps, central, marker="s", markersize=3, color=COLORS["blue"], label="(f(x + h) − f(x − h)) / 2h")
    axes.set(xscale="log", yscale="log", xlabel="step h", ylabel="error", ylim=(1e-13, 1))
    axes.annotate("rounding", (3e-12, 2e-2), color=COLORS["faint"])
    axes.annotate("truncation", (2e-3, 2e-9), color=COLORS["faint"])
    axes.legend(loc="lower left")
    return Plot(figure, "The error of forward and central differences over the step size, in logarithmic scales")
