"""Solutions of chapter 15, maximum regression.

4. Training cannot find it exactly because a step of gradient descent stops nowhere: the absolute error has slope ±1
   right up to its minimum, so the weights keep stepping to both sides of it, by η.
6. The network that sees x/100 has biases of the size of its inputs.  With --scale 1 the products with the inputs are a
   hundred times as large and the biases are not: nearly all units are on or off for all inputs alike.  The spread,
   divided by the size, falls.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


Layer = tuple[Array, Array]


def soft_maximum(x: Array, beta: float) -> float:
    """With the maximum m taken out: m + (1/β) log mean exp(β(x − m)).  It lies between m − log(n)/β and m."""
    m = x.max()
    return float(m + np.log(np.mean(np.exp(beta * (x - m)))) / beta)


def maximum_by_attention(x: Array, beta: float) -> float:
    """Subtracting the maximum changes no weight and no exponential overflows."""
    weights = np.exp(beta * (x - x.max()))
    return float(weights @ x / weights.sum())


def worst_gap(beta: float) -> float:
    """The error is δ / (1 + e^(βδ)): small if the numbers are nearly equal, and if they are far apart.

    With u = βδ its derivative vanishes where 1 + e^u = u e^u, at u = 1.2785; the error there is 0.2785 / β.  So
    attention is worst at telling apart the numbers that are a little different, and any fixed β has such a gap.
    """
    u = 1.0
    for _ in range(100):
        u = 1 + np.exp(-u)
    return float(u / beta)


def expected_maximum(n: int) -> float:
    """P(max ≤ m) = (m/100)ⁿ, so the density is n mⁿ⁻¹ / 100ⁿ and the mean 100 n / (n + 1)."""
    return 100 * n / (n + 1)


def error_knowing_size(n: int) -> float:
    """The best guess is the median, a = 2^(−1/n) on [0, 1].  E|M − a| = E M − 2 E[M; M < a] + a (2 P(M < a) − 1).

    With P(M < a) = ½ and E[M; M < a] = n/(n+1) aⁿ⁺¹ = n/(n+1) a/2 this is n/(n + 1) (1 − a).  Averaged over
    sizes from 1 to 10 it is 11.1; the best constant, which does not know the size, has 14.5.
    """
    return 100 * n / (n + 1) * (1 - 2 ** (-1 / n))


def exact_max_network() -> tuple[Layer, Layer, Layer]:
    """A ReLU passes what is not negative.  So 1 is added before it and subtracted at the end; one unit is enough."""
    one, shift = np.ones((1, 1)), np.ones(1)
    return (one, shift), (one, np.zeros(1)), (one, -shift)


def jump(errors: Array) -> float:
    """On a logarithmic scale a factor is a difference, and up or down is its sign."""
    return float(np.exp(np.abs(np.diff(np.log(errors))).max()))


def selected(test: Array, validation: Array) -> float:
    """Not the smallest test error: the minimum of noisy numbers is below what the same weights have on other sets."""
    return float(test[np.argmin(validation)])
