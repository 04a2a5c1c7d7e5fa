"""Set anomaly detection: seven of eight faces share two attributes; which one has neither?

Nobody tells the network the attributes.  Convolutions make a vector of each face, a network of sets looks at all eight,
and what it says of the set gives each face a score; the highest should be that of the odd one out.

    python -m tasks.set_anomaly --preset quick
    python -m tasks.set_anomaly --arch "SAB + PMA" --data celeba --preset paper
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from autograd import Tensor, backend, cross_entropy, logsumexp, no_grad, relu
from autograd.backend import Array
from minisets import build, checkpoint
from minisets.architectures import ROWS
from minisets.nn import Conv2d, Dropout, Linear, Module, Sequential
from minisets.optim import Adam, exponential
from tasks.data import DataError, OnData, celeba, data_option
from tasks.data.standins import faces
from tasks.data.standins.faces import Faces
from tasks.harness.options import SYNTHETIC, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, stream
from tasks.harness.run_folder import Folder
from tasks.metrics.ranking import area_under_roc, average_precision
from tasks.plots.curves import by_label, learning_curves, protocol

N = 8  # faces of a set, one of them odd
SETS_SEED = 0  # the sets are the same for every run
PARTS = {TRAINING: 0, VALIDATION: 1, TEST: 2}  # the images that sets are made of: no face is in two of these parts


@dataclass(frozen=True, kw_only=True)
class Config(OnData):
    data: str = data_option("celeba")
    arch: str = option("SAB + PMA", "architecture: a label of the paper's table, or all; may be repeated")
    steps: int = option(1_000, "training steps", paper=1_000, least=1)
    batch: int = option(32, "sets in a step", least=1)
    lr: float = option(1e-4, "learning rate of Adam", paper=1e-4)
    decay: float = option(0.1, "what is left of the learning rate at the last step; it decays exponentially")
    dropout: float = option(0.1, "probability of dropping a number after each layer of the encoder of images")
    size: int = option(64, "height and width of the images", least=8)
    train_sets: int = option(800, "sets to train on", paper=800, least=1)
    validation_sets: int = option(100, "sets to evaluate on while training", least=1)
    test_sets: int = option(200, "sets to test on", paper=200, least=1)
    evaluate_every: int = option(100, "steps between two evaluations", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.dropout < 1, f"--dropout must be less than 1, given {self.dropout}")
        self.require(self.size <= 178, f"--size must be at most 178, as wide as an image of CelebA; given {self.size}")
        enough = self.batch <= self.train_sets
        self.require(enough, f"--batch {self.batch} is more than the --train-sets {self.train_sets} there are")


TITLE = "Set anomaly detection"
LABELS = ROWS["set_anomaly"]
PRESETS = {
    # Small images make a step cheap.  The rest was chosen, by SAB + PMA on validation sets, so that networks come to
    # differ in few steps.  More test sets, or chance would be as large as some differences.
    "quick": {
        "batch": 16,
        "lr": 5e-4,
        "decay": 0.2,
        "dropout": 0.02,
        "size": 32,
        "style": "authors",
        "train_sets": 20_000,
        "test_sets": 1_000,
    },
    "paper": {},
}
QUICK_LABELS = ("rFF + Pooling", "SAB + Pooling", "SAB + PMA")
COLUMNS = {
    "AUROC": "AUROC, mean of sets",
    "AUPR": "AUPR, mean of sets",
    "AUROC of all": "AUROC, all images",
    "AUPR of all": "AUPR, all images",
}
REFERENCES = {"Random guess": {name: f"random {name}" for name in COLUMNS}}
REFERENCE_OPTIONS = ()
NOTES = (
    "AUROC, AUPR (average precision): how high the odd one of eight is ranked; 1 is best.  Once as the mean of what",
    "each test set has, once for all test images in one list, by their softmax.  The paper does not say which it has.",
    "Its 0.125 for a random guess is that of one list, while its networks' AUPR, 0.41 beside an AUROC of 0.56, fits",
    "the mean of the sets, where a random guess has 0.34; so that is where its numbers stand.",
)


# ---- data ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sets:
    """Sets of eight faces, as numbers of images."""

    images: np.ndarray  # (images, 3, size, size) of uint8
    members: np.ndarray  # (sets, 8): rows of images
    odd: np.ndarray  # (sets,): which of the eight is the odd one out
    shared: list[tuple[str, str]]  # the two attributes that the others have and it has not

    def batch(self, which: np.ndarray | slice, device: str) -> tuple[Array, Array]:
        """X (B, 8, 3, size, size) of uint8, and the place of the odd one (B,)"""
        X, odd = self.images[self.members[which]], self.odd[which]
        return backend.to_device(X, device), backend.to_device(odd, device)


def draw(rng: np.random.Generator, data: Faces, part: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images of so many sets (sets, 8), in random order; the place of the odd one (sets,); two attributes (sets, 2).

    The two attributes are drawn from all pairs that seven images of the part have and that one lacks.
    """
    candidates = np.flatnonzero(data.part == part)
    has = np.ascontiguousarray(data.attributes[candidates].T)  # (attributes, images)
    both, neither = (marks.astype("float32") @ marks.astype("float32").T for marks in (has, ~has))  # how many images
    pairs = np.argwhere(np.triu((both >= N - 1) & (neither >= 1), 1))
    if not len(pairs):
        raise DataError(f"no two attributes are both in {N - 1} and both absent in one of {len(candidates):,} images")
    members, odd, shared = (np.empty(shape, dtype=np.int64) for shape in ((count, N), count, (count, 2)))
    for i in range(count):
        a, b = shared[i] = pairs[rng.integers(len(pairs))]
        normal = rng.choice(np.flatnonzero(has[a] & has[b]), N - 1, replace=False)
        order = rng.permutation(N)
        members[i] = candidates[np.append(normal, rng.choice(np.flatnonzero(~(has[a] | has[b]))))[order]]
        odd[i] = np.flatnonzero(order == N - 1)[0]
    return members, odd, shared


