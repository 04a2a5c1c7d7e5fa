"""Counting unique characters: how many different ones are in a set of handwritten images?

A set has 6 to 10 images of 1 to n different characters, and the characters of the test were never seen in training.  To
count, a network has to compare the images with each other, which is what attention between elements does; pooling what
is known of each image alone does it badly.  A convolutional encoder, shared by all images, comes first.  The answer is
the rate λ of a Poisson distribution whose mode, the whole part of λ, should be the count.

    python -m tasks.unique_characters --preset quick
    python -m tasks.unique_characters --arch "ISAB (4) + PMA" --arch "SAB + PMA (1)" --data omniglot --steps 20,000
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from autograd import Tensor, backend, no_grad, poisson_negative_log_likelihood, softplus
from autograd.backend import Array
from minisets import build, checkpoint
from minisets.architectures import ROWS
from minisets.nn import ConvNorm, Module, Sequential
from minisets.optim import Adam, drop_at
from tasks import character_figures
from tasks.data import OnData, data_option, glyphs, omniglot
from tasks.figures import by_label, learning_curves, protocol
from tasks.folder import Folder
from tasks.options import SYNTHETIC, option
from tasks.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, stream

TEST_SEED = 0  # the test sets are the same for every run, and so are the characters of the stand-in
CHANNELS, CONVS, SIDE = 64, 4, 2  # 28 × 28 pixels, halved four times, leave 2 × 2


@dataclass(frozen=True, kw_only=True)
class Config(OnData):
    data: str = data_option("omniglot")
    arch: str = option("SAB + PMA (1)", "architecture: a label of the paper's table, or all; may be repeated")
    steps: int = option(200_000, "training steps", paper=200_000, least=1)
    batch: int = option(32, "sets in a step", paper=32, least=1)
    lr: float = option(1e-4, "learning rate of Adam", paper=1e-4)
    drop: float = option(1.0, "fraction of the steps after which the learning rate is a tenth; 1: never", paper=1.0)
    n_min: int = option(6, "images of the smallest set", paper=6, least=1)
    n_max: int = option(10, "images of the largest set", paper=10, least=1)
    validation_sets: int = option(500, "sets to evaluate on while training", least=1)
    test_sets: int = option(5_000, "sets to test on", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.drop <= 1, f"--drop must lie between 0 and 1, given {self.drop}")
        self.require(self.n_min <= self.n_max, f"--n-min {self.n_min} is more than --n-max {self.n_max}")
        self.require(self.n_max <= omniglot.DRAWERS, f"--n-max {self.n_max}: each character has but 20 drawings")


TITLE = "Counting unique characters"
LABELS = ROWS["unique_characters"]
QUICK_LABELS = ("rFF + Pooling", "rFF + PMA", "SAB + PMA (1)")
PRESETS = {
    "quick": {
        "steps": 1_000,
        "lr": 1e-3,
        "drop": 0.8,
        "evaluate_every": 100,
        "validation_sets": 200,
        "test_sets": 1_000,
    },
    "paper": {},
}
COLUMNS = {"Accuracy": "Accuracy", "Nearest": "nearest to λ", "MAE": "mean |λ − c|"}
REFERENCES = {"A constant": {"Accuracy": "constant"}}
REFERENCE_OPTIONS = ("n_min", "n_max", "test_sets")
NOTES = (
    "Accuracy: how often the mode of the network's Poisson distribution, the whole part of λ, is the number c of",
    "different characters in sets of characters never seen in training.  The loss is smallest at λ = c, just where the",
    "mode changes from c − 1 to c, so a network that is almost sure is wrong half the time; nearest to λ: how often",
    "the whole number nearest to λ is c.  A constant: always the most frequent number.  The paper's numbers are after",
    "200,000 steps, on a split of the characters that it does not name.",
)


# ---- data ---------------------------------------------------------------------------------------------------------


class Sets(NamedTuple):
    """B sets of images: only those that are there, one set after the other."""

    images: np.ndarray  # (N, 2): character and drawing of each image
    mask: np.ndarray  # (B, n_max): who is there, N in all
    counts: np.ndarray  # (B,): different characters


def images_of(data: str) -> dict[str, np.ndarray]:
    """{"train", "validation", "test"}: images (characters, 20, 28, 28)"""
    return glyphs.synthesise(TEST_SEED) if data == SYNTHETIC else omniglot.load()


def draw(config: Config, rng: np.random.Generator, B: int, characters: int) -> Sets:
    """B sets by the paper's procedure: n ~ Unif{6 … 10}, c ~ Unif{1 … n}, c characters, n drawings of them in all.

    Each character has one drawing, and each of the n − c others is of one of the characters, all alike likely; drawings
    of a character are different ones.
    """
    sizes = rng.integers(config.n_min, config.n_max, size=B, endpoint=True)
    counts = rng.integers(1, sizes, endpoint=True)
    images = []
    for n, c in zip(sizes, counts, strict=True):
        which = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])  # the first, second, ... of the c
        order = rng.random((c, omniglot.DRAWERS)).argsort(axis=1)  # in which the drawings of each are taken
        taken = (which[:, None] == which[:, None].T) & np.tri(n, k=-1, dtype=bool)  # (n, n): earlier, of the same
        chosen = rng.choice(characters, size=c, replace=False)
        images.append(np.stack([chosen[which], order[which, taken.sum(axis=1)]], axis=1))
    return Sets(np.concatenate(images), np.arange(config.n_max) < sizes[:, None], counts)


def unseen(config: Config, purpose: int, count: int, characters: int) -> Iterator[Sets]:
    """Sets to evaluate on, a hundred at a time; the same ones for every run."""
    for i, first in enumerate(range(0, count, 100)):
        yield draw(config, stream(TEST_SEED, purpose, i), min(100, count - first), characters)


# ---- model --------------------------------------------------------------------------------------------------------


class Counter(Module):
    """λ = softplus(f({φ(x₁), …, φ(xₙ)})): convolutions φ of each image, and a network f on the set of their results."""

    def __init__(self, config: Config, rng: np.random.Generator) -> None:
        channels = [1, *[CHANNELS] * CONVS]
        self.convolutions = Sequential(*(ConvNorm(a, CHANNELS, stride=2, rng=rng) for a in channels[:-1]))
        width = CHANNELS * SIDE**2  # 256
        self.network = build(config.arch, task="unique_characters", d_in=width, d_out=1, style=config.style, rng=rng)

    def forward(self, images: Any, mask: Array) -> Tensor:
        """Images (N, 1, 28, 28) of those that the mask (B, n) says are there, to λ (B,).

        No padding enters the convolutions, where it would change what batch norm sees: sets are padded behind them.
        """
        Z = self.convolutions(images)  # (N, 64, 2, 2)
        places = np.where(
            mask, np.cumsum(mask).reshape(mask.shape) - 1, 0
        )  # the padding: any image, hidden by the mask
        places, mask = (backend.to_device_of(a, Z.data) for a in (places, mask))
        Z = Z.reshape(len(Z), CHANNELS * SIDE**2)[places]  # (B, n, 256)
        return softplus(self.network(Z, mask)[:, 0])


def network(config: Config) -> Counter:
    return Counter(config, stream(config.seed, WEIGHTS)).astype(config.dtype).to(config.device)


def pixels(images: Array, sets: Sets) -> Array:
    """The pixels (N, 1, 28, 28) of the images of sets, wherever all images (characters, 20, 28, 28) are."""
    character, drawing = (backend.to_device_of(index, images) for index in sets.images.T)
    return images[character, drawing][:, None]


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, Any]:
    parts = images_of(config.data)
    seen = backend.to_device(parts["train"].astype(config.dtype), config.device)  # all of them, once
    net = network(config)
    drops = [config.drop] if config.drop < 1 else []  # none: a constant learning rate
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), drop_at(config.lr, drops, config.steps)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        sets = draw(config, stream(config.seed, TRAINING, step), config.batch, len(seen))
        rate = net(pixels(seen, sets), sets.mask)
        loss = poisson_negative_log_likelihood(rate, count=backend.to_device_of(sets.counts, rate.data))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            scores = evaluate(config, net, parts["validation"], VALIDATION, config.validation_sets)
            run.record(Accuracy=scores["Accuracy"], MAE=scores["MAE"])
    return evaluate(config, net, parts["test"], TEST, config.test_sets)


def rates(net: Counter, images: np.ndarray, sets: Sets) -> np.ndarray:
    """λ (B,) of sets, batch norm using its running statistics."""
    parameter = net.network.head.weight
    X = backend.to_device(pixels(images, sets).astype(parameter.dtype), parameter.device)
    net.eval()
    with no_grad():
        found = net(X, sets.mask).numpy()
    net.train()
    return found


def evaluate(config: Config, net: Counter, images: np.ndarray, purpose: int, count: int) -> dict[str, Any]:
    """How often ⌊λ⌋, the mode of Poisson(λ), is the count c, and how often the nearest to λ is; the mean |λ − c|."""
    found, counts = [], []
    for sets in unseen(config, purpose, count, len(images)):
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


def trained(run: Folder) -> tuple[Config, Counter]:
    """The network that a run left behind."""
    config = dataclasses.replace(run.options(), device="cpu")  # wherever it was trained
    net = network(config)
    checkpoint.load(run.checkpoint, model=net)
    return config, net


def sets_figure(runs: list[Folder]) -> Figure | None:
    """Test sets with their true count, and what a network of each architecture (its first run) says."""
    answers = {}
    for label, group in by_label(runs).items():
        kept = [run for run in group if run.checkpoint.exists()]
        if kept and kept[0].options().data_is_there():
            config, net = trained(kept[0])
            images = images_of(config.data)["test"]
            sets = next(unseen(config, TEST, character_figures.SETS, len(images)))
            answers[label] = rates(net, images, sets)
    if not answers:
        return None
    return character_figures.sets(images[tuple(sets.images.T)], sets, answers, f"Test sets ({protocol(runs)})")


FIGURES = {
    "learning_curves": learning_curves(
        {"loss": ("training loss (−log Poisson)", 1), "Accuracy": ("validation accuracy", 1)}
    ),
    "characters": sets_figure,
    "inducing_points": character_figures.inducing_points,
    "accuracy_by_count": character_figures.accuracy_by_count,
}


if __name__ == "__main__":
    from tasks.command import main

    sys.exit(main(["train", "unique_characters", *sys.argv[1:]]))
