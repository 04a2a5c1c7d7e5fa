"""How good the shipped networks are, on sets that none of them was trained on."""

from __future__ import annotations

import numpy as np

from minisets.nn import Module, evaluating
from tasks import clustering, point_cloud, unique_characters
from tasks.data.standins import glyphs, shapes
from tasks.max_regression import HIGH
from tasks.metrics import mixtures
from tasks.play.networks import COMPONENTS, Shipped, counting
from tasks.play.stored import Stored, read

Results = dict[str, float]


def load(shipped: Shipped, stored: Stored, step: int | None = None) -> Module:
    """The network with its stored weights, in evaluation mode; step: those of an earlier moment of its training."""
    net = shipped.network()
    net.load_state_dict(stored.states[max(stored.states) if step is None else step])
    return net.eval()


def measure(shipped: Shipped) -> Results:
    return MEASURES[shipped.page](shipped, load(shipped, read(shipped.name)))


def left_to_right(X: np.ndarray) -> np.ndarray:
    """Elements (B, n, d) in the order of their first coordinate."""
    return np.take_along_axis(X, X[..., :1].argsort(axis=1), axis=1)


def of_clustering(shipped: Shipped, net: Module) -> Results:
    """log p of a point under the network's mixture, of sets listed from left to right and in random order."""
    rng, found = np.random.default_rng(20), {"LL": [], "LL shuffled": [], "oracle": []}
    for _ in range(50):
        sizes = np.full(10, rng.integers(100, 500, endpoint=True))  # as in the paper
        X, mask, _, truth = mixtures.sample(rng, sizes, k=COMPONENTS)
        for name, points in (("LL", left_to_right(X)), ("LL shuffled", X)):
            mixture = clustering.predict(net, points.astype("float32"), None)
            found[name] += list(mixtures.log_likelihood(points, mask, mixture))
        found["oracle"] += list(mixtures.log_likelihood(X, mask, truth))
    return {name: float(np.mean(values)) for name, values in found.items()}


def of_maximum(shipped: Shipped, net: Module) -> Results:
    """The mean absolute error, in ascending order and shuffled."""
    rng, found = np.random.default_rng(21), {"MAE": [], "MAE shuffled": []}
    for n in range(1, 11):
        X = rng.uniform(0, HIGH, size=(1_000, n, 1))
        y = X.max(axis=1)
        for name, numbers in (("MAE", np.sort(X, axis=1)), ("MAE shuffled", X)):
            with evaluating(net):
                found[name] += list(np.abs(net((numbers / HIGH).astype("float32")).numpy() * HIGH - y)[:, 0])
    return {name: float(np.mean(values)) for name, values in found.items()}


def of_characters(shipped: Shipped, net: Module) -> Results:
    """How often the integer nearest to λ is the count, and how often it is at most one off; test characters."""
    images, config, rng = glyphs.synthesize(unique_characters.TEST_SEED)["test"], counting(), np.random.default_rng(22)
    rates, counts = [], []
    for _ in range(20):
        sets = unique_characters.sample(config, rng, 100, len(images))
        rates.append(unique_characters.rates(net, images, sets))
        counts.append(sets.counts)
    off = np.abs(np.rint(np.concatenate(rates)) - np.concatenate(counts))
    return {"accuracy": float((off == 0).mean()), "within one": float((off <= 1).mean())}


def of_clouds(shipped: Shipped, net: Module) -> Results:
    """The accuracy on the stand-in's 800 test shapes, 100 points each."""
    config, test = point_cloud.Config(data="synthetic"), shapes.load("test", 2_048)
    X = point_cloud.take(config, test, np.arange(len(test.labels)), np.arange(config.points))
    with evaluating(net):
        found = net(X).numpy().argmax(axis=1)
    return {"accuracy": float((found == test.labels).mean())}


MEASURES = {"clustering": of_clustering, "maximum": of_maximum, "characters": of_characters, "clouds": of_clouds}


def sentence(page: str, found: Results) -> str:
    """The results as the page says them."""
    if not found:
        return ""
    if page == "clustering":
        said = in_order("log-likelihood", found["LL"], found["LL shuffled"], "listed from left to right")
        return f"on 500 fresh sets of 100 to 500 points: {said} (the true mixtures: {number(found['oracle'])})"
    if page == "maximum":
        said = in_order("mean absolute error", found["MAE"], found["MAE shuffled"], "in ascending order")
        return f"on 10,000 fresh sets: {said}"
    if page == "characters":
        return (
            f"on 2,000 fresh sets of characters never seen in training: right in {found['accuracy']:.0%}, "
            f"at most one off in {found['within one']:.0%}"
        )
    return f"on 800 fresh shapes: {found['accuracy']:.0%} right"


def in_order(what: str, ordered: float, shuffled: float, order: str) -> str:
    if abs(ordered - shuffled) < 1e-3:
        return f"{what} {number(ordered)}"
    return f"{what} {number(ordered)} {order}, {number(shuffled)} shuffled"


def number(x: float) -> str:
    return f"{x:.2f}".replace("-", "−")
