"""Initial weights: plain stacks preserve the mean square of their input; beside a skip connection they are smaller."""

import math

import numpy as np
import pytest

from minisets import MAB, rFF, rFFp
from minisets.nn import Conv2d, ConvNorm, Linear

D = 256


def rows(rng: np.random.Generator, n: int = 200) -> np.ndarray:
    """(1, n, D) of mean square 1, as after a ReLU: not centered."""
    X = np.maximum(rng.normal(size=(1, n, D)), 0)
    return (X / np.sqrt((X**2).mean())).astype("float32")


def mean_square(X) -> float:
    return float((np.asarray(X) ** 2).mean())


@pytest.mark.parametrize("depth", [1, 4, 8])
@pytest.mark.parametrize("last", ["relu", None])
def test_a_plain_stack_preserves_the_mean_square(depth: int, last: str | None):
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found.append(mean_square(rFF(D, *[D] * depth, last=last, rng=rng)(rows(rng)).numpy()))
    # The variance of a sum of D random weights is known; what is left of its spread after `depth` layers is not much.
    assert np.mean(found) == pytest.approx(1, rel=0.08 * math.sqrt(depth))
    net = rFF(D, *[D] * depth, last=last, rng=np.random.default_rng(0))
    assert not any(layer.bias.data.any() for layer in net.layers)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_so_do_layers_that_add_a_pooled_term(pooling: str):
    """Exactly so where all elements of a set are equal, and pool(X) = X."""
    rng = np.random.default_rng(0)
    X = np.repeat(rows(rng, 1), 3, axis=1)
    squares = [mean_square(rFFp(D, D, D, pooling=pooling, rng=np.random.default_rng(i))(X).numpy()) for i in range(20)]
    assert np.mean(squares) == pytest.approx(1, rel=0.1)


def test_bounds_and_biases():
    rng = np.random.default_rng(0)
    for gain, bound in ((None, 1 / math.sqrt(D)), (1, math.sqrt(3 / D)), (2, math.sqrt(6 / D))):
        layer = Linear(D, D, gain=gain, rng=rng)
        assert 0.99 * bound < np.abs(layer.weight.data).max() <= bound * (1 + 1e-6)
        assert layer.bias.data.any() == (gain is None)
    assert np.abs(Conv2d(4, 64, 3, gain=2, rng=rng).weight.data).max() > 0.95 * math.sqrt(6 / 36)
    assert np.abs(ConvNorm(4, 64, rng=rng).conv.weight.data).max() <= 1 / math.sqrt(36)  # a norm follows


def test_the_rff_beside_a_skip_connection_starts_smaller():
    rng = np.random.default_rng(0)
    mab = MAB(D, D, D, 4, rng=rng)
    assert np.abs(mab.rff.layers[0].weight.data).max() <= 1 / math.sqrt(D) and mab.rff.layers[0].bias.data.any()
