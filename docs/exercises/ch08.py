"""Chapter 8, testing: write your answers here, then run python -m pytest docs/exercises/test_ch08.py

The list for the chapter:

1. Repair the first exhibit: `masked_attention` is its attention with scores that are masked. All checks of chapter 8
   that concern padding must pass.
2. `failures` names the checks that a function fails.
3. Write a function that is wrong in exactly one way: `knows_its_neighbors` passes check_invariant and
   check_duplicates and fails check_batch_independence. Why does it take a batch to notice?
4. `reference` is Dotprod in plain loops, for check_against. Which of our checks would notice if Dotprod divided by d
   instead of √d?
5. A property of your own: `check_doubling` demands that giving every element twice changes nothing. Which poolings and
   which networks have it ([chapter 10](10-proofs.md#why-a-sum-is-needed))?
6. By hand: a network passes check_invariant with 40 examples. One set in a hundred would have shown the mistake. How
   likely was it to be missed, and how many examples make that less than one percent?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import Tensor
from minisets import Dotprod
from minisets.nn import Linear

Array = np.ndarray


def masked_attention(X: Tensor, mask: Array | None, q: Linear, k: Linear, v: Linear) -> Tensor:
    """X + softmax(q(X) k(X)ᵀ) v(X) for sets X (B, n, d), over the present keys only; X itself in an empty set.

    autograd.softmax takes a mask, and autograd.where chooses; masked elements of X may be nan, and give zeros.
    """
    raise NotImplementedError


def failures(f: Any, kind: str, **settings: Any) -> list[str]:
    """The names of the checks that f fails: [] or ["padding", "duplicates"], for example.

    check_set_function returns a list of results, or raises SetFunctionError, which has one as well; a result has
    check, a name, and error, which is None if it passed; the exception has the list as its attribute results.
    """
    raise NotImplementedError


def knows_its_neighbors(X: Array) -> Array:
    """(B, n, d) -> (B, d): invariant, and yet a set's output depends on the other sets of the batch."""
    raise NotImplementedError


def reference(net: Dotprod, X: Array) -> Array:
    """Dotprod of sets X (B, n, d), without a mask, with loops over sets and elements: (B, 1, d).  Its seed is net.s."""
    raise NotImplementedError


def check_doubling(f: Callable[[Array], Array]) -> None:
    """Raise AssertionError unless f(X ∪ X) = f(X), up to 1e-6, for sets X (B, n, 2) drawn by Hypothesis.

    minisets.testing.sets is the strategy; X ∪ X has every element twice.  f may return a Tensor.
    """
    raise NotImplementedError
