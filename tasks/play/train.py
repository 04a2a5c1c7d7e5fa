"""Makes tasks/play/weights: small networks for minisets play, each trained in seconds to minutes on one core.

    python -m tasks.play.train                              all of them, about half an hour
    python -m tasks.play.train clustering-isab maximum-sab  some of them
    python -m tasks.play.train --measure                    how good the stored ones are, on fresh sets

Omniglot and ModelNet40 are not used: the networks for characters and shapes are trained on the synthetic stand-ins.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from autograd import Tensor, absolute_error, cross_entropy, poisson_negative_log_likelihood
from minisets.nn import Module
from minisets.optim import Adam, linear_to_zero, warm_up
from tasks import max_regression, point_cloud, unique_characters
from tasks.clustering import mean_log_likelihood
from tasks.data.standins import glyphs, shapes
from tasks.harness import machine
from tasks.metrics import mixtures
from tasks.play import results, stored
from tasks.play.networks import COMPONENTS, SHIPPED, Shipped, counting
from tasks.play.results import left_to_right
from tasks.play.stored import State, Stored

Loss = Callable[[Module, np.random.Generator], Tensor]


def clustering(shipped: Shipped) -> Loss:
    """−log p(X) / n of 20 sets of one size."""

    def loss(net: Module, rng: np.random.Generator) -> Tensor:
        X, *_ = mixtures.sample(rng, np.full(20, rng.integers(10, 100, endpoint=True)), k=COMPONENTS)
        X = (left_to_right(X) if shipped.position else X).astype("float32")
        return -mean_log_likelihood(Tensor(X), None, net(X))

    return loss


def maximum(shipped: Shipped) -> Loss:
    """|p − max| of 128 sets; numbers from [0, 1], as in tasks/max_regression.py."""

    def loss(net: Module, rng: np.random.Generator) -> Tensor:
        X, mask, y = max_regression.sample(rng, 128, 10)
        if shipped.position:  # padding would be a part of the positions: here all sets have one size, in order
            X, mask = rng.uniform(0, max_regression.HIGH, size=(128, rng.integers(1, 10, endpoint=True), 1)), None
            X = np.sort(X, axis=1)
            y = X[:, -1]
        return absolute_error(net((X / max_regression.HIGH).astype("float32"), mask) * max_regression.HIGH, y)

    return loss


def characters(shipped: Shipped) -> Loss:
    """−log Poisson(c; λ) of 32 sets of drawings."""
    images, config = glyphs.synthesize(unique_characters.TEST_SEED)["train"], counting()

    def loss(net: Module, rng: np.random.Generator) -> Tensor:
        sets = unique_characters.sample(config, rng, 32, len(images))
        rate = net(unique_characters.pixels(images, sets), sets.mask)
        return poisson_negative_log_likelihood(rate, count=sets.counts)

    return loss


def clouds(shipped: Shipped) -> Loss:
    """Cross-entropy of 32 shapes with 100 points each, rotated and scaled at random."""
    config = point_cloud.Config(data="synthetic")
    training = shapes.load("train", 2_048)

    def loss(net: Module, rng: np.random.Generator) -> Tensor:
        which = rng.integers(len(training.labels), size=32)
        index = point_cloud.choose(rng, training.points.shape[1], config.points)
        X = point_cloud.augment(rng, point_cloud.take(config, training, which, index))
        return cross_entropy(net(Tensor(X)), labels=training.labels[which])

    return loss


LOSSES = {"clustering": clustering, "maximum": maximum, "characters": characters, "clouds": clouds}
LR = {"clustering": 2e-3, "maximum": 1e-3, "characters": 1e-3, "clouds": 1e-3}


def train(shipped: Shipped) -> dict[int, State]:
    """The weights after the kept steps and after the last."""
    net, rng, loss_of = shipped.network(), np.random.default_rng([1, len(shipped.name)]), LOSSES[shipped.page](shipped)
    lr = LR[shipped.page]
    optimizer, schedule = Adam(net.parameters(), lr=lr), warm_up(linear_to_zero(lr, shipped.steps), 100)
    states, recent = {}, []
    for step in range(shipped.steps):
        if step in shipped.kept:
            states[step] = net.state_dict()
        optimizer.lr = schedule(step)
        loss = loss_of(net, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        if (step + 1) % 500 == 0:
            print(f"  {shipped.name}: step {step + 1:,} of {shipped.steps:,}, loss {np.mean(recent):.4f}", flush=True)
            recent.clear()
    return states | {shipped.steps: net.state_dict()}


def make(shipped: Shipped) -> None:
    start = time.perf_counter()
    states = train(shipped)
    seconds = round(time.perf_counter() - start)
    stored.write(shipped.name, Stored(states, {}))
    found = results.measure(shipped)  # of what the file holds, in half precision
    about = {"results": found, "seconds": seconds, "machine": machine.environment()["machine"]}
    path = stored.write(shipped.name, Stored(states, about))
    print(f"{path}: {path.stat().st_size:,} bytes, {seconds} s, {results.sentence(shipped.page, found)}", flush=True)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tasks.play.train", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"networks (default: all): {', '.join(SHIPPED)}")
    parser.add_argument("--measure", action="store_true", help="train nothing; measure what is stored")
    given = parser.parse_args(argv)
    for name in given.names:
        if name not in SHIPPED:
            parser.error(f"there is no network {name!r}; they are {', '.join(SHIPPED)}")
    for name in given.names or SHIPPED:
        if given.measure:
            print(f"{name}: {results.sentence(SHIPPED[name].page, results.measure(SHIPPED[name]))}", flush=True)
        else:
            make(SHIPPED[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
