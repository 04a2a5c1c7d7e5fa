"""Solutions of chapter 10, the proofs.

1. By hand.  If all scores are 0, every weight is ω(0) = 1 + f(0).  With f = sigmoid that is 3/2; with tanh, or with
   sigmoid(s) − ½, it is 1.
2. By hand.  LN(x) subtracts the mean over features.  For z = (c, c, …, c) that leaves zeros: such elements are all
   alike behind a LayerNorm, and with d = 1 every element is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograd import attention

Array = np.ndarray


def power_mean(Z: Array, p: float) -> Array:
    """A query of zeros: all scores are 0, all weights 1/n."""
    powers = Z**p
    return attention(np.zeros((1, Z.shape[1])), powers, powers).data[0] ** (1 / p)


def soft_maximum(Z: Array, sharpness: float) -> Array:
    """The query is the sharpness, the keys are the values."""
    return attention(np.array([[sharpness]]), Z, Z, scale=1.0).data[0]


def size(X: Array) -> float:
    """The mean of the mark is 1/n.  With one marked element a softmax can count after all."""
    return 1 / attention(np.zeros((1, 2)), X, X[:, :1]).data.item()


def phi(x: Array) -> Array:
    """The sums of 1, x and x² hold n, the mean and the mean square."""
    return np.concatenate([np.ones_like(x), x, x**2], axis=1)


def rho(total: Array) -> float:
    """Mean square minus squared mean."""
    n, first, second = total
    return second / n - (first / n) ** 2


def sees_how_many(f: Callable[[Array], Array], X: Array) -> bool:
    """Up to rounding."""
    return not np.allclose(f(X), f(np.concatenate([X, X, X])), rtol=1e-6, atol=1e-8)
