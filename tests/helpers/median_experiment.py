"""An experiment outside of this project, as a user would write it: the median of a set.  Tests copy it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from autograd import Tensor, absolute_error
from minisets.nn import Linear, Module, evaluating
from minisets.optim import Adam
from tasks.harness import TEST, TRAINING, WEIGHTS, Experiment, Run, RunFolder, Stepping, Table, option, rng_for


@dataclass(frozen=True, kw_only=True)
class Config(Stepping):
    steps: int = option(40)
    n: int = option(5, "numbers in a set", least=1)


class SortedLinear(Module):
    """A linear function of the sorted numbers, which can learn to take the middle one."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.linear = Linear(n, 1, rng=rng)

    def forward(self, X: np.ndarray) -> Tensor:
        return self.linear(np.sort(X, axis=1))


def network(config: Config) -> SortedLinear:
    return SortedLinear(config.n, rng_for(config.seed, WEIGHTS)).astype(config.dtype)


def sample(config: Config, rng: np.random.Generator, B: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(size=(B, config.n)).astype(config.dtype)
    return X, np.median(X, axis=1, keepdims=True)


def train(config: Config, run: Run) -> dict[str, float]:
    net = network(config)
    optimizer = Adam(net.parameters(), lr=config.lr)
    for step in run.steps(net, optimizer):
        X, y = run.share(*sample(config, rng_for(config.seed, TRAINING, step), config.batch))
        loss = absolute_error(net(X), y)
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            run.record(error=error(config, net))
    return {"error": error(config, net), "guess": 0.2}


def error(config: Config, net: SortedLinear) -> float:
    X, y = sample(config, rng_for(0, TEST), 200)
    with evaluating(net):
        return float(np.abs(net(X).numpy() - y).mean())


def examples(config: Config, net: SortedLinear) -> dict[str, np.ndarray]:
    return {"weights": net.linear.weight.numpy()[:, 0]}


def weights(runs: list[RunFolder]) -> Figure | None:
    """The weight of each rank."""
    shown = runs[0].examples(examples)
    if shown is None:
        return None
    figure = Figure(figsize=(3, 2))
    figure.subplots().bar(range(len(shown["weights"])), shown["weights"])
    return figure


EXPERIMENT = Experiment(
    name="median",
    title="The median of a set",
    config=Config,
    presets={"small": {"batch": 8}, "large": {"batch": 64}},
    model=network,
    train=train,
    table=Table(
        columns={"error": "mean error"}, references={"Guess": {"error": "guess"}}, reference_options=("n",),
        notes="Sets of numbers from [0, 1].",
    ),
    figures={"weights": weights},
)  # fmt: skip
