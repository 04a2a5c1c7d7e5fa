"""Solutions of chapter 8, testing.

3. A set alone is its own batch, so its output changes when others join it.  Only a comparison of the two shows it.
4. None of the properties: with another scale it is as symmetric.  check_against does.
5. Mean, maximum, and everything that is made of softmax attention, row-wise layers and norms over features.  Not the
   sum.
6. 0.99⁴⁰ = 0.67: it was missed more likely than not.  0.99ⁿ < 0.01 for n > log 0.01 / log 0.99 = 458.2, so 459
   examples. (Hypothesis does better than this: it tries small and repeated values on purpose.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np

from autograd import Tensor, softmax, where
from minisets import Dotprod, testing
from minisets.nn import Linear

Array = np.ndarray


def masked_attention(X: Tensor, mask: Array | None, q: Linear, k: Linear, v: Linear) -> Tensor:
    """Zeroing X keeps nan out of the products; the softmax's mask gives masked keys no weight at all."""
    if mask is not None:
        X = where(mask[..., None], X, 0)
    scores = q(X) @ k(X).swapaxes(-1, -2)
    Y = X + softmax(scores, mask=None if mask is None else mask[:, None]) @ v(X)
    return Y if mask is None else where(mask[..., None], Y, 0)


def failures(f: Any, kind: str, **settings: Any) -> list[str]:
    """The results are the same in both cases."""
    try:
        results = testing.check_set_function(f, kind, **settings)
    except testing.SetFunctionError as error:
        results = error.results
    return [result.check for result in results if result.error]


def knows_its_neighbors(X: Array) -> Array:
    """The sum of the elements, minus the mean of these sums over the batch."""
    sums = X.sum(axis=1)
    return sums - sums.mean(axis=0)


def reference(net: Dotprod, X: Array) -> Array:
    """The equation, one element at a time."""
    s, out = net.s.numpy()[0], []
    for x in X:
        weights = [np.exp(s @ z / np.sqrt(len(z))) for z in x]
        out.append([sum(w * z for w, z in zip(weights, x, strict=True)) / sum(weights)])
    return np.array(out)


def check_doubling(f: Callable[[Array], Array]) -> None:
    """A property is a function of drawn values with an assertion in it."""

    @hypothesis.settings(deadline=None, database=None)
    @hypothesis.given(testing.sets(2))
    def doubling(X: Array) -> None:
        one, two = (np.asarray(getattr(y, "data", y)) for y in (f(X), f(np.concatenate([X, X], axis=1))))
        np.testing.assert_allclose(np.array(two), np.array(one), rtol=1e-6, atol=1e-6)

    doubling()
