"""Chapter 19, finding the odd face: write your answers here, then run python -m pytest docs/exercises/test_ch19.py"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def auroc_of_rank(r: int, n: int) -> float:
    """AUROC of a set of n elements whose single odd one has rank r, 1 being the best."""
    raise NotImplementedError


def aupr_of_rank(r: int) -> float:
    """AUPR (average precision) of a set whose single odd element has rank r."""
    raise NotImplementedError


def random_guess(n: int) -> tuple[float, float]:
    """AUROC and AUPR of a random ranking of n elements of which one is odd, on average."""
    raise NotImplementedError


def averaged_but_not_pooled(sets: int, n: int) -> tuple[Array, Array]:
    """Scores (sets, n) and the positions (sets,) of the odd elements, for sets ≥ 5 and n ≥ 5, such that the AUPR
    averaged over sets is 1, and the AUPR of all elements pooled is below ½.
    """
    raise NotImplementedError


def expected_accuracy(scores: Array) -> float:
    """The accuracy of a network that returns these scores (n,) by position, whatever the order of the set.

    Over all orders of a set with one odd element, exactly; the scores have no ties.
    """
    raise NotImplementedError


def head(Y: Array, Z: Array) -> Array:
    """sᵢ = log Σⱼ exp ⟨yⱼ, zᵢ⟩ for Y (k, d) and Z (n, d): (n,), also for inner products of a thousand."""
    raise NotImplementedError


def odd_one_out(Z: Array) -> int:
    """The index of the vector of Z (n, d), n ≥ 3, whose mean inner product with the *others* is the smallest."""
    raise NotImplementedError


def sample_set(attributes: Array, rng: np.random.Generator) -> tuple[Array, int, tuple[int, int]]:
    """Eight different images in random order, the position of the odd one, and the two attributes a < b.

    attributes is a boolean array (images, kinds).  Seven images have both attributes and one has neither; all
    pairs for which there are such images are equally likely.  ValueError if there is none.
    """
    raise NotImplementedError
