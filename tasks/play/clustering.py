"""The page on clustering: the mixture that a network sees in a set of points, EM from there, and attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from tasks.clustering import predict
from tasks.metrics import mixtures
from tasks.metrics.mixtures import Mixture
from tasks.play.attention import chosen, layers, recorded, shown
from tasks.play.changes import change, difference
from tasks.play.library import Library
from tasks.play.messages import BadMessage, Message, text, vectors, whole

MOST_SAB = 2_000  # points that SAB takes: its time grows with their square


def sample(library: Library, message: Message) -> dict[str, Any]:
    """Points of a random mixture, and the mixture."""
    n, k = whole(message, "n", 1, 10_000, 300), whole(message, "k", 1, 8, 4)
    rng = np.random.default_rng(whole(message, "seed", 0, 2**31, 0))
    X, _, labels, truth = mixtures.sample(rng, [n], k=k)
    return {"points": np.round(X[0], 3), "labels": labels[0], "truth": as_rows(truth)}


def as_rows(mixture: Mixture) -> np.ndarray:
    """π, μ and σ of each component: (k, 5)"""
    return np.concatenate([np.exp(mixture.log_pi[0])[:, None], mixture.mu[0], mixture.sigma[0]], axis=1)


def from_rows(rows: np.ndarray) -> Mixture:
    with np.errstate(divide="ignore"):
        log_pi = np.log(np.clip(rows[:, 0], 0, None))
    return Mixture(log_pi[None], rows[None, :, 1:3], np.maximum(rows[None, :, 3:], mixtures.SIGMA_FLOOR))


def answer(library: Library, message: Message) -> dict[str, Any]:
    """The network's mixture of the points, what EM makes of it, and the attention that was asked for."""
    model = library.get(text(message, "model"), "clustering")
    points = vectors(message, "points", 2)
    truth = vectors(message, "truth", 5, most=8) if message.get("truth") is not None else None
    step = whole(message, "step", 0, 10**9) if message.get("step") is not None else None
    em = text(message, "em", "none", ("none", "step", "converged"))
    changed, compared = change(message), None
    order = points[:, 0].argsort(kind="stable") if model.position else np.arange(len(points))
    X = points[order]  # a network with positions first sees its points as in training, from left to right
    with model.opened(step) as net:
        if len(points) > MOST_SAB and any(layer.kind == "between elements" for layer in layers(net)):
            raise BadMessage(
                f"SAB compares every pair of points and takes at most {MOST_SAB:,} here, given {len(points):,}; "
                "choose an ISAB, or fewer points"
            )
        layer = chosen(message, net, len(points))
        with recorded(layer) as weights:
            found = predict(net, X[None].astype("float32"), None)
        if changed:
            other, mask = changed.apply(X)
            after = predict(net, other[None].astype("float32"), None if mask is None else mask[None])
            compared = difference(_outputs(found), _outputs(after), changed, len(X)) | {"before": as_rows(found)}
            found = after
    X, mask = points[None], np.ones((1, len(points)), dtype=bool)
    result = {"mixture": _scored(X, mask, found), "assigned": mixtures.assign(X, found)[0], "change": compared}
    if em != "none":
        improve = mixtures.em_step if em == "step" else mixtures.em
        result["em"] = _scored(X, mask, improve(X, mask, found))
    if truth is not None:
        result["truth"] = mixtures.log_likelihood(X, mask, from_rows(truth))[0]
    return result | {"attention": shown(message, layer, weights, order.argsort())}


def _outputs(mixture: Mixture) -> dict[str, np.ndarray]:
    return {"pi": np.exp(mixture.log_pi), "mu": mixture.mu, "sigma": mixture.sigma}


def _scored(X: np.ndarray, mask: np.ndarray, mixture: Mixture) -> dict[str, Any]:
    return {"rows": as_rows(mixture), "LL": mixtures.log_likelihood(X, mask, mixture)[0]}
