"""Counting unique characters: how many different ones are in a set of handwritten images?

A set has 6 to 10 images of 1 to n different characters, and the test characters never occur in training.  To count, a
network has to compare the images with each other, which is what attention between elements does; pooling features of
each image alone does it badly.  A convolutional encoder, shared by all images, comes first.  The output is the rate λ
of a Poisson distribution whose mode, ⌊λ⌋, should be the count.

    python -m tasks.unique_characters --preset quick
    python -m tasks.unique_characters --arch "ISAB (4) + PMA" --arch "SAB + PMA (1)" --data omniglot --steps 20,000
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from autograd import Tensor, backend, poisson_negative_log_likelihood, softplus
from autograd.backend import Array
from minisets import build
from minisets.labels import ROWS
from minisets.nn import ConvNorm, Module, Sequential, evaluating
from minisets.optim import Adam
from tasks.data import OnData, data_option, omniglot
from tasks.data.standins import glyphs
from tasks.harness import paper
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import SYNTHETIC, LearningRate, SampledSets, SetSizes, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, rng_for
from tasks.plots import characters
from tasks.plots.curves import learning_curves, metric_against

TEST_SEED = 0  # the test sets are the same for every run, and so are the stand-in's characters
CHANNELS, CONVS, SIDE = 64, 4, 2  # 28 × 28 pixels, halved four times, leave 2 × 2


@dataclass(frozen=True, kw_only=True)
class Config(OnData, SetSizes, LearningRate, SampledSets):
    data: str = data_option("omniglot")
    arch: str = option("SAB + PMA (1)")
    steps: int = option(paper=200_000)
    batch: int = option(paper=32)
    lr: float = option(paper=1e-4)
    drop: float = option(paper=1.0)
    n_min: int = option(paper=6)
    n_max: int = option(paper=10)
    validation_sets: int = option(500)
    test_sets: int = option(5_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.n_max <= omniglot.DRAWERS, f"--n-max {self.n_max}: each character has only 20 drawings")

    def require_data(self) -> None:
        super().require_data()
        omniglot.load()  # report a damaged file now rather than after the run has started


# ---- data ---------------------------------------------------------------------------------------------------------


class Sets(NamedTuple):
    """B sets of images, without padding, one set after the other."""

    images: np.ndarray  # (N, 2): character and drawing of each image
    mask: np.ndarray  # (B, n_max): True for N elements in total
    counts: np.ndarray  # (B,): different characters

    def part(self, rows: slice) -> Sets:
        """Some consecutive sets."""
        ends = np.concatenate([[0], self.mask.sum(axis=1).cumsum()])
        return Sets(self.images[ends[rows.start] : ends[rows.stop]], self.mask[rows], self.counts[rows])


def images_of(data: str) -> dict[str, np.ndarray]:
    """{"train", "validation", "test"}: images (characters, 20, 28, 28)"""
    return glyphs.synthesize(TEST_SEED) if data == SYNTHETIC else omniglot.load()


def sample(config: Config, rng: np.random.Generator, B: int, characters: int) -> Sets:
    """B sets by the paper's procedure: n ~ Unif{6 … 10}, c ~ Unif{1 … n}, c characters, n drawings of them in all.

    Each character gets one drawing, and each of the other n − c images is of one of the c characters, chosen uniformly;
    no drawing occurs twice.
    """
    sizes = rng.integers(config.n_min, config.n_max, size=B, endpoint=True)
    counts = rng.integers(1, sizes, endpoint=True)
    images = []
    for n, c in zip(sizes, counts, strict=True):
        which = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])  # an index into the c characters
        order = rng.random((c, omniglot.DRAWERS)).argsort(axis=1)  # the order in which each one's drawings are taken
        taken = (which[:, None] == which[:, None].T) & np.tri(n, k=-1, dtype=bool)  # (n, n): earlier images of the same
        chosen = rng.choice(characters, size=c, replace=False)
        images.append(np.stack([chosen[which], order[which, taken.sum(axis=1)]], axis=1))
    return Sets(np.concatenate(images), np.arange(config.n_max) < sizes[:, None], counts)


def eval_batches(config: Config, purpose: int, count: int, characters: int) -> Iterator[Sets]:
    """Sets to evaluate on, a hundred per batch; the same for every run."""
    for i, first in enumerate(range(0, count, 100)):
        yield sample(config, rng_for(TEST_SEED, purpose, i), min(100, count - first), characters)


# ---- model --------------------------------------------------------------------------------------------------------


class Counter(Module):
    """λ = softplus(f({φ(x₁), …, φ(xₙ)})): convolutions φ on each image, then a set network f.

    The output's bias starts where λ is the mean count.  If λ started near 0.7, all counts would pull it up for the
    first hundred steps, and features would die on the way.
    """

    def __init__(self, config: Config, rng: np.random.Generator) -> None:
        channels = [1, *[CHANNELS] * CONVS]
        self.convolutions = Sequential(*(ConvNorm(a, CHANNELS, stride=2, rng=rng) for a in channels[:-1]))
        width = CHANNELS * SIDE**2  # 256
        self.network = build(config.arch, task="unique_characters", d_in=width, d_out=1, style=config.style, rng=rng)
        mean_count = ((config.n_min + config.n_max) / 2 + 1) / 2  # c ~ Unif{1 … n}
        self.network.head.bias.data[:] = np.log(np.expm1(mean_count))  # softplus⁻¹

    def forward(self, images: Any, mask: Array) -> Tensor:
        """Images (N, 1, 28, 28), one for each True of the mask (B, n), to λ (B,).

        Sets are padded after the convolutions: padding images would change the statistics of batch norm.
        """
        Z = self.convolutions(images)  # (N, 64, 2, 2)
        index = np.where(mask, np.cumsum(mask).reshape(mask.shape) - 1, 0)  # padding: any image, masked out
        index, mask = (backend.to_device_of(a, Z.data) for a in (index, mask))
        Z = Z.reshape(len(Z), CHANNELS * SIDE**2)[index]  # (B, n, 256)
        return softplus(self.network(Z, mask)[:, 0])


def network(config: Config) -> Counter:
    return Counter(config, rng_for(config.seed, WEIGHTS)).astype(config.dtype).to(config.device)


def pixels(images: Array, sets: Sets) -> Array:
    """The pixels (N, 1, 28, 28) of the sets, on the device of all images (characters, 20, 28, 28)."""
    character, drawing = (backend.to_device_of(index, images) for index in sets.images.T)
    return images[character, drawing][:, None]


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, Any]:
    parts = images_of(config.data)
    training = backend.to_device(parts["train"].astype(config.dtype), config.device)  # all of them at once
    net = network(config)
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), config.schedule()
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        sets = sample(config, rng_for(config.seed, TRAINING, step), config.batch, len(training))
        sets = sets.part(run.rows(config.batch))
        rate = net(pixels(training, sets), sets.mask)
        loss = poisson_negative_log_likelihood(rate, count=backend.to_device_of(sets.counts, rate.data))
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            scores = evaluate(config, net, parts["validation"], VALIDATION, config.validation_sets)
            run.record(Accuracy=scores["Accuracy"], MAE=scores["MAE"])
    return evaluate(config, net, parts["test"], TEST, config.test_sets)


def rates(net: Counter, images: np.ndarray, sets: Sets) -> np.ndarray:
    """λ (B,) of the sets, with the running statistics of batch norm."""
    parameter = net.network.head.weight
    X = backend.to_device(pixels(images, sets).astype(parameter.dtype), parameter.device)
    with evaluating(net):
        return net(X, sets.mask).numpy()


def evaluate(config: Config, net: Counter, images: np.ndarray, purpose: int, count: int) -> dict[str, Any]:
    """How often ⌊λ⌋, the mode of Poisson(λ), is the count c; how often the nearest integer is; mean |λ − c|."""
    found, counts = [], []
    for sets in eval_batches(config, purpose, count, len(images)):
        found.append(rates(net, images, sets))
        counts.append(sets.counts)
    found, counts = np.concatenate(found).astype("float64"), np.concatenate(counts)
    right = np.floor(found) == counts
    return {
        "Accuracy": float(right.mean()),
        "Nearest": float((np.rint(found) == counts).mean()),
        "MAE": float(np.abs(found - counts).mean()),
        "constant": float(np.bincount(counts).max() / len(counts)),
        "Accuracy of count": {int(c): float(right[counts == c].mean()) for c in np.unique(counts)},
    }


# ---- figures ------------------------------------------------------------------------------------------------------


def examples(config: Config, net: Counter) -> dict[str, Any]:
    """What a figure shows: six test sets with the network's λ."""
    images = images_of(config.data)["test"]
    sets = next(eval_batches(config, TEST, characters.SETS, len(images)))
    pictures = (255 * images[tuple(sets.images.T)]).astype(np.uint8)
    shown = {"pictures": pictures, "characters": sets.images[:, 0], "mask": sets.mask, "counts": sets.counts}
    return shown | {"rates": rates(net, images, sets)}


