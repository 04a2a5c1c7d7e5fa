"""Set anomaly detection: seven of eight faces share two attributes; which one has neither?

The network is never told the attributes.  Convolutions turn each face into a vector, a set network sees all eight, and
its output for the set gives each face a score; the highest should be that of the odd one out.

    python -m tasks.set_anomaly --preset quick
    python -m tasks.set_anomaly --arch "SAB + PMA" --data celeba --preset paper
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor, backend, cross_entropy, logsumexp, relu
from autograd.backend import Array
from minisets import build
from minisets.labels import ROWS
from minisets.nn import Conv2d, Dropout, Linear, Module, Sequential, evaluating
from minisets.optim import Adam, exponential
from tasks.data import DataError, OnData, celeba, data_option
from tasks.data.celeba import Faces
from tasks.data.standins import faces as stand_in
from tasks.harness import paper
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import SYNTHETIC, SampledSets, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, rng_for
from tasks.metrics.ranking import area_under_roc, average_precision
from tasks.plots import faces
from tasks.plots.curves import learning_curves

N = 8  # faces in a set, one of them odd
SETS_SEED = 0  # the sets are the same for every run
PARTS = {TRAINING: 0, VALIDATION: 1, TEST: 2}  # the part of the images that sets are made of; no image is in two parts

COLUMNS = {
    "AUROC": "AUROC, mean of sets",
    "AUPR": "AUPR, mean of sets",
    "AUROC of all": "AUROC, pooled",
    "AUPR of all": "AUPR, pooled",
}


@dataclass(frozen=True, kw_only=True)
class Config(OnData, SampledSets):
    data: str = data_option("celeba")
    steps: int = option(paper=1_000)
    batch: int = option(32)
    lr: float = option(paper=1e-4)
    decay: float = option(0.1, "the learning rate decays exponentially to this fraction at the last step")
    dropout: float = option(0.1, "dropout rate after each layer of the image encoder", least=0)
    size: int = option(64, "height and width of the images, at most 178, the width of CelebA's", least=8, most=178)
    train_sets: int = option(help="sets to train on", paper=800, least=1, most=10_000_000)
    test_sets: int = option(paper=200)
    evaluate_every: int = option(100)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.dropout < 1, f"--dropout must be less than 1, given {self.dropout}")
        enough = self.batch <= self.train_sets
        self.require(enough, f"--batch {self.batch} is more than --train-sets {self.train_sets}")

    def require_data(self) -> None:
        super().require_data()
        counts = {TRAINING: self.train_sets, VALIDATION: self.validation_sets, TEST: self.test_sets}
        for purpose, count in counts.items():  # report a missing image now rather than after the run has started
            sets_for(self, purpose, count)


# ---- data ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sets:
    """Sets of eight faces, as indices of images."""

    images: np.ndarray  # (images, 3, size, size) of uint8
    members: np.ndarray  # (sets, 8): indices into images
    odd: np.ndarray  # (sets,): the position of the odd one out
    shared: list[tuple[str, str]]  # the two attributes that the others have and it lacks

    def batch(self, which: np.ndarray | slice, device: str) -> tuple[Array, Array]:
        """X (B, 8, 3, size, size) of uint8, and the position of the odd one (B,)"""
        X, odd = self.images[self.members[which]], self.odd[which]
        return backend.to_device(X, device), backend.to_device(odd, device)


def sample(rng: np.random.Generator, data: Faces, part: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Image indices (sets, 8), in random order; the position of the odd one (sets,); two attributes (sets, 2).

    The attributes are sampled from all pairs that at least seven images of the part share and at least one lacks.
    """
    candidates = np.flatnonzero(data.split == part)
    has = np.ascontiguousarray(data.attributes[candidates].T)  # (attributes, images)
    both, neither = (marks.astype("float32") @ marks.astype("float32").T for marks in (has, ~has))  # numbers of images
    pairs = np.argwhere(np.triu((both >= N - 1) & (neither >= 1), 1))
    if not len(pairs):
        raise DataError(f"no two attributes are shared by {N - 1} and lacked by one of the {len(candidates):,} images")
    members, odd, shared = (np.empty(shape, dtype=np.int64) for shape in ((count, N), count, (count, 2)))
    for i in range(count):
        a, b = shared[i] = pairs[rng.integers(len(pairs))]
        normal = rng.choice(np.flatnonzero(has[a] & has[b]), N - 1, replace=False)
        order = rng.permutation(N)
        members[i] = candidates[np.append(normal, rng.choice(np.flatnonzero(~(has[a] | has[b]))))[order]]
        odd[i] = np.flatnonzero(order == N - 1)[0]
    return members, odd, shared


def sets_for(config: Config, purpose: int, count: int) -> Sets:
    """The sets to train, validate or test on; only their images are loaded."""
    data = stand_in.load() if config.data == SYNTHETIC else celeba.load()
    members, odd, shared = sample(rng_for(SETS_SEED, purpose), data, PARTS[purpose], count)
    numbers, rows = np.unique(members, return_inverse=True)
    names = [(data.names[a], data.names[b]) for a, b in shared]
    return Sets(data.images(numbers, config.size), rows.reshape(members.shape), odd, names)


# ---- model --------------------------------------------------------------------------------------------------------


