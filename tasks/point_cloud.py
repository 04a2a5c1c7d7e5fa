"""Classifying shapes by points on their surface: is it a chair or a sofa?

A shape of ModelNet40 is a set of n points in space.  The network sees 100, 1,000 or 5,000 of them and names one of 40
classes.  In training, shapes are turned about the vertical and stretched at random, and the points are drawn anew at
each step; the test shapes keep theirs.

    python -m tasks.point_cloud --preset quick
    python -m tasks.point_cloud --preset paper --points 1000 --arch "ISAB (16) + PMA" --out runs/isab16-1000
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from autograd import Tensor, backend, cross_entropy, no_grad
from minisets import build, checkpoint, record_attention
from minisets.architectures import ROWS, Network, parse
from minisets.optim import Adam, drop_every
from tasks.data import OnData, data_option, modelnet40
from tasks.data.standins import shapes
from tasks.data.surfaces import Clouds
from tasks.harness.options import SYNTHETIC, option
from tasks.harness.run import TEST, TRAINING, WEIGHTS, Run, stream
from tasks.harness.run_folder import Folder
from tasks.plots import point_clouds as space
from tasks.plots.curves import by_label, learning_curves, protocol

TEST_SEED = 0  # the points of the test shapes are the same for every run
TURN, STRETCH = 0.1 * np.pi, (0.8, 1.25)  # in training: by at most this angle, and each axis by a factor between these
MANY = 5_000  # from so many points on, another network and a little weight decay, as the paper's text has it
AT_ONCE = 20_000  # points to evaluate at a time


@dataclass(frozen=True, kw_only=True)
class Config(OnData):
    data: str = data_option("modelnet40")
    arch: str = option("ISAB (16) + PMA", "architecture: a label of the paper's table, or all; may be repeated")
    points: int = option(100, "points of a shape; the paper has a column each for 100, 1,000 and 5,000", least=2)
    steps: int = option(80_000, "training steps; the paper does not say how many", least=1)
    batch: int = option(64, "shapes in a step; the paper does not say how many", least=1)
    lr: float = option(1e-3, "learning rate of Adam", paper=1e-3)
    drop_every: int = option(20_000, "steps after which the learning rate is 0.3 times as large", paper=20_000, least=1)
    augment: bool = option(True, "turn and stretch shapes in training", paper=True)
    fresh: bool = option(True, "draw the points of a training shape anew at each step; otherwise once for all")
    up: str = option("z", "the axis of the data that points up; shapes are turned about it", choices=("y", "z"))
    evaluation_shapes: int = option(500, "test shapes to evaluate on while training, for the curve alone", least=1)

    def check(self) -> None:
        super().check()
        if self.data != SYNTHETIC:
            modelnet40.find(self.points)


TITLE = "Classification of point clouds"
LABELS = ROWS["point_cloud"]
PRESETS = {
    # In few steps the authors' blocks, without LayerNorm, learn faster.
    "quick": {
        "steps": 1_000,
        "batch": 32,
        "style": "authors",
        "drop_every": 700,
        "log_every": 20,
        "evaluate_every": 100,
    },
    "paper": {},
}
QUICK_LABELS = ("rFF + Pooling", "ISAB (16) + PMA")
COLUMNS, REFERENCES, REFERENCE_OPTIONS = {"accuracy": "accuracy"}, {}, ()
TABLE_BY = "points"  # the paper's columns are values of this option
NOTES = (
    "accuracy: of the last weights on all test shapes, each with the same points for every run.  points: how many of",
    "them the network sees.  The paper says neither how long it trains nor in which batches; its number for rFFp-max +",
    "Pooling is that of Zaheer et al. (2017).",
)


# ---- data ---------------------------------------------------------------------------------------------------------


def load(config: Config) -> tuple[Clouds, Clouds]:
    """The shapes to train on and those to test on."""
    if config.data == SYNTHETIC:
        P = max(2_048, 2 * config.points)
        return shapes.load("train", P), shapes.load("test", P)
    form = modelnet40.find(config.points)
    return form.load("train"), form.load("test")


def choose(rng: np.random.Generator, P: int, n: int) -> np.ndarray:
    """n of P places.  The points of a shape are in no order, so the same places will do for all shapes of a batch."""
    return rng.choice(P, n, replace=False)


def take(config: Config, clouds: Clouds, which: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The points (B, n, 3) of some shapes, z up, each shape brought to mean 0 and standard deviation 1.

    There is one mean and one standard deviation for all three axes, so that shapes keep their proportions.
    """
    X = clouds.points[which[:, None], places].astype(config.dtype)
    X = X[..., [2, 0, 1]] if config.up == "y" else X
    X -= X.mean(axis=(1, 2), keepdims=True)
    return X / np.maximum(X.std(axis=(1, 2), keepdims=True), 1e-6)


