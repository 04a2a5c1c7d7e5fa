"""Parameter initialization, sampled on the CPU from the caller's generator, so that all devices start alike.

Two rules cover all weights of layers:

- In a plain stack (rFF, rFFp, FC layers and convolutions without a norm) only the weights decide how large the next
  layer's input is.  They preserve its mean square: U(±√(6 / fan_in)) before a ReLU, which halves it, U(±√(3 / fan_in))
  elsewhere; biases are 0.  PyTorch's default would divide it by 6 in every layer with a ReLU, and after four of them
  the elements of a set could hardly be told apart.
- Beside a skip connection (inside a MAB), before a norm, and at a network's output: PyTorch's default U(±1/√fan_in),
  also for biases.  There the skip or the norm keeps the size of the next layer's input, and weights that did so as well
  would double the mean square in every block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def preserving_uniform(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, gain: float) -> Tensor:
    """U(±√(3 gain / fan_in)), of variance gain / fan_in: the output has gain times the mean square of the input.

    gain is 1, or 2 before a ReLU, after which half of the mean square is left (He et al., 2015).
    """
    return uniform(rng, shape, math.sqrt(3 * gain / max(fan_in, 1)))


def layer(
    rng: np.random.Generator, shape: tuple[int, ...], d_out: int, fan_in: int, bias: bool, gain: float | None
) -> tuple[Tensor, Tensor | None]:
    """The weight and the bias (d_out,) of a layer, by the first rule if it has a gain and by the second if not.

    gain: for a layer in a plain stack, 2 before a ReLU and 1 elsewhere.
    """
    if gain is None:
        return fan_in_uniform(rng, shape, fan_in), fan_in_uniform(rng, (d_out,), fan_in) if bias else None
    return preserving_uniform(rng, shape, fan_in, gain), constant((d_out,), 0.0) if bias else None


def gains(layers: int, last: str | None, terms: int = 1) -> Sequence[float | None]:
    """The gains of a plain stack with a ReLU after each layer, or after all but the last (last=None).

    terms: how many products each layer adds up, which share its gain.
    """
    return [2 / terms] * (layers - 1) + [(2 if last else 1) / terms]


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
