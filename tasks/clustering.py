"""Amortized clustering: a network that sees a set of points once and outputs the mixture they came from.

Each set has 100 to 500 points in the plane, sampled from four Gaussians.  The network maps the set to the parameters of
a mixture and is trained to maximize the likelihood of the set; no labels are used.  Reported are the mean
log-likelihood of a point under the network's mixture (LL0) and after one EM step from it (LL1), beside that of the true
mixtures (oracle).

    python -m tasks.clustering --preset quick
    python -m tasks.clustering --arch "ISAB (16) + PMA" --preset paper --out runs/isab16
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from autograd import Tensor, backend, gaussian_mixture_log_likelihood, log_softmax, softplus
from autograd.backend import Array
from minisets import build, record_attention
from minisets.architectures import Network
from minisets.labels import ROWS, parse
from minisets.nn import evaluating
from minisets.optim import Adam
from tasks.harness import paper
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import LearningRate, SampledSets, SetSizes, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, rng_for
from tasks.metrics import mixtures
from tasks.metrics.mixtures import SIGMA_FLOOR, Mixture
from tasks.plots import clusters
from tasks.plots.curves import learning_curves

D = 2  # points in the plane
TEST_SEED = 0  # the test sets are the same for every run


@dataclass(frozen=True, kw_only=True)
class MixtureOptions(SetSizes, LearningRate, SampledSets):
    """The options of clustering by mixtures, of points here and of images in tasks/image_clustering.py."""

    arch: str = option("ISAB (16) + PMA")
    steps: int = option(paper=50_000)
    batch: int = option(paper=10)
    drop: float = option(paper=0.7)
    k: int = option(help="components of a mixture", paper=4, least=2)
    n_min: int = option(paper=100)
    n_max: int = option(paper=500)
    test_sets: int = option(paper=1_000)
    em_restarts: int = option(
        5, "restarts of the EM that is run to convergence for reference; 0: no EM", least=0, bookkeeping=True
    )


@dataclass(frozen=True, kw_only=True)
class Config(MixtureOptions):
    lr: float = option(paper=1e-3)
    ragged: bool = option(False, "mix set sizes within a batch, with masks; otherwise one size per batch")

    TASK: ClassVar[str] = "clustering"  # the rows of minisets.architectures


# ---- data ---------------------------------------------------------------------------------------------------------


def sample(config: Config, rng: np.random.Generator, B: int, ragged: bool) -> tuple:
    """B sets: points (B, n, 2), mask (B, n), labels (B, n), and the mixtures they were sampled from."""
    sizes = rng.integers(config.n_min, config.n_max, size=B if ragged else 1, endpoint=True)
    return mixtures.sample(rng, np.broadcast_to(sizes, B), k=config.k, D=D)


def eval_batches(config: Config, purpose: int, count: int) -> Iterator[tuple]:
    """Sets to evaluate on, ten per batch, of mixed sizes; the same for every run."""
    for i, first in enumerate(range(0, count, 10)):
        yield sample(config, rng_for(TEST_SEED, purpose, i), min(10, count - first), ragged=True)


# ---- model --------------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    rng = rng_for(config.seed, WEIGHTS)
    net = build(config.arch, task=config.TASK, d_in=D, d_out=1 + 2 * D, outputs=config.k, style=config.style, rng=rng)
    return net.astype(config.dtype).to(config.device)


def parameters(Y: Tensor, floor: float = SIGMA_FLOOR) -> tuple[Tensor, Tensor, Tensor]:
    """The network's output (B, k, 1 + 2D) as log π (B, k), μ (B, k, D) and σ (B, k, D)."""
    D = Y.shape[-1] // 2
    return log_softmax(Y[..., 0]), Y[..., 1 : 1 + D], softplus(Y[..., 1 + D :]) + floor


def predict(net: Network, X: np.ndarray, mask: np.ndarray, floor: float = SIGMA_FLOOR) -> Mixture:
    """The network's mixtures, on the host in float64."""
    with evaluating(net):
        return Mixture(*(p.numpy().astype("float64") for p in parameters(net(X, mask), floor)))


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net = network(config)
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), config.schedule()
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        X, mask, *_ = sample(config, rng_for(config.seed, TRAINING, step), config.batch, config.ragged)
        X, mask = run.share(X, mask)
        X = Tensor(backend.to_device(X.astype(config.dtype), config.device))
        mask = backend.to_device(mask, config.device) if config.ragged else None
        loss = -mean_log_likelihood(X, mask, net(X, mask))
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            scores = evaluate(net, eval_batches(config, VALIDATION, config.validation_sets))
            run.record(LL0=scores["LL0"], LL1=scores["LL1"])
    return evaluate(net, eval_batches(config, TEST, config.test_sets)) | references(config)


def mean_log_likelihood(X: Tensor, mask: Array | None, Y: Tensor, floor: float = SIGMA_FLOOR) -> Tensor:
    """log p(X) / n, averaged over the sets."""
    values = gaussian_mixture_log_likelihood(X, *parameters(Y, floor))  # (B, n)
    if mask is None:
        return values.mean()
    return (values * (mask / mask.sum(axis=1, keepdims=True))).sum() / len(mask)


