"""Pictures of chapters 12 to 14: learning rates, a run's files, and how features lose their differences."""

import numpy as np

from autograd import no_grad
from docs.pictures.drawing import Drawing, picture
from docs.pictures.plot import COLORS, Plot, new_figure
from minisets.nn import init
from minisets.optim import constant, cosine, drop_at, drop_every, exponential, linear_to_zero, warm_up
from tasks import unique_characters


@picture
def schedules() -> Plot:
    shown = {
        "constant": constant(1.0),
        "drop_at(0.7)": drop_at(1.0, [0.7], total=100),
        "drop_every(25)": drop_every(1.0, steps=25),
        "exponential": exponential(1.0, decay=0.1 ** (1 / 100)),
        "linear_to_zero": linear_to_zero(1.0, total=100),
        "cosine": cosine(1.0, total=100),
        "warm_up(cosine)": warm_up(cosine(1.0, total=100), steps=10),
    }
    figure = new_figure(6.8, 3.4)
    grid = figure.subplots(2, 4, sharex=True, sharey=True)
    for axes, (name, lr) in zip(grid.flat, shown.items(), strict=False):
        axes.plot(range(100), [lr(step) for step in range(100)], color=COLORS["blue"])
        axes.set_title(name, fontsize=9)
        axes.set(xticks=[0, 50, 100], yticks=[0, 0.5, 1])
    grid.flat[-1].set_axis_off()
    figure.supxlabel("step", fontsize=9)
    figure.supylabel("learning rate", fontsize=9)
    return Plot(figure, "Seven learning-rate schedules over 100 steps")


@picture
def run_folder() -> Drawing:
    d = Drawing(
        640,
        340,
        "A run writes a log line often and a checkpoint less often; after a kill it goes back to the last checkpoint",
    )
    left, right, y = 60, 600, 70

    def at(step: float) -> float:
        return left + (right - left) * step / 200

    d.text(left, 24, "steps of the run that is killed", size=13, color="faint", anchor="start")
    d.line((left, y), (at(140), y))
    for step in range(0, 141, 20):
        d.dot(at(step), y, 3, color="blue")
        d.text(at(step), y + 19, str(step), size=12, color="faint")
    for step in (0, 40, 80, 120):
        d.box(at(step), y - 22, "", kind="parameter", width=12, height=12, round=2)
    d.text(at(140) + 26, y, "kill -9", size=13, color="red", anchor="start")
    d.line((at(134), y - 9), (at(146), y + 9), color="red", width=2)
    d.line((at(134), y + 9), (at(146), y - 9), color="red", width=2)
    y2 = 170
    d.text(left, y2 - 42, "--resume", size=13, color="faint", anchor="start")
    d.line((at(120), y2), (right, y2))
    for step in range(120, 201, 20):
        d.dot(at(step), y2, 3, color="blue")
        d.text(at(step), y2 + 19, str(step), size=12, color="faint")
    for step in (160, 200):
        d.box(at(step), y2 - 22, "", kind="parameter", width=12, height=12, round=2)
    d.route((at(120), y + 32), (at(120), y2 - 6), color="orange")
    d.text(at(120) - 10, 132, "the last checkpoint", size=13, color="orange", anchor="end")
    d.text(right, y2 + 40, "steps 121 to 140 once more, with the same bits", size=12, color="faint", anchor="end")
    d.box(left + 6, 248, "", kind="parameter", width=12, height=12, round=2)
    d.text(left + 24, 248, "checkpoint: weights, Adam's buffers, generators, step", size=13, anchor="start")
    d.dot(left + 6, 276, 3, color="blue")
    d.text(left + 24, 276, "a line of metrics.jsonl", size=13, anchor="start")
    d.text(
        left, 314, "data of step i: a function of the seed and i, so nothing of it is saved", size=13, anchor="start"
    )
    return d


@picture
def activation_spread() -> Plot:
    """The two lines that docs/14-learning-nothing.md prints."""
    config = unique_characters.Config(data="synthetic", arch="rFF + Pooling")
    net, drawings = unique_characters.network(config), unique_characters.images_of("synthetic")["train"][:100, :1]
    with no_grad():
        features = net.convolutions(drawings).numpy().reshape(100, 256)
    figure = new_figure(6, 2.8)
    axes = figure.subplots()
    for name, color in (("variance-preserving", "blue"), ("PyTorch's default", "orange")):
        rng, Z, spread = np.random.default_rng(0), features, [features.std(axis=0).mean()]
        for i, layer in enumerate(net.network.encoder[0].layers):
            W, b = layer.weight, layer.bias
            if color == "orange":
                W, b = (init.fan_in_uniform(rng, p.shape, len(layer.weight.data)) for p in (W, b))
            Z = Z @ W.numpy() + b.numpy()
            Z = np.maximum(Z, 0) if i < 3 else Z
            spread.append(Z.std(axis=0).mean())
        axes.plot(range(5), spread, marker="o", color=COLORS[color])
        place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(name, (4, spread[-1]), color=COLORS[color], **place)
    axes.set_yscale("log")
    axes.set(xlim=(-0.2, 5.9), ylim=(0.01, 1), xticks=range(5), ylabel="spread over 100 characters")
    axes.set_xticklabels(["images", "FC 1", "FC 2", "FC 3", "FC 4"])
    axes.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    axes.minorticks_off()
    return Plot(figure, "The spread of features falls by a factor of three per layer with PyTorch's default weights")
