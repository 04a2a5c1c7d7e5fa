"""Classifying shapes by points on their surface: is it a chair or a sofa?

A shape of ModelNet40 is a set of n points in space.  The network sees 100, 1,000 or 5,000 of them and predicts one of
40 classes.  In training, shapes are rotated about the vertical axis and scaled at random, and their points are
resampled at each step; the test shapes keep theirs.

    python -m tasks.point_cloud --preset quick
    python -m tasks.point_cloud --preset paper --points 1000 --arch "ISAB (16) + PMA" --out runs/isab16-1000
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor, backend, cross_entropy
from minisets import build, record_attention
from minisets.architectures import Network
from minisets.labels import ROWS, parse
from minisets.nn import evaluating
from minisets.optim import Adam, drop_every
from tasks.data import OnData, data_option, modelnet40
from tasks.data.standins import shapes
from tasks.data.surfaces import Clouds
from tasks.harness import paper
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import AUTO, SYNTHETIC, option
from tasks.harness.progress import report
from tasks.harness.run import TEST, TRAINING, WEIGHTS, Run, rng_for
from tasks.plots import point_clouds
from tasks.plots.curves import learning_curves

TEST_SEED = 0  # the points of the test shapes are the same for every run
TURN, STRETCH = 0.1 * np.pi, (0.8, 1.25)  # augmentation: the largest angle, and the range of each axis's factor
MANY = 5_000  # from this many points on, another network and a little weight decay, as in the paper's text
DECAY = 1e-7  # the weight decay for 5,000 points
EVALUATED = 20_000  # points per batch in evaluation


@dataclass(frozen=True, kw_only=True)
class Config(OnData):
    data: str = data_option("modelnet40")
    arch: str = option("ISAB (16) + PMA")
    points: int = option(
        100, "points per shape; the paper has columns for 100, 1,000 and 5,000", least=2, bookkeeping=True
    )
    steps: int = option(80_000)
    batch: int = option(64, "shapes per step")
    lr: float = option(paper=1e-3)
    drop_every: int = option(help="steps between drops of the learning rate to 0.3 of it", paper=20_000, least=1)
    augment: bool = option(help="rotate and scale shapes in training", paper=True)
    resample: bool = option(True, "resample the points of a training shape at each step; otherwise once for all steps")
    up: str = option(
        AUTO, "the axis of the data that points up; auto: measured", choices=(AUTO, "y", "z"), bookkeeping=True
    )
    evaluation_shapes: int = option(
        500, "test shapes to evaluate on while training, only for the curve", least=1, bookkeeping=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.data != SYNTHETIC or self.up != "y", "--up y is for real data; the stand-in has z up")

    def require_data(self) -> None:
        super().require_data()
        load(self)  # report a damaged file now rather than after the run has started


# ---- data ---------------------------------------------------------------------------------------------------------


def load(config: Config) -> tuple[Clouds, Clouds]:
    """The shapes to train on and those to test on."""
    if config.data != SYNTHETIC:
        return modelnet40.load(config.points, None if config.up == AUTO else config.up)
    P = max(2_048, 2 * config.points)
    return shapes.load("train", P), shapes.load("test", P)


def choose(rng: np.random.Generator, P: int, n: int) -> np.ndarray:
    """n of P indices.  The points of a shape are in random order, so all shapes of a batch can share the indices."""
    return rng.choice(P, n, replace=False)


def take(config: Config, clouds: Clouds, which: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The points (B, n, 3) of a batch of shapes, z up, each shape normalized to mean 0 and standard deviation 1.

    One mean and one standard deviation are used for all three axes, so that shapes keep their proportions.
    """
    X = clouds.points[which[:, None], index].astype(config.dtype)
    X = X[..., [2, 0, 1]] if clouds.up == "y" else X
    X -= X.mean(axis=(1, 2), keepdims=True)
    return X / np.maximum(X.std(axis=(1, 2), keepdims=True), 1e-6)