class Detector(Module):
    """sᵢ = log Σⱼ exp ⟨yⱼ, zᵢ⟩,   zᵢ = CNN(xᵢ),   y₁ … y₈ = net({z₁ … zₙ}), the architecture of the table's row

    The architecture table ends with FC(256·8), and the paper does not say how it yields scores.  Eight scores by
    position would be no better than guessing: the network is invariant to order, so a shuffled set gets the same eight.
    But 256 is the width of zᵢ, so we read eight vectors yⱼ of that width, and an image's score is the soft maximum of
    its inner products with them.  Shuffling the images shuffles the scores.
    """

    def __init__(self, arch: str, *, size: int, dropout: float, style: str, rng: np.random.Generator) -> None:
        drop, channels, layers = Dropout(dropout, rng=rng), (3, 32, 64, 128), []
        for c_in, c_out in itertools.pairwise(channels):
            layers += [Conv2d(c_in, c_out, 3, stride=2, padding=1, gain=2, rng=rng), relu, drop]
            size = (size + 1) // 2
        self.convolutions = Sequential(*layers)
        widths, layers = (128 * size * size, 1024, 512, 256), []
        for d_in, d_out in itertools.pairwise(widths):
            layers += [Linear(d_in, d_out, gain=1, rng=rng), drop]  # no activation, as in the table
        self.vector = Sequential(*layers, Linear(256, 256, gain=1, rng=rng))
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


def network(config: Config) -> Detector:
    rng, choices = rng_for(config.seed, WEIGHTS), {"dropout": config.dropout, "style": config.style}
    return Detector(config.arch, size=config.size, rng=rng, **choices).astype(config.dtype).to(config.device)


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net, sets = network(config), sets_for(config, TRAINING, config.train_sets)
    optimizer = Adam(net.parameters(), lr=config.lr)
    schedule = exponential(config.lr, config.decay ** (1 / config.steps))
    validation = sets_for(config, VALIDATION, config.validation_sets)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        which = rng_for(config.seed, TRAINING, step).choice(config.train_sets, config.batch, replace=False)
        X, odd = sets.batch(run.share(which), config.device)
        loss = cross_entropy(net(X), labels=odd).mean()
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            metrics = evaluate(scores(net, validation), validation.odd)
            run.record(AUROC=metrics["AUROC"], AUPR=metrics["AUPR"])
    test = sets_for(config, TEST, config.test_sets)
    guess = {"AUROC": 0.5, "AUPR": float(np.mean(1 / np.arange(1, N + 1))), "AUROC of all": 0.5, "AUPR of all": 1 / N}
    return evaluate(scores(net, test), test.odd) | {f"random {name}": value for name, value in guess.items()}


# ---- metrics ------------------------------------------------------------------------------------------------------


def scores(net: Detector, sets: Sets) -> np.ndarray:
    """The scores of all images, (sets, 8), without dropout."""
    device, parts = net.set.head.weight.device, [slice(i, i + 50) for i in range(0, len(sets.odd), 50)]
    with evaluating(net):
        return np.concatenate([net(sets.batch(part, device)[0]).numpy() for part in parts]).astype("float64")


def evaluate(s: np.ndarray, odd: np.ndarray) -> dict[str, float]:
    """AUROC and AUPR: averaged over the sets, and over all images pooled, ranked by their softmax within the set.

    If the odd image has rank r in its set, these are 1 − (r − 1)/7 and 1/r; random guessing has ½ and the mean of 1/r.
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


def examples(config: Config, net: Detector) -> dict[str, Any]:
    """What the figure shows: eight test sets with the network's scores, and how often it is right on all of them."""
    test = sets_for(config, TEST, config.test_sets)
    s = scores(net, test)
    shown = {"images": test.images[test.members[:8]], "odd": test.odd[:8], "shared": np.array(test.shared[:8])}
    return shown | {"chosen": s[:8].argmax(axis=1), "accuracy": np.mean(s.argmax(axis=1) == test.odd)}


EXPERIMENT = Experiment(
    name="set_anomaly",
    title="Set anomaly detection",
    description=__doc__,
    config=Config,
    presets={
        # Small images make a step cheap.  The rest was chosen with SAB + PMA on validation sets, so that networks come
        # to differ in few steps; more test sets, or the noise would be as large as some differences.
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
    },
    rows=ROWS["set_anomaly"],
    quick_rows=("rFF + Pooling", "SAB + Pooling", "SAB + PMA"),
    model=network,
    train=train,
    table=Table(
        columns=COLUMNS,
        references={"Random guess": {name: f"random {name}" for name in COLUMNS}},
        printed=paper.TABLES["set_anomaly"],
        notes=(
            "AUROC, AUPR (average precision): how high the odd one of eight is ranked; 1 is best. Averaged over the "
            "test sets, and over all test images pooled, ranked by their softmax. The paper does not say which it "
            "reports. Its 0.125 for a random guess is that of pooling, while its networks' AUPR, 0.41 beside an AUROC "
            "of 0.56, fits the average over sets, where a random guess has 0.34; so its numbers stand there."
        ),
    ),
    figures={
        "faces": faces.sets(examples),
        "learning_curves": learning_curves(
            {"loss": ("training loss", 1), "AUROC": ("validation AUROC, mean of sets", 1)}
        ),
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "set_anomaly", *sys.argv[1:]]))
