"""Amortized clustering of images: a network that looks at a set of images once and says which belong together.

Each set has 100 to 500 images from four random classes of CIFAR-100, each image as the 512 numbers that tasks/vgg.py
makes of it.  As in tasks/clustering.py the network answers with a mixture of Gaussians and is trained to make the set
likely, without ever seeing a label.  Reported is how well the labels that its mixture gives agree with the true classes
(ARI0), and those after one step of EM from it (ARI1), beside EM to convergence (oracle).

    python -m tasks.image_clustering --preset quick
    python -m tasks.vgg --preset paper && python -m tasks.image_clustering --preset paper

In 512 dimensions a few numbers with hardly any variance can outvote all others.  So the features are standardised over
all images, no σ is smaller than SIGMA_FLOOR of that, and all sums of densities are taken of their logarithms.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from autograd import Tensor, backend
from minisets import build, checkpoint
from minisets.architectures import ROWS, Network
from minisets.optim import Adam, drop_at
from tasks.clustering import agreement, evaluate, mean_log_likelihood, predict
from tasks.data import features
from tasks.data.features import D
from tasks.data.options import OnData, data_option
from tasks.harness.options import AUTO, SYNTHETIC, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, stream
from tasks.harness.run_folder import Folder
from tasks.metrics import mixtures
from tasks.plots import clusters as plane
from tasks.plots.curves import by_label, learning_curves, protocol

SIGMA_FLOOR = 0.1  # of a feature whose standard deviation over all images is 1
TEST_SEED = 0  # the test sets are the same for every run


@dataclass(frozen=True, kw_only=True)
class Config(OnData):
    data: str = data_option("cifar100")
    features: str = option("", "folder of features that tasks.vgg made (default: cifar-100-features in MINISETS_DATA)")
    arch: str = option("ISAB (16) + PMA", "architecture: a label of the paper's table, or all; may be repeated")
    steps: int = option(50_000, "training steps", paper=50_000, least=1)
    batch: int = option(10, "sets in a step", paper=10, least=1)
    lr: float = option(1e-4, "learning rate of Adam", paper=1e-4)
    drop: float = option(0.7, "fraction of the steps after which the learning rate is a tenth", paper=0.7)
    k: int = option(4, "classes in a set, and components of a mixture", paper=4, least=2)
    n_min: int = option(100, "images in the smallest set", paper=100, least=1)
    n_max: int = option(500, "images in the largest set", paper=500, least=1)
    test_sets: int = option(1_000, "sets to test on", paper=1_000, least=1)
    validation_sets: int = option(50, "sets to evaluate on while training", least=1)
    em_restarts: int = option(5, "starts of the EM that is run to convergence for reference; 0 leaves it out", least=0)

    def __post_init__(self) -> None:
        if self.data == AUTO and self.features:  # they say themselves of which data they are
            object.__setattr__(self, "data", features.about(Path(self.features))["data"])
        super().__post_init__()
        self.require(self.drop < 1, f"--drop must lie between 0 and 1, given {self.drop}")
        self.require(self.n_min <= self.n_max, f"--n-min {self.n_min} is more than --n-max {self.n_max}")

    def is_there(self) -> bool:
        return (features.place() / "about.json").exists()

    def require_data(self) -> None:
        features.about(self.folder())

    def folder(self) -> Path | None:
        """Where the features are; None for those that are made up."""
        if self.features or self.data != SYNTHETIC:
            return Path(self.features) if self.features else features.place()
        return None

    def check(self) -> None:
        super().check()
        if self.features:
            data = features.about(Path(self.features))["data"]
            self.require(data == self.data, f"--features {self.features} are of the data {data}, not of {self.data}")
        folder = self.folder()
        labels = features.load(folder, "train").labels if folder else features.synthetic_labels()
        counts = np.unique(labels, return_counts=True)[1]
        fewest = int(np.sort(counts)[: self.k].sum())
        self.require(
            len(counts) >= self.k and fewest >= self.n_max,
            f"there are {len(counts)} classes, of which some {self.k} have only {fewest:,} images: too few for sets of "
            f"--k {self.k} classes and up to --n-max {self.n_max:,} images",
        )


TITLE = "Amortized clustering of CIFAR-100"
LABELS = ROWS["image_clustering"]
PRESETS = {
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
}
QUICK_LABELS = ("rFF + Pooling", "rFF + PMA", "ISAB (16) + PMA")
COLUMNS = {"ARI0": "ARI0", "ARI1": "ARI1", "LL0": "LL0/data", "LL1": "LL1/data"}
REFERENCES = {"Oracle": {"ARI0": "oracle", "LL0": "oracle LL"}}
REFERENCE_OPTIONS = ("features", "k", "n_min", "n_max", "test_sets", "em_restarts")
NOTES = (
    "ARI0, ARI1: adjusted Rand index between classes and the labels of the network's mixture, and after one EM step.",
    "LL0, LL1: mean log-likelihood of an image's 512 features, standardised.  Oracle: EM to convergence from k-means++",
    "centres, for each set the most likely of --em-restarts ends.",
)


# ---- data ---------------------------------------------------------------------------------------------------------


class Pool:
    """The features of all images, on the host and on the device, and which images each class has."""

    def __init__(self, config: Config) -> None:
        folder = config.folder()
        found = features.load(folder, "train") if folder else features.synthetic()
        self.vectors, labels = features.standardise(found)
        self.on_device = backend.to_device(self.vectors.astype(config.dtype), config.device)
        self.classes = [np.flatnonzero(labels == c) for c in np.unique(labels)]

    def draw(self, config: Config, rng: np.random.Generator, B: int, ragged: bool) -> tuple:
        """B sets: which images (B, n), the mask (B, n), and to which of its k classes each image belongs (B, n).

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

    def unseen(self, config: Config, purpose: int, count: int) -> Iterator[tuple]:
        """Sets to evaluate on, ten at a time, each of its own size, the same for every run: vectors, mask, labels."""
        for i, first in enumerate(range(0, count, 10)):
            which, mask, labels = self.draw(config, stream(TEST_SEED, purpose, i), min(10, count - first), ragged=True)
            yield self.vectors[which].astype("float64") * mask[..., None], mask, labels


