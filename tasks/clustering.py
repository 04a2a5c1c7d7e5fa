"""Amortized clustering: a network that looks at a set of points once and names the mixture they came from.

Each set has 100 to 500 points on the plane, from four Gaussians.  The network maps the set to the parameters of a
mixture and is trained to make the set likely; no labels are ever seen.  Reported are the mean log-likelihood of a point
under the network's answer (LL0) and after one step of EM from it (LL1), beside that of the true mixtures (oracle).

    python -m tasks.clustering --preset quick
    python -m tasks.clustering --arch "ISAB (16) + PMA" --preset paper --out runs/isab16
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from autograd import Tensor, backend, gaussian_mixture_log_likelihood, log_softmax, no_grad, softplus
from autograd.backend import Array
from minisets import build, checkpoint, record_attention
from minisets.architectures import ROWS, Network, parse
from minisets.optim import Adam, drop_at
from tasks.harness.options import Training, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, stream
from tasks.harness.run_folder import Folder
from tasks.metrics import mixtures
from tasks.metrics.mixtures import SIGMA_FLOOR, Mixture
from tasks.plots import clusters as plane
from tasks.plots.curves import by_label, learning_curves, protocol

D = 2  # points on the plane
TEST_SEED = 0  # the test sets are the same for every run


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    arch: str = option("ISAB (16) + PMA", "architecture: a label of the paper's table, or all; may be repeated")
    steps: int = option(50_000, "training steps", paper=50_000, least=1)
    batch: int = option(10, "sets in a step", paper=10, least=1)
    lr: float = option(1e-3, "learning rate of Adam", paper=1e-3)
    drop: float = option(0.7, "fraction of the steps after which the learning rate is a tenth", paper=0.7)
    k: int = option(4, "components of a mixture", paper=4, least=2)
    n_min: int = option(100, "points of the smallest set", paper=100, least=1)
    n_max: int = option(500, "points of the largest set", paper=500, least=1)
    ragged: bool = option(False, "sets of different sizes in one batch, with masks; otherwise one size for each batch")
    test_sets: int = option(1_000, "sets to test on", paper=1_000, least=1)
    validation_sets: int = option(100, "sets to evaluate on while training", least=1)
    em_restarts: int = option(5, "starts of the EM that is run to convergence for reference; 0 leaves it out", least=0)

    TASK: ClassVar[str] = "clustering"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.drop < 1, f"--drop must lie between 0 and 1, given {self.drop}")
        self.require(self.n_min <= self.n_max, f"--n-min {self.n_min} is more than --n-max {self.n_max}")


TITLE = "Amortized clustering of 2D mixtures of Gaussians"
LABELS = ROWS["clustering"]
PRESETS = {
    # In few steps the authors' blocks, without LayerNorm, learn faster; smaller sets make a step cheaper.
    "quick": {
        "steps": 3_500,
        "style": "authors",
        "n_max": 200,
        "evaluate_every": 250,
        "validation_sets": 50,
        "test_sets": 200,
        "em_restarts": 2,
    },
    "paper": {},
}
QUICK_LABELS = ("rFF + Pooling", "rFF + PMA", "ISAB (16) + PMA")
COLUMNS = {"LL0": "LL0/data", "LL1": "LL1/data", "ARI0": "ARI0", "ARI1": "ARI1"}
REFERENCES = {  # what no network had a part in, and the columns it stands in
    "Oracle": {"LL0": "oracle", "ARI0": "oracle ARI"},
    "EM to convergence": {"LL0": "EM", "ARI0": "EM ARI"},
}
REFERENCE_OPTIONS = ("k", "n_min", "n_max", "test_sets", "em_restarts")
NOTES = (
    "LL0, LL1: mean log-likelihood of a point under the network's mixture, and after one EM step; more is better.",
    "ARI0, ARI1: adjusted Rand index of the labels they give.  Oracle: the mixtures that the sets were drawn from.",
    "EM to convergence: from k-means++ centres, for each set the best of --em-restarts starts.",
)


# ---- data ---------------------------------------------------------------------------------------------------------


def draw(config: Config, rng: np.random.Generator, B: int, ragged: bool) -> tuple:
    """B sets: points (B, n, 2), mask (B, n), labels (B, n), and the mixtures they come from."""
    sizes = rng.integers(config.n_min, config.n_max, size=B if ragged else 1, endpoint=True)
    return mixtures.draw(rng, np.broadcast_to(sizes, B), k=config.k, D=D)


def unseen(config: Config, purpose: int, count: int) -> Iterator[tuple]:
    """Sets to evaluate on, ten at a time, each of its own size; the same ones for every run."""
    for i, first in enumerate(range(0, count, 10)):
        yield draw(config, stream(TEST_SEED, purpose, i), min(10, count - first), ragged=True)


# ---- model --------------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    rng = stream(config.seed, WEIGHTS)
    net = build(config.arch, task=config.TASK, d_in=D, d_out=1 + 2 * D, outputs=config.k, style=config.style, rng=rng)
    return net.astype(config.dtype).to(config.device)


def parameters(Y: Tensor, floor: float = SIGMA_FLOOR) -> tuple[Tensor, Tensor, Tensor]:
    """What the network says (B, k, 1 + 2D), read as log π (B, k), μ (B, k, D) and σ (B, k, D)."""
    D = Y.shape[-1] // 2
    return log_softmax(Y[..., 0]), Y[..., 1 : 1 + D], softplus(Y[..., 1 + D :]) + floor


def predict(net: Network, X: np.ndarray, mask: np.ndarray, floor: float = SIGMA_FLOOR) -> Mixture:
    """The network's mixtures, on the host in float64."""
    with no_grad():
        return Mixture(*(p.numpy().astype("float64") for p in parameters(net(X, mask), floor)))


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net = network(config)
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), drop_at(config.lr, [config.drop], config.steps)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        X, mask, _, _ = draw(config, stream(config.seed, TRAINING, step), config.batch, config.ragged)
        X = Tensor(backend.to_device(X.astype(config.dtype), config.device))
        mask = backend.to_device(mask, config.device) if config.ragged else None
        loss = -mean_log_likelihood(X, mask, net(X, mask))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            scores = evaluate(net, unseen(config, VALIDATION, config.validation_sets))
            run.record(LL0=scores["LL0"], LL1=scores["LL1"])
    return evaluate(net, unseen(config, TEST, config.test_sets)) | references(config)