EXPERIMENT = Experiment(
    name="unique_characters",
    title="Counting unique characters",
    description=__doc__,
    config=Config,
    presets={
        "quick": {
            "steps": 1_000,
            "lr": 1e-3,
            "drop": 0.8,
            "evaluate_every": 100,
            "validation_sets": 200,
            "test_sets": 1_000,
        },
        "paper": {},
    },
    rows=ROWS["unique_characters"],
    quick_rows=("rFF + Pooling", "rFF + PMA", "SAB + PMA (1)"),
    model=network,
    train=train,
    table=Table(
        columns={"Accuracy": "Accuracy", "Nearest": "nearest integer", "MAE": "mean |λ − c|"},
        references={"Best constant": {"Accuracy": "constant"}},
        reference_options=("n_min", "n_max", "test_sets"),
        printed=paper.TABLES["unique_characters"],
        notes=(
            "Accuracy: how often the mode of the network's Poisson distribution, ⌊λ⌋, equals the number c of different "
            "characters, in sets of characters that never occur in training. The loss is smallest at λ = c, exactly "
            "where the mode changes from c − 1 to c, so a network that is almost certain is wrong half of the time; "
            "nearest integer: how often the integer nearest to λ is c. Best constant: always the most frequent count. "
            "The paper's numbers are after 200,000 steps, on a split of the characters that it does not specify."
        ),
    ),
    figures={
        "learning_curves": learning_curves(
            {"loss": ("training loss (−log Poisson)", 1), "Accuracy": ("validation accuracy", 1)}
        ),
        "characters": characters.sets(examples),
        "inducing_points": characters.inducing_points,
        "accuracy_by_count": metric_against(
            "Accuracy of count",
            "different characters in the set",
            "accuracy",
            "Accuracy against the number of different characters",
        ),
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "unique_characters", *sys.argv[1:]]))