def sets_for(config: Config, purpose: int, count: int) -> Sets:
    """The sets to train, evaluate or test on, with only those images in memory that they have."""
    data = faces.load() if config.data == SYNTHETIC else celeba.load()
    members, odd, shared = draw(stream(SETS_SEED, purpose), data, PARTS[purpose], count)
    numbers, rows = np.unique(members, return_inverse=True)
    names = [(data.names[a], data.names[b]) for a, b in shared]
    return Sets(data.images(numbers, config.size), rows.reshape(members.shape), odd, names)


# ---- model --------------------------------------------------------------------------------------------------------


class Detector(Module):
    """sᵢ = log Σⱼ exp ⟨yⱼ, zᵢ⟩,   zᵢ = CNN(xᵢ),   y₁ … y₈ = the network of the table's row of {z₁ … zₙ}

    The table ends with FC(256·8), and the paper does not say how scores come of it.  Eight scores by position would be
    no better than guessing: the network does not know the order, so a shuffled set gets the same eight.  But 256 is the
    width of zᵢ; so we read eight vectors yⱼ of that width, and an image's score is a soft maximum of its products with
    them.  Shuffle the images, and the scores are shuffled with them.
    """

    def __init__(self, arch: str, *, size: int, dropout: float, style: str, rng: np.random.Generator) -> None:
        drop, channels, layers = Dropout(dropout, rng=rng), (3, 32, 64, 128), []
        for c_in, c_out in itertools.pairwise(channels):
            layers += [Conv2d(c_in, c_out, 3, stride=2, padding=1, rng=rng), relu, drop]
            size = (size + 1) // 2
        self.convolutions = Sequential(*layers)
        widths, layers = (128 * size * size, 1024, 512, 256), []
        for d_in, d_out in itertools.pairwise(widths):
            layers += [Linear(d_in, d_out, rng=rng), drop]  # no activation, as the table has it
        self.vector = Sequential(*layers, Linear(256, 256, rng=rng))
        _keep_the_size(self.convolutions, 6.0)
        _keep_the_size(self.vector, 3.0)
        self.set = build(arch, task="set_anomaly", d_in=256, d_out=256, outputs=N, style=style, rng=rng)

    def embed(self, X: Array) -> Tensor:
        """Images (N, 3, H, W) of uint8 -> vectors (N, 256)"""
        X = self.convolutions(Tensor(X.astype(self.set.head.weight.dtype) / 127.5 - 1))
        return self.vector(X.reshape(len(X), -1))

    def forward(self, X: Array) -> Tensor:
        """Images (B, n, 3, H, W) of uint8 -> scores (B, n)"""
        B, n, *image = X.shape
        Z = self.embed(X.reshape(B * n, *image)).reshape(B, n, 256)
        Y = self.set(Z)  # (B, 8, 256)
        return logsumexp(Z @ Y.swapaxes(-1, -2), axis=-1)


def _keep_the_size(layers: Sequential, gain: float) -> None:
    """Weights from U(±√(gain / fan_in)), 6 where ReLU follows and 3 where not, and biases of 0.

    From PyTorch's U(±√(1 / fan_in)), what tells two faces apart begins a hundredth as large.  On the stand-in this
    decides whether preset quick tells networks apart (one seed, 600 steps, 200 validation sets): SAB + PMA has an AUROC
    of 0.86 from these weights and 0.81 from PyTorch's, rFF + Pooling 0.81 from these.
    """
    for name, parameter in layers.named_parameters():
        parameter.data *= gain**0.5 if name.endswith("weight") else 0.0