def augment(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Each shape turned about z by an angle from ±0.1 π, then each axis stretched by a factor from 0.8 to 1.25."""
    B = len(X)
    angle, factor = rng.uniform(-TURN, TURN, size=(B, 1)), rng.uniform(*STRETCH, size=(B, 1, 3))
    x, y, z = np.moveaxis(X, -1, 0)  # each (B, n)
    turned = np.stack([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y, z], axis=-1)
    return (turned * factor).astype(X.dtype)


def draw(config: Config, training: Clouds, step: int) -> tuple[np.ndarray, np.ndarray]:
    """What the network sees in a step, X (B, n, 3), and the classes (B,)."""
    rng, (N, P, _) = stream(config.seed, TRAINING, step), training.points.shape
    which = rng.integers(N, size=config.batch)
    X = take(config, training, which, choose(rng if config.fresh else stream(config.seed, TRAINING), P, config.points))
    return augment(rng, X) if config.augment else X, training.labels[which]


# ---- model --------------------------------------------------------------------------------------------------------


def network(config: Config, classes: int) -> Network:
    task = "point_cloud_5000" if config.points >= MANY else "point_cloud"
    rng = stream(config.seed, WEIGHTS)
    net = build(config.arch, task=task, d_in=3, d_out=classes, style=config.style, rng=rng)
    return net.astype(config.dtype).to(config.device)


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, object]:
    training, test = load(config)
    net = network(config, len(test.names))
    decay = 1e-7 if config.points >= MANY else 0.0
    optimizer, schedule = (
        Adam(net.parameters(), config.lr, weight_decay=decay),
        drop_every(config.lr, config.drop_every),
    )
    some = stream(TEST_SEED, TEST, 1).permutation(len(test.labels))[: config.evaluation_shapes]
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        X, y = (backend.to_device(a, config.device) for a in draw(config, training, step))
        loss = cross_entropy(net(Tensor(X)), labels=y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            run.record(accuracy=(predict(config, net, test, some) == test.labels[some]).mean())

    found = predict(config, net, test, np.arange(len(test.labels)))
    return {
        "accuracy": float((found == test.labels).mean()),
        "shapes": {"training": len(training.labels), "test": len(test.labels), "points": training.points.shape[1]},
        "confusion": confusion(test.labels, found, test.names),
    }


def predict(config: Config, net: Network, clouds: Clouds, which: np.ndarray) -> np.ndarray:
    """The classes that the network names, as many as there are shapes; their points are always the same."""
    places = choose(stream(TEST_SEED, TEST), clouds.points.shape[1], config.points)
    some, found = max(1, AT_ONCE // config.points), []
    net.eval()
    with no_grad():
        for first in range(0, len(which), some):
            X = backend.to_device(take(config, clouds, which[first : first + some], places), config.device)
            found.append(net(X).numpy().argmax(axis=-1))
    net.train()
    return np.concatenate(found)


def confusion(labels: np.ndarray, found: np.ndarray, names: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """How many shapes of a class were taken for which: true name -> named -> count, where there are any."""
    table: dict[str, dict[str, int]] = {}
    pairs, counts = np.unique(np.stack([labels, found], axis=1), axis=0, return_counts=True)
    for (true, named), count in zip(pairs, counts, strict=True):
        table.setdefault(names[true], {})[names[named]] = int(count)
    return table


# ---- figures ------------------------------------------------------------------------------------------------------


def trained(run: Folder, test: Clouds) -> tuple[Config, Network]:
    """The network that a run left behind."""
    config = dataclasses.replace(run.options(), device="cpu")  # wherever it was trained
    net = network(config, len(test.names))
    checkpoint.load(run.checkpoint, model=net)
    return config, net.eval()


def weights_of(net: Network, X: np.ndarray) -> np.ndarray:
    """How much each point has to say, (B, n), all points of a shape together 1.

    With PMA it is the weight that its seed gives to the point, its heads averaged; with the maximum, the share of the
    features that have their maximum at this point.
    """
    (B, n, _), row = X.shape, parse(net.label)
    with no_grad():
        if row.pooling == "pooling":
            for block in net.encoder:
                X = block(X)
            first = X.numpy().argmax(axis=1) if row.kind in (None, "max") else np.tile(np.arange(n), (B, 1))
            return np.stack([np.bincount(places, minlength=n) / len(places) for places in first])
        with record_attention(net) as seen:
            net(X)
    pooling = next(name for name in seen if name.startswith("decoder"))
    return seen[pooling][0].reshape(B, -1, n).mean(axis=1)


def cloud_figure(runs: list[Folder]) -> Figure | None:
    """Test shapes of different classes, a row for each architecture (its first run): where it looks, what it names."""
    kept = {label: run for label, group in by_label(runs).items() for run in group[:1] if run.checkpoint.exists()}
    if not kept:
        return None
    _, test = load(runs[0].options())
    order = stream(TEST_SEED, TEST, 2).permutation(len(test.labels))
    which = order[np.sort(np.unique(test.labels[order], return_index=True)[1])][:9]  # the first of each class
    rows = {}
    for label, run in kept.items():
        config, net = trained(run, test)
        P = test.points.shape[1]
        places, whole = choose(stream(TEST_SEED, TEST), P, config.points), take(config, test, which, np.arange(P))
        named, weights = predict(config, net, test, which), weights_of(net.eval(), take(config, test, which, places))
        text = [(test.names[a], test.names[b]) for a, b in zip(named, test.labels[which], strict=True)]
        accuracy = run.outcome()["metrics"]["accuracy"] if run.result.exists() else None
        rows[label + (f"   accuracy {accuracy:.3f}" if accuracy else "")] = list(
            zip(whole, whole[:, places], weights, text, strict=True)
        )
    weight = "PMA: weights of its seed, max: features that a point wins"
    title = f"Where networks look ({weight}) and what they name: {config.points:,} points, {protocol(runs)}"
    return space.clouds(rows, title)


def confusion_figure(runs: list[Folder]) -> Figure:
    """For each architecture, the shares of the shapes of a class (row) that were taken for which (column)."""
    found = {label: [run.outcome()["metrics"]["confusion"] for run in group] for label, group in by_label(runs).items()}
    names = sorted({name for tables in found.values() for table in tables for name in table})  # all classes are tested
    panels = {}
    for label, tables in found.items():
        counts = np.array([[sum(t.get(a, {}).get(b, 0) for t in tables) for b in names] for a in names])
        accuracy = np.trace(counts) / counts.sum()
        panels[f"{label}   accuracy {accuracy:.3f}"] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return space.confusion(panels, names, f"True classes (rows) and named ones (columns), {protocol(runs)}")


FIGURES = {
    "clouds": cloud_figure,
    "confusion": confusion_figure,
    "learning_curves": learning_curves({"loss": ("training loss", 1), "accuracy": ("accuracy on some test shapes", 1)}),
}


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "point_cloud", *sys.argv[1:]]))
