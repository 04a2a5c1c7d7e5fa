"""Chapter 23, the GPU: write your answers here, then run python -m pytest docs/exercises/test_ch23.py

No GPU is needed: a warp is an array of 32 numbers, one for each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

Array = np.ndarray
Shuffle = Callable[[Array, int], Array]


def sum_of_warp(values: Array, shuffle: Shuffle) -> Array:
    """The sum of 32 values, in every lane: (32,) -> (32,), in five calls of shuffle.

    shuffle(values, k) gives lane i what lane i XOR k has.
    """
    raise NotImplementedError


def block_sums(g: Array, blocks: int, order: Iterable[int]) -> Array:
    """Σ over the rows of g (rows, d), as a kernel without atomics takes it: (d,).

    Block b sums the rows b, b + blocks, b + 2 blocks, …; the blocks finish in the given order, a permutation of
    range(blocks).  The result must have the same bits for every order.
    """
    raise NotImplementedError


def attention_forward(Q: Array, K: Array, V: Array, tile: int) -> tuple[Array, Array]:
    """O = softmax(Q Kᵀ) V (n, f) and L (n,), the logarithm of each row's Σ e^S, from `tile` keys at a time.

    No array may have more than n · tile scores, and large scores must not overflow.
    """
    raise NotImplementedError


def attention_backward(Q: Array, K: Array, V: Array, output: Array, L: Array, g: Array, tile: int) -> Array:
    """The gradient of Q, from `tile` keys at a time: the weights are computed again, P = e^(S − L).

    g is the gradient of the output.  Hint: Σ gP ⊙ P over the keys is Σ g ⊙ output over the features.
    """
    raise NotImplementedError


def least_time(operations: float, numbers: float, rate: float, bandwidth: float) -> tuple[float, str]:
    """The roofline: the time in seconds that a launch takes at least, and what limits it, "arithmetic" or "memory".

    numbers is how many float32 values are read or written, rate in operations/s, bandwidth in bytes/s.
    """
    raise NotImplementedError
