"""Parameter initialization, sampled on the CPU from the caller's generator, so that all devices start alike."""

from __future__ import annotations

import math

import numpy as np

from autograd import Tensor
from minisets.checks import positive_int


def require_generator(rng: np.random.Generator) -> np.random.Generator:
    """Return rng if it is a NumPy Generator; anything else, such as a seed, raises TypeError."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a NumPy Generator, such as numpy.random.default_rng(0); given {type(rng).__name__}"
        )
    return rng


def uniform(rng: np.random.Generator, shape: tuple[int, ...], bound: float) -> Tensor:
    """A float32 parameter sampled from U(−bound, bound)."""
    require_generator(rng)
    return Tensor(rng.uniform(-bound, bound, size=shape).astype("float32"), requires_grad=True)


def fan_in_uniform(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int) -> Tensor:
    """U(±1/√fan_in), where each output sums fan_in inputs: PyTorch's default for linear layers."""
    return uniform(rng, shape, 1 / math.sqrt(max(fan_in, 1)))


def xavier_uniform(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, fan_out: int) -> Tensor:
    """U(±√(6 / (fan_in + fan_out))), which roughly preserves the variance of activations and gradients."""
    return uniform(rng, shape, math.sqrt(6 / (fan_in + fan_out)))


def constant(shape: tuple[int, ...], value: float) -> Tensor:
    """A float32 parameter filled with one value."""
    return Tensor(np.full(shape, value, dtype="float32"), requires_grad=True)


def learned_rows(rng: np.random.Generator, m: int, d: int) -> Tensor:
    """m learned vectors (m, d), initialized like the authors' inducing points and seeds: U(±√(6 / (d (m + 1))))."""
    m = positive_int("the number of inducing points or seeds", m)
    return uniform(rng, (m, d), math.sqrt(6 / (d * (m + 1))))
