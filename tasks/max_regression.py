"""Maximum regression: which network can find the largest number of a set?

Sets of 1 to 10 numbers from [0, 100], of mixed sizes within a batch; the target is the maximum, the loss the absolute
error.  Max pooling only has to pass the numbers through; mean and sum pooling have to squeeze them all into one vector;
attention can learn to attend to the one that matters.

    python -m tasks.max_regression --preset quick
    python -m tasks.max_regression --preset paper --seeds 5
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from autograd import Tensor, absolute_error, backend
from minisets import build
from minisets.architectures import Network
from minisets.labels import ROWS
from minisets.nn import evaluating
from minisets.optim import Adam
from tasks.harness import paper
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import LearningRate, SampledSets, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, rng_for
from tasks.plots.curves import learning_curves, metric_against

HIGH = 100.0  # numbers lie in [0, 100]
TEST_SEED = 0  # the test sets are the same for every run


@dataclass(frozen=True, kw_only=True)
class Config(LearningRate, SampledSets):
    steps: int = option(paper=20_000)
    batch: int = option(paper=128)
    lr: float = option(paper=1e-3)
    drop: float = option(paper=1.0)
    scale: float = option(HIGH, "the network's inputs are divided by this, and its output is multiplied by it")
    n_max: int = option(help="numbers in the largest set; the smallest has one", paper=10, least=1)
    evaluate_every: int = option(200, bookkeeping=False)  # the weights are selected among those evaluated
    validation_sets: int = option(2_000, bookkeeping=False)
    test_sets: int = option(10_000)

    def numbers_in_memory(self) -> int:
        return max(self.batch, self.validation_sets, self.test_sets) * self.n_max


# ---- data ---------------------------------------------------------------------------------------------------------


def sample(rng: np.random.Generator, B: int, n_max: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (B, n, 1) of numbers in [0, 100], the mask (B, n), and the maxima (B, 1)."""
    mask = np.arange(n_max) < rng.integers(1, n_max, size=(B, 1), endpoint=True)
    values = rng.uniform(0, HIGH, size=(B, n_max)) * mask
    return values[..., None], mask, values.max(axis=1, keepdims=True)


# ---- model --------------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    rng = rng_for(config.seed, WEIGHTS)
    net = build(config.arch, task="max_regression", d_in=1, d_out=1, style=config.style, rng=rng)
    return net.astype(config.dtype).to(config.device)


def predict(net: Network, X: np.ndarray, mask: np.ndarray, scale: float) -> Tensor:
    """The predicted maxima (B, 1).

    The network itself sees numbers from [0, 1].  Next to inputs of up to 100 its biases, initially below 1, would have
    almost no effect: the rFFs would start out nearly linear (try --scale 1).
    """
    weight = net.head.weight
    X, mask = (backend.to_device(a, weight.device) for a in ((X / scale).astype(weight.dtype), mask))
    return net(X, mask) * scale


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net = network(config)
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), config.schedule()
    validation = sample(rng_for(TEST_SEED, VALIDATION), config.validation_sets, config.n_max)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        X, mask, y = run.share(*sample(rng_for(config.seed, TRAINING, step), config.batch, config.n_max))
        loss = absolute_error(predict(net, X, mask, config.scale), y)
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            error = errors(net, *validation, config.scale).mean()
            run.record(MAE=error)
            run.keep_best(net, error)

    test = sample(rng_for(TEST_SEED, TEST), config.test_sets, config.n_max)
    last = errors(net, *test, config.scale).mean()
    run.restore_best(net)
    best, sizes, y = errors(net, *test, config.scale), test[1].sum(axis=1), test[2]
    return {
        "MAE": float(best.mean()),
        "MAE last": float(last),
        "constant": float(np.abs(y - np.median(y)).mean()),
        "MAE of size": {int(n): float(best[sizes == n].mean()) for n in np.unique(sizes)},
    }


def errors(net: Network, X: np.ndarray, mask: np.ndarray, y: np.ndarray, scale: float) -> np.ndarray:
    """|p − max| for each set: (B,)"""
    parts = [slice(i, i + 1_000) for i in range(0, len(X), 1_000)]
    with evaluating(net):
        p = np.concatenate([predict(net, X[part], mask[part], scale).numpy() for part in parts])
    return np.abs(p - y)[:, 0]


EXPERIMENT = Experiment(
    name="max_regression",
    title="Maximum regression",
    description=__doc__,
    config=Config,
    presets={"quick": {"steps": 4_000, "anneal": True}, "paper": {}},
    rows=ROWS["max_regression"],
    model=network,
    train=train,
    table=Table(
        columns={"MAE last": "MAE, last weights", "MAE": "MAE, selected weights"},
        references={"Best constant": {"MAE": "constant"}},
        reference_options=("n_max", "test_sets"),
        printed=paper.TABLES["max_regression"],
        lower_is_better=True,
        notes=(
            "MAE: mean absolute error of the predicted maximum on unseen sets of numbers from [0, 100]; lower is "
            "better. At a constant learning rate the error fluctuates from step to step. Selected: the weights with "
            "the smallest error on validation sets. The paper states neither which weights it reports nor how it "
            "scales the numbers (here to [0, 1]). Best constant: always the median of all maxima."
        ),
    ),
    figures={
        "learning_curves": learning_curves(
            {"loss": ("training loss (MAE)", 1), "MAE": ("validation MAE", 1)}, scale="log"
        ),
        "error_by_size": metric_against(
            "MAE of size", "numbers in the set", "mean absolute error", "Error against set size", scale="log"
        ),
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "max_regression", *sys.argv[1:]]))
