"""The networks that are timed, and their inputs: ten networks of the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor
from minisets import ISAB, PMA, SAB, rFF
from minisets.nn import ConvNorm, Linear, Module, Sequential


@dataclass(frozen=True)
class Shape:
    """A network and the size of its input: an encoder, then PMA, SABs and a linear layer.

    The input is `sets` sets of n vectors.  With convs > 0 it is sets of images 1 × 28 × 28 instead, and `convs` layers
    Conv(64, 3, 2, BN, ReLU) turn each image into a vector.
    """

    encoder: str  # SAB, ISAB or rFF
    sets: int  # B
    n: int
    d_in: int
    d: int
    heads: int
    seeds: int  # of PMA; 0: the network ends with the encoder
    sabs: int  # after PMA
    d_out: int
    m: int = 0  # inducing points
    layers: int = 2  # of the encoder
    convs: int = 0


SIDE, CHANNELS = 28, 64  # the side of an image, and the output channels of each convolution

SHAPES = {
    "max_regression": Shape("SAB", 128, 10, 1, 64, 4, seeds=1, sabs=0, d_out=1),
    "characters": Shape("SAB", 32, 8, 256, 64, 4, seeds=1, sabs=0, d_out=1, convs=4),
    "clustering_sab": Shape("SAB", 10, 300, 2, 128, 4, seeds=4, sabs=1, d_out=5),
    "clustering_isab": Shape("ISAB", 10, 300, 2, 128, 4, seeds=4, sabs=1, d_out=5, m=16),
    "clustering_rff": Shape("rFF", 10, 300, 2, 128, 4, seeds=4, sabs=1, d_out=5, layers=4),
    "large_isab": Shape("ISAB", 10, 3000, 2, 128, 4, seeds=6, sabs=1, d_out=5, m=32),
    "cloud_100": Shape("ISAB", 64, 100, 3, 256, 4, seeds=1, sabs=0, d_out=40, m=16),
    "cloud_1000": Shape("ISAB", 16, 1000, 3, 256, 4, seeds=1, sabs=0, d_out=40, m=16),
    "runtime_sab": Shape("SAB", 1, 2000, 3, 64, 8, seeds=0, sabs=0, d_out=0, layers=1),
    "runtime_isab": Shape("ISAB", 1, 5000, 3, 64, 8, seeds=0, sabs=0, d_out=0, m=4, layers=1),
}


class ImageEncoder(Module):
    """Each image of a set to a vector: (B, n, 1, 28, 28) -> (B, n, 256)"""

    def __init__(self, convs: int, rng: np.random.Generator) -> None:
        self.layers = [ConvNorm(CHANNELS if i else 1, CHANNELS, stride=2, rng=rng) for i in range(convs)]

    def forward(self, X: Any) -> Tensor:
        B, n, *image = X.shape
        X = X.reshape(B * n, *image)
        for layer in self.layers:
            X = layer(X)
        return X.reshape(B, n, X.size // (B * n))


def network(shape: Shape, rng: np.random.Generator) -> Module:
    s, widths = shape, [shape.d_in, *[shape.d] * (shape.layers - 1)]
    match s.encoder:
        case "SAB":
            layers = [SAB(a, s.d, s.heads, rng=rng) for a in widths]
        case "ISAB":
            layers = [ISAB(a, s.d, s.heads, s.m, rng=rng) for a in widths]
        case "rFF":
            layers = [rFF(s.d_in, *[s.d] * s.layers, rng=rng)]
    if s.convs:
        layers.insert(0, ImageEncoder(s.convs, rng))
    if s.seeds:
        layers += [PMA(s.d, s.heads, s.seeds, rng=rng), *(SAB(s.d, s.d, s.heads, rng=rng) for _ in range(s.sabs))]
        layers += [Linear(s.d, s.d_out, rng=rng)]
    return Sequential(*layers)


def inputs(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Sets of vectors (B, n, d_in), or of images (B, n, 1, 28, 28)."""
    element = (1, SIDE, SIDE) if shape.convs else (shape.d_in,)
    return rng.standard_normal((shape.sets, shape.n, *element), dtype="float32")
