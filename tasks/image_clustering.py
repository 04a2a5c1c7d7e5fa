"""Amortized clustering of images: a network that sees a set of images once and groups those that belong together.

Each set has 100 to 500 images from four random classes of CIFAR-100, each image as the 512 features that tasks/vgg.py
extracts from it.  As in tasks/clustering.py the network outputs a mixture of Gaussians and is trained to maximize the
likelihood of the set, without labels.  Reported is how well the clusters of its mixture agree with the true classes
(ARI0), and those after one EM step from it (ARI1), beside EM to convergence (oracle).

    python -m tasks.image_clustering --preset quick
    python -m tasks.vgg --preset paper && python -m tasks.image_clustering --preset paper

In 512 dimensions a few features with hardly any variance can dominate all others.  The features are therefore
standardized over all images, no σ falls below SIGMA_FLOOR, and densities are summed as logarithms.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograd import Tensor, backend
from minisets import build
from minisets.architectures import Network
from minisets.labels import ROWS
from minisets.optim import Adam
from tasks.clustering import MixtureOptions, agreement, evaluate, mean_log_likelihood, predict
from tasks.data import features
from tasks.data.counts import warn_unless_complete
from tasks.data.features import D
from tasks.data.options import OnData, data_option
from tasks.data.standins import image_features
from tasks.harness import paper
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import AUTO, SYNTHETIC, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, rng_for
from tasks.metrics import mixtures
from tasks.plots import clusters
from tasks.plots.curves import learning_curves

SIGMA_FLOOR = 0.1  # of a feature whose standard deviation over all images is 1
TEST_SEED = 0  # the test sets are the same for every run


@dataclass(frozen=True, kw_only=True)
class Config(MixtureOptions, OnData):  # in this order: OnData alone has the defaults of every trainer
    data: str = data_option("cifar100")
    features: str = option(
        "", "folder of features made by tasks.vgg; by default cifar-100-features in MINISETS_DATA", bookkeeping=True
    )
    lr: float = option(paper=1e-4)
    k: int = option(help="classes in a set, and components of a mixture", paper=4)
    validation_sets: int = option(50)

    def __post_init__(self) -> None:
        if self.data == AUTO and self.features:  # the folder records which data they were made from
            object.__setattr__(self, "data", features.read_about(Path(self.features))["data"])
        super().__post_init__()

    def real_data_is_present(self) -> bool:
        return (features.default_folder() / "about.json").exists()

    def data_is_present(self) -> bool:
        return self.data == SYNTHETIC or (self.folder() / "about.json").exists()

    def require_data(self) -> None:
        features.read_about(self.folder())

    def folder(self) -> Path | None:
        """The folder of the features; None for synthetic ones."""
        if self.features or self.data != SYNTHETIC:
            return Path(self.features) if self.features else features.default_folder()
        return None

    def check(self) -> None:
        super().check()
        if self.features:
            data = features.read_about(Path(self.features))["data"]
            self.require(data == self.data, f"--features {self.features} are of the data {data}, not of {self.data}")
        folder = self.folder()
        labels = features.load(folder, "train").labels if folder else image_features.labels()
        counts = np.unique(labels, return_counts=True)[1]
        if self.data != SYNTHETIC:
            warn_unless_complete("cifar100", "train", folder, images=len(labels), classes=len(counts))
        fewest = int(np.sort(counts)[: self.k].sum())
        self.require(
            len(counts) >= self.k and fewest >= self.n_max,
            f"there are {len(counts)} classes, of which some {self.k} have only {fewest:,} images: too few for sets of "
            f"--k {self.k} classes and up to --n-max {self.n_max:,} images",
        )


# ---- data ---------------------------------------------------------------------------------------------------------


class Pool:
    """The features of all images, on the host and on the device, and the images of each class."""

    def __init__(self, config: Config) -> None:
        folder = config.folder()
        found = features.load(folder, "train") if folder else image_features.synthesize()
        self.vectors, labels = features.standardize(found)
        self.on_device = backend.to_device(self.vectors.astype(config.dtype), config.device)
        self.classes = [np.flatnonzero(labels == c) for c in np.unique(labels)]

    def sample(self, config: Config, rng: np.random.Generator, B: int, ragged: bool) -> tuple:
        """B sets: indices of images (B, n), the mask (B, n), and the class of each image among the set's k (B, n).

        The paper's process: n ~ Unif(100, 500), four of the 100 classes, n different images of these four.
        """
        sizes = np.broadcast_to(rng.integers(config.n_min, config.n_max, size=B if ragged else 1, endpoint=True), B)
        which, labels = np.zeros((2, B, sizes.max()), np.int64)
        for i, n in enumerate(sizes):
            four = [self.classes[c] for c in rng.choice(len(self.classes), config.k, replace=False)]
            kind = np.repeat(np.arange(config.k), [len(one) for one in four])
            chosen = rng.choice(len(kind), n, replace=False)
            which[i, :n], labels[i, :n] = np.concatenate(four)[chosen], kind[chosen]
        return which, np.arange(sizes.max()) < sizes[:, None], labels

    def eval_batches(self, config: Config, purpose: int, count: int) -> Iterator[tuple]:
        """Sets to evaluate on, ten per batch, of mixed sizes, the same for every run: vectors, mask, labels."""
        for i, first in enumerate(range(0, count, 10)):
            which, mask, labels = self.sample(
                config, rng_for(TEST_SEED, purpose, i), min(10, count - first), ragged=True
            )
            yield self.vectors[which].astype("float64") * mask[..., None], mask, labels


# ---- training -----------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    sizes = {"d_in": D, "d_out": 1 + 2 * D, "outputs": config.k}
    net = build(config.arch, task="image_clustering", **sizes, style=config.style, rng=rng_for(config.seed, WEIGHTS))
    return net.astype(config.dtype).to(config.device)


def train(config: Config, run: Run) -> dict[str, float]:
    net, pool = network(config), Pool(config)
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), config.schedule()
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        which, *_ = pool.sample(config, rng_for(config.seed, TRAINING, step), config.batch, ragged=False)
        which = run.share(which)
        X = Tensor(pool.on_device[backend.to_device(which, config.device)])  # (B, n, 512)
        loss = -mean_log_likelihood(X, None, net(X), SIGMA_FLOOR)
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            scores = evaluate(net, pool.eval_batches(config, VALIDATION, config.validation_sets), SIGMA_FLOOR)
            run.record(ARI0=scores["ARI0"], ARI1=scores["ARI1"], LL0=scores["LL0"])
    return evaluate(net, pool.eval_batches(config, TEST, config.test_sets), SIGMA_FLOOR) | oracle(config, pool)


def oracle(config: Config, pool: Pool) -> dict[str, float]:
    """EM to convergence on every test set."""
    values, scores = [], []
    for i, (X, mask, labels) in enumerate(
        pool.eval_batches(config, TEST, config.test_sets if config.em_restarts else 0)
    ):
        rng, options = rng_for(TEST_SEED, TEST, 1_000_000 + i), {"restarts": config.em_restarts, "floor": SIGMA_FLOOR}
        likelihood, found = mixtures.em_from_points(rng, X, mask, config.k, **options)
        values += list(likelihood)
        scores += agreement(X, mask, labels, found)
    return {"oracle": float(np.mean(scores)), "oracle LL": float(np.mean(values))} if scores else {}


# ---- figures ------------------------------------------------------------------------------------------------------


def examples(config: Config, net: Network) -> dict[str, Any]:
    """What the figure shows: six test sets in the plane that separates their classes best, and the clusters found."""
    X, mask, labels = next(Pool(config).eval_batches(config, TEST, 6))
    found = mixtures.assign(X, predict(net, X, mask, SIGMA_FLOOR))
    plane = np.zeros((*labels.shape, 2), "float32")
    for i, present in enumerate(mask):
        plane[i, present] = clusters.separating_plane(X[i, present], labels[i, present])
    scores = [mixtures.adjusted_rand_index(z[m], f[m]) for z, f, m in zip(labels, found, mask, strict=True)]
    return {"plane": plane, "mask": mask, "labels": labels, "found": found, "ari": np.array(scores)}


EXPERIMENT = Experiment(
    name="image_clustering",
    title="Amortized clustering of CIFAR-100",
    description=__doc__,
    config=Config,
    presets={
        # In few steps the authors' blocks, without LayerNorm, learn faster; smaller sets make a step cheaper.
        "quick": {
            "steps": 1_200,
            "style": "authors",
            "lr": 5e-4,
            "n_max": 200,
            "evaluate_every": 100,
            "log_every": 20,
            "validation_sets": 30,
            "test_sets": 100,
            "em_restarts": 2,
        },
        "paper": {},
    },
    rows=ROWS["image_clustering"],
    quick_rows=("rFF + Pooling", "rFF + PMA", "ISAB (16) + PMA"),
    model=network,
    train=train,
    table=Table(
        columns={"ARI0": "ARI0", "ARI1": "ARI1", "LL0": "LL0/data", "LL1": "LL1/data"},
        references={"Oracle": {"ARI0": "oracle", "LL0": "oracle LL"}},
        reference_options=("features", "k", "n_min", "n_max", "test_sets", "em_restarts"),
        printed=paper.TABLES["image_clustering"],
        notes=(
            "ARI0, ARI1: adjusted Rand index between the classes and the clusters of the network's mixture, and after "
            "one EM step. LL0, LL1: mean log-likelihood of an image's 512 standardized features. Oracle: EM to "
            "convergence from k-means++ centers, for each set the most likely of --em-restarts results."
        ),
    ),
    figures={
        "clusters": clusters.labeled_points(examples),
        "learning_curves": learning_curves(
            {"ARI0": ("validation ARI0", 1), "ARI1": ("validation ARI1", 1)}, references={"EM (test sets)": "oracle"}
        ),
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "image_clustering", *sys.argv[1:]]))
