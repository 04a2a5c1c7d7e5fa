"""Solutions of chapter 19, finding the odd face.

2. Scores of a set may all be shifted by a constant of the set: the order within it stays, and so does the average; in
   the pool, all images of a set with a high constant come before the odd ones of the others.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import logsumexp

Array = np.ndarray


def auroc_of_rank(r: int, n: int) -> float:
    """r − 1 of the n − 1 others are ranked above it."""
    return 1 - (r - 1) / (n - 1)


def aupr_of_rank(r: int) -> float:
    """Recall jumps from 0 to 1 at rank r, where one of r elements is odd."""
    return 1 / r


def random_guess(n: int) -> tuple[float, float]:
    """All ranks are equally likely: ½, and the n-th harmonic number divided by n."""
    ranks = range(1, n + 1)
    return sum(auroc_of_rank(r, n) for r in ranks) / n, sum(aupr_of_rank(r) for r in ranks) / n


def averaged_but_not_pooled(sets: int, n: int) -> tuple[Array, Array]:
    """The odd one is the highest of its set, but each set's scores are 10 above those of the set before.

    In the pool the k-th odd element is found after (k − 1) n + 1 elements, with a precision of about 1/n.
    """
    scores = 10.0 * np.arange(sets)[:, None] + (np.arange(n) == 0)
    return scores, np.zeros(sets, int)


def expected_accuracy(scores: Array) -> float:
    """The highest score stays at its position, and the odd element is there in one of n orders.  The scores do not
    matter.
    """
    return 1 / len(scores)


def head(Y: Array, Z: Array) -> Array:
    """A log-sum-exp over j; logsumexp subtracts the maximum."""
    return logsumexp(Z @ Y.T, axis=1)


def odd_one_out(Z: Array) -> int:
    """Its product with itself must not count: a long vector would hide by it.

    It fails if what the seven share is a small part of their vectors: two faces with different light may then
    have the smallest product.  Learning means to make z long in what can be shared and short in the rest.
    """
    products = Z @ Z.T
    return int((products.sum(axis=1) - np.diag(products)).argmin())


def sample_set(attributes: Array, rng: np.random.Generator) -> tuple[Array, int, tuple[int, int]]:
    """Pairs are listed first and then one is chosen.  To choose a pair and try again if it does not work is the
    same.

    "Neither" is not "not both": an image with one of the two is in no set.
    """
    pairs = [
        (a, b)
        for a, b in itertools.combinations(range(attributes.shape[1]), 2)
        if (attributes[:, a] & attributes[:, b]).sum() >= 7 and (~attributes[:, a] & ~attributes[:, b]).any()
    ]
    if not pairs:
        raise ValueError("no two attributes are shared by seven images and lacked by one")
    a, b = pairs[rng.integers(len(pairs))]
    both = rng.choice(np.flatnonzero(attributes[:, a] & attributes[:, b]), 7, replace=False)
    images = np.append(both, rng.choice(np.flatnonzero(~attributes[:, a] & ~attributes[:, b])))
    order = rng.permutation(8)
    return images[order], int(np.flatnonzero(order == 7)[0]), (a, b)
