"""Maximum regression: which network can find the largest number of a set?

Sets of 1 to 10 numbers from [0, 100], all sizes in one batch; the target is the maximum, the loss the absolute error.
Pooling by the maximum only has to pass numbers through, pooling by mean or sum has to squeeze them into one; attention
can learn to look at the one that matters.

    python -m tasks.max_regression --preset quick
    python -m tasks.max_regression --preset paper --seeds 5
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from autograd import Tensor, absolute_error, backend, no_grad
from minisets import build
from minisets.architectures import ROWS, Network
from minisets.optim import Adam, drop_at
from tasks.harness.options import Training, option
from tasks.harness.run import TEST, TRAINING, VALIDATION, WEIGHTS, Run, stream
from tasks.harness.run_folder import Folder
from tasks.plots.curves import by_label, learning_curves, look, protocol

HIGH = 100.0  # numbers lie in [0, 100]
TEST_SEED = 0  # the test sets are the same for every run


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    arch: str = option("SAB + PMA", "architecture: a label of the paper's table, or all; may be repeated")
    steps: int = option(20_000, "training steps", paper=20_000, least=1)
    batch: int = option(128, "sets in a step", paper=128, least=1)
    lr: float = option(1e-3, "learning rate of Adam", paper=1e-3)
    drop: float = option(1.0, "fraction of the steps after which the learning rate is a tenth; 1: never", paper=1.0)
    scale: float = option(HIGH, "the network sees numbers divided by this, and its output is multiplied by it")
    n_max: int = option(10, "numbers in the largest set; the smallest has one", paper=10, least=1)
    evaluate_every: int = option(200, "steps between two evaluations", least=1)
    validation_sets: int = option(2_000, "sets to evaluate on while training", least=1)
    test_sets: int = option(10_000, "sets to test on", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.drop <= 1, f"--drop must lie between 0 and 1, given {self.drop}")


TITLE = "Maximum regression"
LABELS = QUICK_LABELS = ROWS["max_regression"]
PRESETS = {"quick": {"steps": 4_000, "drop": 0.7}, "paper": {}}
COLUMNS = {"MAE last": "MAE, last weights", "MAE": "MAE, chosen weights"}
REFERENCES = {"A constant": {"MAE": "constant"}}
REFERENCE_OPTIONS = ("n_max", "test_sets")
NOTES = (
    "MAE: mean absolute error in the maximum of unseen sets of numbers from [0, 100]; lower is better.",
    "With a constant learning rate the error goes up and down from step to step.  Chosen are the weights with the",
    "smallest error on validation sets; the paper does not say which weights it reports, nor how it scales the numbers",
    "(here to [0, 1]).  A constant: always the median of all maxima.",
)


# ---- data ---------------------------------------------------------------------------------------------------------


def draw(rng: np.random.Generator, B: int, n_max: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (B, n, 1) of numbers in [0, 100], the mask (B, n) of those that are there, and the maxima (B, 1)."""
    mask = np.arange(n_max) < rng.integers(1, n_max, size=(B, 1), endpoint=True)
    values = rng.uniform(0, HIGH, size=(B, n_max)) * mask
    return values[..., None], mask, values.max(axis=1, keepdims=True)


# ---- model --------------------------------------------------------------------------------------------------------


def network(config: Config) -> Network:
    rng = stream(config.seed, WEIGHTS)
    net = build(config.arch, task="max_regression", d_in=1, d_out=1, style=config.style, rng=rng)
    return net.astype(config.dtype).to(config.device)


def answer(net: Network, X: np.ndarray, mask: np.ndarray, scale: float) -> Tensor:
    """The predicted maxima (B, 1).

    The network itself works with numbers from [0, 1].  Beside numbers of 100 its biases, which begin below 1, hardly
    count at first: rFFs are almost linear, and mean pooling learns less (--scale 1 shows it).
    """
    weight = net.head.weight
    X, mask = (backend.to_device(a, weight.device) for a in ((X / scale).astype(weight.dtype), mask))
    return net(X, mask) * scale


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net = network(config)
    drops = [config.drop] if config.drop < 1 else []  # none: a constant learning rate
    optimizer, schedule = Adam(net.parameters(), lr=config.lr), drop_at(config.lr, drops, config.steps)
    validation = draw(stream(TEST_SEED, VALIDATION), config.validation_sets, config.n_max)
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        X, mask, y = draw(stream(config.seed, TRAINING, step), config.batch, config.n_max)
        loss = absolute_error(answer(net, X, mask, config.scale), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            error = errors(net, *validation, config.scale).mean()
            run.record(MAE=error)
            run.keep_best(net, error)

    test = draw(stream(TEST_SEED, TEST), config.test_sets, config.n_max)
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
    with no_grad():
        p = np.concatenate([answer(net, X[part], mask[part], scale).numpy() for part in parts])
    return np.abs(p - y)[:, 0]


# ---- figures ------------------------------------------------------------------------------------------------------


def error_by_size(runs: list[Folder]) -> Figure:
    """The error against the size of the set: mean over seeds, and a dot for each seed."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for label, group in by_label(runs).items():
        curves = [run.outcome()["metrics"]["MAE of size"] for run in group]
        n = sorted(map(int, set.intersection(*(set(curve) for curve in curves))))
        heights = np.array([[curve[str(i)] for i in n] for curve in curves])
        axes.plot(n, heights.mean(axis=0), **look(label), linewidth=1.5)
        axes.plot(n, heights.T, linestyle="", marker="o", markersize=3, alpha=0.5, color=look(label)["color"])
    axes.set(xlabel="numbers in the set", ylabel="mean absolute error", yscale="log", xticks=n)
    axes.set_title(protocol(runs), fontsize=8)
    axes.grid(alpha=0.25, which="both")
    figure.legend(loc="outside right center", fontsize=8)
    figure.suptitle("Error against set size", fontsize=11)
    return figure


FIGURES = {
    "learning_curves": learning_curves({"loss": ("training loss (MAE)", 1), "MAE": ("validation MAE", 1)}, scale="log"),
    "error_by_size": error_by_size,
}


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "max_regression", *sys.argv[1:]]))
