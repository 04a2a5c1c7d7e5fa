"""How parameters begin: drawn on the CPU from a generator that the caller gives, so every device starts alike."""

from __future__ import annotations

import math

import numpy as np

from autograd import Tensor
from minisets.checks import positive_int


def require_generator(rng: np.random.Generator) -> np.random.Generator:
    """Refuse what is not a generator: a seed, say, or nothing."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a NumPy Generator, such as numpy.random.default_rng(0); given {type(rng).__name__}"
        )
    return rng


def uniform(rng: np.random.Generator, shape: tuple[int, ...], bound: float) -> Tensor:
    """A float32 parameter drawn from U(−bound, bound)."""
    require_generator(rng)
    return Tensor(rng.uniform(-bound, bound, size=shape).astype("float32"), requires_grad=True)


def fan_in_uniform(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int) -> Tensor:
    """U(±1/√fan_in), fan_in being how many inputs one output sums: what PyTorch does in its linear layers."""
    return uniform(rng, shape, 1 / math.sqrt(max(fan_in, 1)))


def xavier_uniform(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, fan_out: int) -> Tensor:
    """U(±√(6 / (fan_in + fan_out))), which keeps the variance of signals and of gradients about 1."""
    return uniform(rng, shape, math.sqrt(6 / (fan_in + fan_out)))


def constant(shape: tuple[int, ...], value: float) -> Tensor:
    """A float32 parameter that begins as the same number everywhere."""
    return Tensor(np.full(shape, value, dtype="float32"), requires_grad=True)


def learned_rows(rng: np.random.Generator, m: int, d: int) -> Tensor:
    """m rows of d numbers, as the authors draw inducing points and seeds: U(±√(6 / (d (m + 1))))."""
    m = positive_int("the number of inducing points or seeds", m)
    return uniform(rng, (m, d), math.sqrt(6 / (d * (m + 1))))