# ---- training -----------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    sizes = {"d_in": D, "d_out": 1 + 2 * D, "outputs": config.k}
    net = build(config.arch, task="image_clustering", **sizes, style=config.style, rng=stream(config.seed, WEIGHTS))
    return net.astype(config.dtype).to(config.device)


def train(config: Config, run: Run) -> dict[str, float]:
    net, pool = network(config), Pool(config)
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), drop_at(config.lr, [config.drop], config.steps)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        which, *_ = pool.draw(config, stream(config.seed, TRAINING, step), config.batch, ragged=False)
        X = Tensor(pool.on_device[backend.to_device(which, config.device)])  # (B, n, 512)
        loss = -mean_log_likelihood(X, None, net(X), SIGMA_FLOOR)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            scores = evaluate(net, pool.unseen(config, VALIDATION, config.validation_sets), SIGMA_FLOOR)
            run.record(ARI0=scores["ARI0"], ARI1=scores["ARI1"], LL0=scores["LL0"])
    return evaluate(net, pool.unseen(config, TEST, config.test_sets), SIGMA_FLOOR) | oracle(config, pool)


def oracle(config: Config, pool: Pool) -> dict[str, float]:
    """EM to convergence on every test set."""
    values, scores = [], []
    for i, (X, mask, labels) in enumerate(pool.unseen(config, TEST, config.test_sets if config.em_restarts else 0)):
        rng, options = stream(TEST_SEED, TEST, 1_000_000 + i), {"restarts": config.em_restarts, "floor": SIGMA_FLOOR}
        likelihood, found = mixtures.em_from_points(rng, X, mask, config.k, **options)
        values += list(likelihood)
        scores += agreement(X, mask, labels, found)
    return {"oracle": float(np.mean(scores)), "oracle LL": float(np.mean(values))} if scores else {}


# ---- figures ------------------------------------------------------------------------------------------------------


def cluster_figure(runs: list[Folder]) -> Figure | None:
    """Six test sets on the plane on which their classes lie furthest apart, a row for each architecture, truth last."""
    rows, pools = {}, {}
    for label, group in by_label(runs).items():
        kept = [run for run in group if run.checkpoint.exists()]
        if kept:
            config = dataclasses.replace(kept[0].options(), device="cpu")  # wherever it was trained
            net = network(config)
            checkpoint.load(kept[0].checkpoint, model=net)
            if config.folder() not in pools:
                pools[config.folder()] = Pool(config)
            X, mask, labels = next(pools[config.folder()].unseen(config, TEST, 6))
            found = mixtures.assign(X, predict(net, X, mask, SIGMA_FLOOR))
            sets = [(x[m], z[m], f[m]) for x, m, z, f in zip(X, mask, labels, found, strict=True)]
            score = np.mean([mixtures.adjusted_rand_index(z, f) for _, z, f in sets])
            rows[f"{label}   ARI0 of these sets {score:.3f}"] = [(_plane(x, z), _renamed(f, z)) for x, z, f in sets]
    if not rows:
        return None
    rows["the classes"] = [(_plane(x, z), z) for x, z, _ in sets]
    return plane.coloured(rows, f"Six test sets, in the colours of what was found ({protocol(runs)})")


def _plane(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Points (n, 512) as (n, 2): the two directions in which the means of the classes differ most."""
    means = np.stack([x[labels == c].mean(axis=0) for c in np.unique(labels)])
    _, _, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return (x - means.mean(axis=0)) @ directions[:2].T


def _renamed(found: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The clusters by the names of the classes that they fit best, so that their colours are the same."""
    k = 1 + max(found.max(), labels.max())
    together = np.zeros((k, k))
    np.add.at(together, (found, labels), 1)
    return linear_sum_assignment(-together)[1][found]


FIGURES = {
    "clusters": cluster_figure,
    "learning_curves": learning_curves(
        {"ARI0": ("validation ARI0", 1), "ARI1": ("validation ARI1", 1)}, references={"EM (test sets)": "oracle"}
    ),
}


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "image_clustering", *sys.argv[1:]]))
