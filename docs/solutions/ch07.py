"""Solutions of chapter 7, symmetry.

1. By hand.  (a) The median of a set is invariant.  (b) Each element's rank is equivariant, if there are no ties.
   (c) Distances between all pairs, an (n, n) matrix D: neither; D(ΠX) = Π D(X) Πᵀ, both axes are reordered.  (d) The
   first element: neither.  (e) The distance of each element to the nearest other: equivariant.
2. By hand.  h(f(ΠX)) = h(f(X)) if f is invariant, whatever h is.  If f is only equivariant and h a function of the
   first row, h(Π f(X)) reads another row: not invariant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from docs.exercises.ch07 import average, middle, running, standardized
from minisets import testing

Array = np.ndarray


def permutation_matrix(order: Sequence[int]) -> Array:
    """Row i of Π X is row order[i] of X, so row i of Π has its 1 at order[i]: the rows of the identity, reordered."""
    return np.eye(len(order))[list(order)]


def is_equivariant(f: Callable[[Array], Array], X: Array) -> bool:
    """All orders, because a function may be fine with some of them, such as those that exchange the first two."""
    return all(np.allclose(f(X[list(o)]), f(X)[list(o)]) for o in itertools.permutations(range(len(X))))


def made_invariant(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The mean over all orders: reordering X only reorders the terms.  It costs n! calls, which is why set networks
    are built from layers that are symmetric to begin with."""
    return lambda X: np.mean([f(X[list(o)]) for o in itertools.permutations(range(len(X)))], axis=0)


def centered(X: Array, mask: Array) -> Array:
    """where, not multiplication: 0 · nan is nan.  At least 1 in the denominator: 0 / 1 for an empty set."""
    present = mask[..., None]
    X = np.where(present, X, 0)
    count = np.maximum(present.sum(axis=1, keepdims=True), 1)
    return np.where(present, X - X.sum(axis=1, keepdims=True) / count, 0)


def failing_check(f: Callable[..., Array]) -> Callable[..., None]:
    """running: partial sums depend on the order.  standardized: the standard deviation is that of the batch.  middle:
    of equal first features the one that comes first wins.  average: divides by the padded size."""
    return {
        running: testing.check_invariant,
        standardized: testing.check_batch_independence,
        middle: testing.check_duplicates,
        average: testing.check_padding,
    }[f]
