"""The small networks that are shipped, as data: how each is built, and what it was trained on.

All are narrow versions of the paper's architectures, so that their weights together take less than 2 MB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd import Tensor, concatenate
from autograd.backend import Array
from minisets import build
from minisets.nn import Module
from minisets.nn.module import tensor_like
from tasks import unique_characters
from tasks.data.standins.shapes import CLASSES
from tasks.harness.options import SYNTHETIC

FREQUENCIES = 4  # of the sines and cosines that tell the place of an element
COMPONENTS = 4  # of the mixtures that the clustering networks are trained on


class WithPosition(Module):
    """A network that is told the place of each element in the list: a mistake, on purpose.

    Sines and cosines of the place are further features, as in a Transformer for text.  With them the output depends on
    the order of the elements, on how often each is listed, and on padding.
    """

    def __init__(self, network: Module, scale: float) -> None:
        self.network, self.scale = network, scale
        self.label, self.encoder, self.decoder = network.label, network.encoder, network.decoder

    def forward(self, X: Any, mask: Array | None = None) -> Tensor:
        X = tensor_like(X, self.network.head.weight)
        B, n, _ = X.shape
        place = np.linspace(-1, 1, n)[:, None] * np.pi / 2 * 2.0 ** np.arange(FREQUENCIES)
        code = self.scale * np.concatenate([np.sin(place), np.cos(place)], axis=1)
        return self.network(concatenate([X, np.broadcast_to(code, (B, *code.shape)).astype(X.dtype)], axis=-1), mask)


@dataclass(frozen=True)
class Shipped:
    """One network of tasks/play/weights."""

    name: str  # of its file
    page: str
    label: str
    trained_on: str  # a sentence for the page
    steps: int
    make: Callable[[Shipped, np.random.Generator], Module] = field(repr=False)
    position: bool = False
    kept: tuple[int, ...] = ()  # the steps after which the weights are kept, besides the last

    def network(self) -> Module:
        return self.make(self, np.random.default_rng(0))


def _clustering(shipped: Shipped, rng: np.random.Generator) -> Module:
    sizes = {"d_in": 2 + (2 * FREQUENCIES if shipped.position else 0), "d_out": 5, "outputs": COMPONENTS, "d": 48}
    net = build(shipped.label, task="clustering", style="authors", rng=rng, **sizes)
    return WithPosition(net, 4.0) if shipped.position else net


def _maximum(shipped: Shipped, rng: np.random.Generator) -> Module:
    d_in = 1 + (2 * FREQUENCIES if shipped.position else 0)
    net = build(shipped.label, task="max_regression", d_in=d_in, d_out=1, d=32, rng=rng)
    return WithPosition(net, 1.0) if shipped.position else net


def counting() -> unique_characters.Config:
    """Sets of 1 to 10 drawings, since a visitor begins with one."""
    return unique_characters.Config(data=SYNTHETIC, arch="SAB + PMA (1)", n_min=1, n_max=10)


def _characters(shipped: Shipped, rng: np.random.Generator) -> Module:
    return unique_characters.Counter(counting(), rng)


def _clouds(shipped: Shipped, rng: np.random.Generator) -> Module:
    sizes = {"d_in": 3, "d_out": len(CLASSES), "d": 64}
    return build(shipped.label, task="point_cloud", style="authors", dropout=0.1, rng=rng, **sizes)


_MIXTURES = "sets of 10 to 100 points, each sampled from a mixture of four Gaussians"
_NUMBERS = "sets of 1 to 10 numbers from 0 to 100"
SHIPPED = {
    one.name: one
    for one in (
        Shipped(
            "clustering-isab", "clustering", "ISAB (16) + PMA", _MIXTURES, 12_000, _clustering,
            kept=(0, 200, 500, 800, 1_200, 2_000, 4_000),
        ),
        Shipped("clustering-sab", "clustering", "SAB + PMA", _MIXTURES, 4_000, _clustering),
        Shipped("clustering-rff-pma", "clustering", "rFF + PMA", _MIXTURES, 4_000, _clustering),
        Shipped("clustering-pooling", "clustering", "rFF + Pooling", _MIXTURES, 4_000, _clustering),
        Shipped(
            "clustering-position", "clustering", "ISAB (16) + PMA", f"{_MIXTURES} and listed from left to right",
            4_000, _clustering, position=True,
        ),
        Shipped("maximum-sab", "maximum", "SAB + PMA", _NUMBERS, 4_000, _maximum),
        Shipped("maximum-max", "maximum", "rFF + Pooling (max)", _NUMBERS, 4_000, _maximum),
        Shipped("maximum-mean", "maximum", "rFF + Pooling (mean)", _NUMBERS, 4_000, _maximum),
        Shipped("maximum-sum", "maximum", "rFF + Pooling (sum)", _NUMBERS, 4_000, _maximum),
        Shipped(
            "maximum-position", "maximum", "SAB + PMA", f"{_NUMBERS}, listed in ascending order", 4_000, _maximum,
            position=True,
        ),
        Shipped(
            "characters-sab", "characters", "SAB + PMA (1)",
            "sets of 1 to 10 drawings of invented characters, a synthetic stand-in for Omniglot", 1_600, _characters,
        ),
        Shipped(
            "clouds-isab", "clouds", "ISAB (16) + PMA",
            "100 points of each of 1,920 shapes of 16 classes, a synthetic stand-in for ModelNet40", 4_000, _clouds,
        ),
    )
}  # fmt: skip