def network(config: Config) -> Detector:
    rng, choices = stream(config.seed, WEIGHTS), {"dropout": config.dropout, "style": config.style}
    return Detector(config.arch, size=config.size, rng=rng, **choices).astype(config.dtype).to(config.device)


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net, sets = network(config), sets_for(config, TRAINING, config.train_sets)
    optimizer = Adam(net.parameters(), lr=config.lr)
    schedule = exponential(config.lr, config.decay ** (1 / config.steps))
    validation = sets_for(config, VALIDATION, config.validation_sets)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        which = stream(config.seed, TRAINING, step).choice(config.train_sets, config.batch, replace=False)
        X, odd = sets.batch(which, config.device)
        loss = cross_entropy(net(X), labels=odd).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            measured = evaluate(scores(net, validation), validation.odd)
            run.record(AUROC=measured["AUROC"], AUPR=measured["AUPR"])
    test = sets_for(config, TEST, config.test_sets)
    guess = {"AUROC": 0.5, "AUPR": float(np.mean(1 / np.arange(1, N + 1))), "AUROC of all": 0.5, "AUPR of all": 1 / N}
    return evaluate(scores(net, test), test.odd) | {f"random {name}": value for name, value in guess.items()}


# ---- metrics ------------------------------------------------------------------------------------------------------


def scores(net: Detector, sets: Sets) -> np.ndarray:
    """The scores of all images, (sets, 8), without dropout."""
    device, together = net.set.head.weight.device, 50
    parts = [slice(i, i + together) for i in range(0, len(sets.odd), together)]
    net.eval()
    with no_grad():
        found = np.concatenate([net(sets.batch(part, device)[0]).numpy() for part in parts])
    net.train()
    return found.astype("float64")


def evaluate(s: np.ndarray, odd: np.ndarray) -> dict[str, float]:
    """AUROC and AUPR: the mean of those of each set, and of all images in one list, by the softmax over their set.

    In a set with one odd image of rank r they are 1 − (r − 1)/7 and 1/r; the random guess has ½ and the mean of 1/r.
    """
    positive = np.arange(N) == odd[:, None]
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return {
        "AUROC": float(np.mean([area_under_roc(*one) for one in zip(s, positive, strict=True)])),
        "AUPR": float(np.mean([average_precision(*one) for one in zip(s, positive, strict=True)])),
        "AUROC of all": area_under_roc(p, positive),
        "AUPR of all": average_precision(p, positive),
        "found": float(np.mean(s.argmax(axis=1) == odd)),
    }


# ---- figures ------------------------------------------------------------------------------------------------------


def faces_figure(runs: list[Folder]) -> Figure | None:
    """The paper's figure: a row for each of eight test sets; the odd one framed in red, the network's choice marked."""
    run = next((run for group in reversed(by_label(runs).values()) for run in group if run.checkpoint.exists()), None)
    config = replace(run.options(), device="cpu") if run else None
    if config is None or (config.data != SYNTHETIC and not config.is_there()):
        return None
    net, test = network(config), sets_for(config, TEST, config.test_sets)
    checkpoint.load(run.checkpoint, model=net)
    s = scores(net, test)
    rows = min(8, len(s))
    figure = Figure(figsize=(8.6, 0.85 * rows + 0.9), layout="constrained")
    grid = figure.subplots(rows, N, squeeze=False)
    for axes, members, odd, shared, row in zip(grid, test.members, test.odd, test.shared, s, strict=False):
        for i, (axis, image) in enumerate(zip(axes, members, strict=True)):
            axis.imshow(test.images[image].transpose(1, 2, 0))
            axis.axis("off")
            if i == odd:
                frame = {"transform": axis.transAxes, "fill": False, "edgecolor": "#dd1111", "linewidth": 4}
                axis.add_patch(Rectangle((0, 0), 1, 1, clip_on=False, **frame))
            if i == row.argmax():
                axis.plot(
                    0.12, 0.86, "o", transform=axis.transAxes, color="white", markeredgecolor="black", markersize=8
                )
        text = "\n".join(name.replace("_", " ") for name in shared)
        axes[-1].text(1.12, 0.5, text, transform=axes[-1].transAxes, va="center", fontsize=9)
    found = np.mean(s.argmax(axis=1) == test.odd)
    figure.suptitle(
        f"Red: the one without the two attributes.  White dot: the choice of {config.arch}, right in {found:.0%} of "
        f"{len(s):,} test sets\n({protocol([run])})",
        fontsize=9,
    )
    return figure


FIGURES = {
    "faces": faces_figure,
    "learning_curves": learning_curves({"loss": ("training loss", 1), "AUROC": ("validation AUROC, mean of sets", 1)}),
}


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "set_anomaly", *sys.argv[1:]]))