# ---- metrics ------------------------------------------------------------------------------------------------------


def evaluate(net: Network, batches: Iterator[tuple], floor: float = SIGMA_FLOOR) -> dict[str, float]:
    """LL and ARI of the network's mixtures (0) and of one EM step from them (1), averaged over the sets."""
    scores: dict[str, list[float]] = {"LL0": [], "LL1": [], "ARI0": [], "ARI1": []}
    for X, mask, labels, *_ in batches:
        found = predict(net, X, mask, floor)
        for i, mixture in enumerate((found, mixtures.em_step(X, mask, found, floor))):
            scores[f"LL{i}"] += list(mixtures.log_likelihood(X, mask, mixture))
            scores[f"ARI{i}"] += agreement(X, mask, labels, mixture)
    return {name: float(np.mean(values)) for name, values in scores.items()}


def references(config: Config) -> dict[str, float]:
    """Rows without a network: the true mixtures, and EM to convergence."""
    scores: dict[str, list[float]] = {"oracle": [], "oracle ARI": [], "EM": [], "EM ARI": []}
    for i, (X, mask, labels, truth) in enumerate(eval_batches(config, TEST, config.test_sets)):
        scores["oracle"] += list(mixtures.log_likelihood(X, mask, truth))
        scores["oracle ARI"] += agreement(X, mask, labels, truth)
        if config.em_restarts:
            rng = rng_for(TEST_SEED, TEST, 1_000_000 + i)
            values, found = mixtures.em_from_points(rng, X, mask, config.k, restarts=config.em_restarts)
            scores["EM"] += list(values)
            scores["EM ARI"] += agreement(X, mask, labels, found)
    return {name: float(np.mean(values)) for name, values in scores.items() if values}


def agreement(X: np.ndarray, mask: np.ndarray, labels: np.ndarray, mixture: Mixture) -> list[float]:
    """The adjusted Rand index of each set: true labels against each point's most likely component."""
    found = mixtures.assign(X, mixture)
    return [mixtures.adjusted_rand_index(a[m], b[m]) for a, b, m in zip(labels, found, mask, strict=True)]


# ---- figures ------------------------------------------------------------------------------------------------------


def examples(config: Config, net: Network) -> dict[str, Any]:
    """What the figures show: ten test sets, the network's mixtures and the true ones, and an ISAB's attention."""
    X, mask, _, truth = next(eval_batches(config, TEST, 10))
    found = predict(net, X, mask)
    shown = {"X": X.astype("float32"), "mask": mask}
    for name, mixture in (("found", found), ("true", truth)):
        shown |= {f"{name}_{part}": getattr(mixture, part) for part in ("log_pi", "mu", "sigma")}
    if parse(config.arch).encoder == "isab":
        first = X[:1, mask[0]]
        with evaluating(net), record_attention(net) as seen:
            net(first)
        name = [name for name in seen if name.startswith("encoder") and "mab0" in name][-1]
        shown["attention"] = seen[name][0][0].mean(axis=0)  # (m, n): of the last ISAB, averaged over heads
    return shown


EXPERIMENT = Experiment(
    name="clustering",
    title="Amortized clustering of 2D mixtures of Gaussians",
    description=__doc__,
    config=Config,
    presets={
        # In few steps the authors' blocks, without LayerNorm, learn faster, and what a step teaches depends on how many
        # sets it has rather than on their size.  A high learning rate needs a warm-up, and an end at 0.
        "quick": {
            "steps": 4_000,
            "batch": 20,
            "lr": 2e-3,
            "anneal": True,
            "warmup": 200,
            "style": "authors",
            "n_min": 50,
            "n_max": 100,
            "evaluate_every": 250,
            "validation_sets": 50,
            "test_sets": 200,
            "em_restarts": 2,
        },
        "paper": {},
    },
    rows=ROWS["clustering"],
    quick_rows=("rFF + Pooling", "rFF + PMA", "ISAB (16) + PMA"),
    model=network,
    train=train,
    table=Table(
        columns={"LL0": "LL0/data", "LL1": "LL1/data", "ARI0": "ARI0", "ARI1": "ARI1"},
        references={
            "Oracle": {"LL0": "oracle", "ARI0": "oracle ARI"},
            "EM to convergence": {"LL0": "EM", "ARI0": "EM ARI"},
        },
        reference_options=("k", "n_min", "n_max", "test_sets", "em_restarts"),
        printed=paper.TABLES["clustering"],
        notes=(
            "LL0, LL1: mean log-likelihood of a point under the network's mixture, and after one EM step; higher is "
            "better. ARI0, ARI1: adjusted Rand index of the resulting labels. Oracle: the mixtures that the sets were "
            "sampled from. EM to convergence: from k-means++ centers, the best of --em-restarts starts for each set."
        ),
    ),
    figures={
        "clusters": clusters.mixtures(examples),
        "inducing_points": clusters.inducing_points(examples),
        "learning_curves": learning_curves(
            {"loss": ("training LL", -1), "LL0": ("validation LL0", 1)}, references={"oracle (test sets)": "oracle"}
        ),
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "clustering", *sys.argv[1:]]))