def mean_log_likelihood(X: Tensor, mask: Array | None, Y: Tensor, floor: float = SIGMA_FLOOR) -> Tensor:
    """log p(X) / n, averaged over the sets."""
    values = gaussian_mixture_log_likelihood(X, *parameters(Y, floor))  # (B, n)
    if mask is None:
        return values.mean()
    return (values * (mask / mask.sum(axis=1, keepdims=True))).sum() / len(mask)


# ---- metrics ------------------------------------------------------------------------------------------------------


def evaluate(net: Network, batches: Iterator[tuple], floor: float = SIGMA_FLOOR) -> dict[str, float]:
    """LL and ARI of the network's answers (0) and of one EM step from them (1), averaged over the sets."""
    scores: dict[str, list[float]] = {"LL0": [], "LL1": [], "ARI0": [], "ARI1": []}
    for X, mask, labels, *_ in batches:
        answer = predict(net, X, mask, floor)
        for i, mixture in enumerate((answer, mixtures.em_step(X, mask, answer, floor))):
            scores[f"LL{i}"] += list(mixtures.log_likelihood(X, mask, mixture))
            scores[f"ARI{i}"] += agreement(X, mask, labels, mixture)
    return {name: float(np.mean(values)) for name, values in scores.items()}


def references(config: Config) -> dict[str, float]:
    """What no network had a part in: the true mixtures, and EM to convergence."""
    scores: dict[str, list[float]] = {"oracle": [], "oracle ARI": [], "EM": [], "EM ARI": []}
    for i, (X, mask, labels, truth) in enumerate(unseen(config, TEST, config.test_sets)):
        scores["oracle"] += list(mixtures.log_likelihood(X, mask, truth))
        scores["oracle ARI"] += agreement(X, mask, labels, truth)
        if config.em_restarts:
            rng = stream(TEST_SEED, TEST, 1_000_000 + i)
            values, found = mixtures.em_from_points(rng, X, mask, config.k, restarts=config.em_restarts)
            scores["EM"] += list(values)
            scores["EM ARI"] += agreement(X, mask, labels, found)
    return {name: float(np.mean(values)) for name, values in scores.items() if values}


