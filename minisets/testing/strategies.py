"""Hypothesis strategies for sets, masks and permutations.

Everything is made from a few small integers, so that a failing example shrinks quickly: to one set of as few elements
as still fail, nothing masked that need not be, and a permutation that exchanges two elements.  The numbers in a set
come from a seed: they need not be small to be understood, and drawing thousands one by one would be slow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Sample = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]  # (rng, shape) -> numbers
Range = tuple[int, int]  # from, to

BATCH, SIZES = (1, 3), (1, 8)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal numbers with two decimals, all different within a feature of a set, so that nothing ties."""
    X = rng.normal(size=shape).round(2)
    for feature in (X[b, :, j] for b in range(X.shape[0]) for j in range(X.shape[2])):
        while len(np.unique(feature)) < len(feature):
            feature += rng.normal(size=feature.shape).round(2)
    return X


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Which sets to draw."""

    batch: Range = BATCH  # the least and the largest number of sets in a batch
    sizes: Range = SIZES  # and of elements in a set
    sample: Sample = normal  # (rng, shape) -> values of the elements

    def example(self, rng: np.random.Generator, d: int, B: int = 2, n: int = 3) -> np.ndarray:
        """B sets of n elements, or of as many as there may be."""
        return np.asarray(self.sample(rng, (B, min(max(n, self.sizes[0]), self.sizes[1]), d)))


@st.composite
def sets(draw: Any, d: int, *, batch: Range = BATCH, sizes: Range = SIZES, sample: Sample = normal) -> np.ndarray:
    """A batch of sets (B, n, d) in float64, with B in batch and n in sizes."""
    B, n = (draw(st.sampled_from(range(low, high + 1))) for low, high in (batch, sizes))  # integers() draws 1 too often
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return np.asarray(sample(rng, (B, n, d)), dtype="float64")


@st.composite
def masks(draw: Any, B: int, n: int, *, empty: bool = False) -> np.ndarray:
    """A mask (B, n), True where an element is present; sets without any only if `empty` is set, then at least one."""
    # A bit for each element, in as many bytes for 1 element as for 8: n can shrink while the mask stays as it is.
    count = -(-max(n, SIZES[1]) // 8)
    hidden = np.frombuffer(draw(st.binary(min_size=B * count, max_size=B * count)), dtype="uint8").reshape(B, count)
    mask = np.unpackbits(hidden, axis=1, bitorder="little")[:, :n] == 0
    if empty and mask.any(axis=1).all():
        mask[hidden.sum() % B] = False
    if not empty:
        mask[~mask.any(axis=1), :1] = True
    return mask


@st.composite
def ragged_sets(
    draw: Any,
    d: int,
    *,
    batch: Range = BATCH,
    sizes: Range = SIZES,
    sample: Sample = normal,
    empty: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Sets (B, n, d) and a mask (B, n): sets of different sizes, with padding anywhere."""
    X = draw(sets(d, batch=batch, sizes=sizes, sample=sample))
    return X, draw(masks(*X.shape[:2], empty=empty))


@st.composite
def permutations(draw: Any, B: int, n: int) -> np.ndarray:
    """Indices (B, n): a permutation of the elements of each set, never the identity; shrinks to the exchange of two."""
    # One integer for all: of several draws alike, Hypothesis makes most examples by copying one to another.
    code, orders = draw(st.integers(0, 2**16 - 1)), np.tile(np.arange(n), (B, 1))
    pairs = list(itertools.combinations(range(n), 2))
    if code >= len(pairs) > 0:
        orders = np.random.default_rng(code).permuted(orders, axis=1)
    same = (orders == np.arange(n)).all(axis=1)
    if pairs:
        i, j = pairs[code % len(pairs)]
        orders[same, i], orders[same, j] = j, i
    return orders


@st.composite
def repeated_elements(draw: Any, X: np.ndarray, sample: Sample = normal) -> tuple[np.ndarray, np.ndarray]:
    """X with elements repeated; and with elements that agree in half of their features only: ties."""
    B, n, d = X.shape
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = np.take_along_axis(X, rng.integers(0, max(1, (n + 1) // 2), size=(B, n, 1)), axis=1) if n else X
    kept = rng.permutation(np.arange(d) < (d + 1) // 2)
    return X, np.where(kept, X, sample(rng, X.shape)).astype(X.dtype)


def permuted(a: Any, order: np.ndarray) -> Any:
    """The elements of each set in another order: a (B, n, ...) and order (B, n)."""
    return None if a is None else np.take_along_axis(a, order.reshape(*order.shape, *[1] * (a.ndim - 2)), axis=1)
