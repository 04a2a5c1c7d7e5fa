"""Chapter 23, the GPU: solutions.

6. Atomic additions are each exact in the sense that none is lost, but their order is that in which blocks happen to
finish.  Floating-point addition is not associative, so another order has other last bits.  The next step of Adam
amplifies them, and after a thousand steps two runs with the same seed differ visibly.  A run that is resumed could then
never be compared with one that was not.

7. Lanes of one warp write P, and other lanes of the same warp read it for the product P V.  Without a barrier a lane
may read a value before it is written.  Which run shows it depends on the hardware's timing; an emulation that switches
threads only at barriers does not show it at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

Array = np.ndarray
Shuffle = Callable[[Array, int], Array]


def sum_of_warp(values: Array, shuffle: Shuffle) -> Array:
    """After the step with k, every lane has the sum of the lanes that differ from it in the bits seen so far.

    32 = 2⁵, so five bits.  Both lanes of a pair add the same two numbers, and addition is commutative: all lanes end
    with the same bits.
    """
    for k in (16, 8, 4, 2, 1):
        values = values + shuffle(values, k)
    return values


def block_sums(g: Array, blocks: int, order: Iterable[int]) -> Array:
    """Each block writes its sum to a place of its own, and the places are added in their order: a second launch."""
    sums = np.zeros((blocks, g.shape[1]), g.dtype)
    for b in order:
        sums[b] = g[b::blocks].sum(axis=0)
    return sums.sum(axis=0)


def attention_forward(Q: Array, K: Array, V: Array, tile: int) -> tuple[Array, Array]:
    """t is the largest score so far.  When it grows, what was summed is scaled down to the new one."""
    n = len(Q)
    t, s, a = np.full(n, -np.inf), np.zeros(n), np.zeros((n, V.shape[1]))
    for i in range(0, len(K), tile):
        S = Q @ K[i : i + tile].T
        new = np.maximum(t, S.max(axis=1))
        shrink, e = np.exp(t - new), np.exp(S - new[:, None])
        s = s * shrink + e.sum(axis=1)
        a = a * shrink[:, None] + e @ V[i : i + tile]
        t = new
    return a / s[:, None], t + np.log(s)


def attention_backward(Q: Array, K: Array, V: Array, output: Array, L: Array, g: Array, tile: int) -> Array:
    """gS = P ⊙ (gP − Σ gP ⊙ P), and the sum is Σⱼ Pⱼ (g · vⱼ) = g · Σⱼ Pⱼ vⱼ = g · O: no weights are needed for it."""
    correction = (g * output).sum(axis=1, keepdims=True)
    gQ = np.zeros_like(Q)
    for i in range(0, len(K), tile):
        k, v = K[i : i + tile], V[i : i + tile]
        P = np.exp(Q @ k.T - L[:, None])
        gQ += (P * (g @ v.T - correction)) @ k
    return gQ


def least_time(operations: float, numbers: float, rate: float, bandwidth: float) -> tuple[float, str]:
    """Both must happen, and at best they overlap completely: the larger of the two times is a bound."""
    arithmetic, memory = operations / rate, 4 * numbers / bandwidth
    return max(arithmetic, memory), "arithmetic" if arithmetic > memory else "memory"
