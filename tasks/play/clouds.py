"""The page on point clouds: which shape is it, and where does PMA look?"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from minisets.nn import evaluating
from tasks import point_cloud
from tasks.data.locations import DataError
from tasks.data.standins import shapes
from tasks.data.surfaces import Clouds
from tasks.harness.options import SYNTHETIC
from tasks.play.attention import chosen, recorded, shown
from tasks.play.changes import change, difference
from tasks.play.library import Library, Model
from tasks.play.messages import BadMessage, Message, text, vectors, whole

MOST_SAB = 2_000


def names(model: Model) -> tuple[str, ...]:
    if model.config is None or model.config.data == SYNTHETIC:
        return tuple(make.__name__ for make in shapes.CLASSES)
    return _test_shapes(model.config).names


@functools.lru_cache(maxsize=2)
def _test_shapes(config: point_cloud.Config) -> Clouds:
    try:
        return point_cloud.load(config)[1]
    except DataError as error:
        raise BadMessage(f"this run's data cannot be read: {error}") from None


def sample(library: Library, message: Message) -> dict[str, Any]:
    """Points of a new shape: of the stand-in, or a test shape of the data that the network was trained on."""
    model = library.get(text(message, "model"), "clouds")
    with model.opened():  # so that the configuration of a run is known
        known = names(model)
    n, rng = whole(message, "n", 10, 2_000, 400), np.random.default_rng(whole(message, "seed", 0, 2**31, 0))
    label = whole(message, "label", 0, len(known) - 1, int(rng.integers(len(known))))
    if model.config is None or model.config.data == SYNTHETIC:
        X = shapes.sample_cloud(rng, shapes.CLASSES[label], n)
    else:
        test = _test_shapes(model.config)
        which = rng.choice(np.flatnonzero(test.labels == label), 1)
        index = point_cloud.choose(rng, test.points.shape[1], min(n, test.points.shape[1]))
        X = point_cloud.take(model.config, test, which, index)[0]
    return {"points": np.round(normalized(X), 4), "label": label, "names": known}


def normalized(X: np.ndarray) -> np.ndarray:
    """Points (n, 3) with mean 0 and standard deviation 1, as in tasks/point_cloud.py."""
    X = X - X.mean(axis=0)
    return X / max(X.std(), 1e-6)


def answer(library: Library, message: Message) -> dict[str, Any]:
    """The probability of each class, and attention."""
    model = library.get(text(message, "model"), "clouds")
    points = vectors(message, "points", 3)
    X = normalized(points)
    changed, compared = change(message), None
    with model.opened() as net:
        if "SAB" in model.label.replace("ISAB", "") and len(X) > MOST_SAB:
            raise BadMessage(f"SAB takes at most {MOST_SAB:,} points here, given {len(X):,}")
        layer = chosen(message, net, len(X))
        with evaluating(net), recorded(layer) as weights:
            scores = net(X[None]).numpy()[0]
        if changed:
            other, mask = changed.apply(X)
            with evaluating(net):
                after = net(other[None], None if mask is None else mask[None]).numpy()[0]
            compared = difference({"scores": scores}, {"scores": after}, changed, len(X))
            scores = after
    p = np.exp(scores.astype("float64") - scores.max())
    result = {"probabilities": p / p.sum(), "names": names(model), "change": compared}
    return result | {"attention": shown(message, layer, weights, np.arange(len(X)))}