def augment(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Each shape rotated about z by an angle in ±0.1 π, then each axis scaled by a factor from 0.8 to 1.25."""
    B = len(X)
    angle, factor = rng.uniform(-TURN, TURN, size=(B, 1)), rng.uniform(*STRETCH, size=(B, 1, 3))
    x, y, z = np.moveaxis(X, -1, 0)  # each (B, n)
    rotated = np.stack([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y, z], axis=-1)
    return (rotated * factor).astype(X.dtype)


def sample(config: Config, training: Clouds, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The training batch of a step: X (B, n, 3) and the classes (B,)."""
    rng, (N, P, _) = rng_for(config.seed, TRAINING, step), training.points.shape
    which = rng.integers(N, size=config.batch)
    X = take(
        config, training, which, choose(rng if config.resample else rng_for(config.seed, TRAINING), P, config.points)
    )
    return augment(rng, X) if config.augment else X, training.labels[which]


# ---- model --------------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    classes = len(shapes.CLASSES) if config.data == SYNTHETIC else modelnet40.CLASSES
    task = "point_cloud_5000" if config.points >= MANY else "point_cloud"
    rng = rng_for(config.seed, WEIGHTS)
    net = build(config.arch, task=task, d_in=3, d_out=classes, style=config.style, rng=rng)
    return net.astype(config.dtype).to(config.device)


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, object]:
    training, test = load(config)
    (N, P, _), M = training.points.shape, len(test.labels)
    report(f"  {N:,} shapes to train on, {M:,} to test on, {P:,} points each; {training.up} is up")
    net = network(config)
    optimizer = Adam(net.parameters(), config.lr, weight_decay=DECAY if config.points >= MANY else 0.0)
    schedule = drop_every(config.lr, config.drop_every)
    some = rng_for(TEST_SEED, TEST, 1).permutation(len(test.labels))[: config.evaluation_shapes]
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        X, y = (backend.to_device(a, config.device) for a in run.share(*sample(config, training, step)))
        loss = cross_entropy(net(Tensor(X)), labels=y)
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            run.record(accuracy=(predict(config, net, test, some) == test.labels[some]).mean())

    found = predict(config, net, test, np.arange(len(test.labels)))
    return {
        "accuracy": float((found == test.labels).mean()),
        "shapes": {"training": N, "test": M, "points": P, "up": training.up},
        "confusion": confusion(test.labels, found, test.names),
    }


def predict(config: Config, net: Network, clouds: Clouds, which: np.ndarray) -> np.ndarray:
    """The predicted classes of the chosen shapes, from the same points every time."""
    index = choose(rng_for(TEST_SEED, TEST), clouds.points.shape[1], config.points)
    some, found = max(1, EVALUATED // config.points), []
    with evaluating(net):
        for first in range(0, len(which), some):
            X = backend.to_device(take(config, clouds, which[first : first + some], index), config.device)
            found.append(net(X).numpy().argmax(axis=-1))
    return np.concatenate(found)


def confusion(labels: np.ndarray, found: np.ndarray, names: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """The confusion matrix: true class -> predicted class -> count, without zeros."""
    table: dict[str, dict[str, int]] = {}
    pairs, counts = np.unique(np.stack([labels, found], axis=1), axis=0, return_counts=True)
    for (true, predicted), count in zip(pairs, counts, strict=True):
        table.setdefault(names[true], {})[names[predicted]] = int(count)
    return table


# ---- figures ------------------------------------------------------------------------------------------------------


def attention_weights(net: Network, X: np.ndarray) -> np.ndarray:
    """How much each point contributes, (B, n), summing to 1 over a shape.

    With PMA it is the weight that the seed gives to the point, averaged over heads; with max pooling, the fraction of
    the features that have their maximum at this point.
    """
    (B, n, _), row = X.shape, parse(net.label)
    if row.pooling == "pooling":
        with evaluating(net):
            for block in net.encoder:
                X = block(X)
        first = X.numpy().argmax(axis=1) if row.kind in (None, "max") else np.tile(np.arange(n), (B, 1))
        return np.stack([np.bincount(index, minlength=n) / len(index) for index in first])
    with evaluating(net), record_attention(net) as seen:
        net(X)
    pooling = next(name for name in seen if name.startswith("decoder"))
    return seen[pooling][0].reshape(B, -1, n).mean(axis=1)


def examples(config: Config, net: Network) -> dict[str, Any]:
    """What a figure shows: test shapes of nine classes, the predictions, and which points matter."""
    _, test = load(config)
    order = rng_for(TEST_SEED, TEST, 2).permutation(len(test.labels))
    which = order[np.sort(np.unique(test.labels[order], return_index=True)[1])][:9]  # the first of each class
    P = test.points.shape[1]
    index = choose(rng_for(TEST_SEED, TEST), P, config.points)
    whole = take(config, test, which, np.arange(P))
    return {
        "shapes": whole.astype("float16"),
        "index": index,
        "weights": attention_weights(net, whole[:, index]).astype("float32"),
        "predicted": np.array(test.names)[predict(config, net, test, which)],
        "true": np.array(test.names)[test.labels[which]],
    }


EXPERIMENT = Experiment(
    name="point_cloud",
    title="Classification of point clouds",
    description=__doc__,
    config=Config,
    presets={
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
    },
    rows=ROWS["point_cloud"],
    quick_rows=("rFF + Pooling", "ISAB (16) + PMA"),
    model=network,
    train=train,
    table=Table(
        columns={"accuracy": "accuracy"},
        by="points",
        printed=paper.TABLES["point_cloud"],
        notes=(
            "accuracy: of the last weights on all test shapes, with the same points for every run. points: the number "
            "of points that the network sees. The paper states neither the number of training steps nor the batch "
            "size. Rows with a citation are numbers that the paper quotes."
        ),
    ),
    figures={
        "clouds": point_clouds.clouds(examples),
        "confusion": point_clouds.confusion,
        "learning_curves": learning_curves(
            {"loss": ("training loss", 1), "accuracy": ("accuracy on some test shapes", 1)}
        ),
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "point_cloud", *sys.argv[1:]]))