def agreement(X: np.ndarray, mask: np.ndarray, labels: np.ndarray, mixture: Mixture) -> list[float]:
    """The adjusted Rand index of each set: true labels against each point's most likely component."""
    found = mixtures.assign(X, mixture)
    return [mixtures.adjusted_rand_index(a[m], b[m]) for a, b, m in zip(labels, found, mask, strict=True)]


# ---- figures ------------------------------------------------------------------------------------------------------


def trained(run: Folder) -> tuple[Config, Network]:
    """The network that a run left behind."""
    config = dataclasses.replace(run.options(), device="cpu")  # wherever it was trained
    net = network(config)
    checkpoint.load(run.checkpoint, model=net)
    return config, net


def cluster_figure(runs: list[Folder]) -> Figure | None:
    """The paper's figure: ten test sets, a row for each architecture (its first run), the truth last."""
    rows = {}
    for label, group in by_label(runs).items():
        kept = [run for run in group if run.checkpoint.exists()]
        if kept:
            config, net = trained(kept[0])
            metrics = kept[0].outcome()["metrics"] if kept[0].result.exists() else {}
            scores = "".join(f"   {name} {metrics[name]:.3f}" for name in ("LL0", "LL1") if name in metrics)
            scores = scores.replace("-", "−")
            sets = [one for batch in unseen(config, TEST, 10) for one in _single(*batch)]
            rows[label + scores] = [(X, predict(net, X, mask)) for X, mask, _ in sets]
    if not rows:
        return None
    rows["the mixtures that they were drawn from"] = [(X, truth) for X, _, truth in sets]
    return plane.clusters(rows, f"Ten test sets: points, centres and ellipses of 2σ ({protocol(runs)})")


def inducing_figure(runs: list[Folder]) -> Figure | None:
    """What each inducing point of the last ISAB attends to on one test set, its heads averaged."""
    for run in runs:
        if run.checkpoint.exists() and parse(run.options().arch).encoder == "isab":
            config, net = trained(run)
            X, mask, _ = next(_single(*next(unseen(config, TEST, 10))))
            with record_attention(net) as seen, no_grad():
                net(X, mask)
            name = [name for name in seen if name.startswith("encoder") and "mab0" in name][-1]
            title = f"What the inducing points of the last ISAB attend to, {config.arch} ({protocol([run])})"
            return plane.attention(X[0], seen[name][0][0].mean(axis=0), title, "point")
    return None


def _single(X: np.ndarray, mask: np.ndarray, labels: np.ndarray, truth: Mixture) -> Iterator[tuple]:
    """The sets of a batch one by one, as batches of one, without padding."""
    for i, present in enumerate(mask):
        mixture = Mixture(truth.log_pi[i : i + 1], truth.mu[i : i + 1], truth.sigma[i : i + 1])
        yield X[i : i + 1, present], mask[i : i + 1, present], mixture


FIGURES = {
    "clusters": cluster_figure,
    "inducing_points": inducing_figure,
    "learning_curves": learning_curves(
        {"loss": ("training LL", -1), "LL0": ("validation LL0", 1)}, references={"oracle (test sets)": "oracle"}
    ),
}


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "clustering", *sys.argv[1:]]))
