"""The properties of a set function, each as a test of one example.

    invariant               f(πX) = f(X)                                    for every permutation π of a set's elements
    equivariant             f(πX) = π f(X)
    padding                 f(X, mask) = f(the unmasked elements alone)     whatever the masked ones hold
    batch_independence      f(X)ᵢ = f(Xᵢ)                                   for each set i of a batch
    empty_sets              f(∅) is finite                                  and does not disturb the other sets
    duplicates              xᵢ = xⱼ  ⇒  f(X)ᵢ = f(X)ⱼ                       and permutations of equal elements

A test draws an example and raises a Violation.  gradients.py and precision.py have the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from minisets.testing.strategies import Drawing, Range, masks, permutations, permuted, repeated_elements, sets
from minisets.testing.subject import Subject
from minisets.testing.violation import Violation, compare

Draw = Callable[[Any], Any]
Case = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True, kw_only=True)
class Options(Drawing):
    """What to draw, and how strict to be."""

    examples: int = 40
    seed: int = 0
    magnitude: float = 1e4  # the size of large elements, for which outputs must be finite
    at_end: bool = False  # padding comes after all elements, as functions that take lengths need it
    finite: bool = False  # padding holds finite numbers only, never nan or inf
    exact: bool = False  # padding changes not a bit, and its outputs and gradients are exactly 0
    empty: bool = True  # there may be sets without elements

    def __post_init__(self) -> None:
        for name in ("batch", "sizes"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise ValueError(f"{name} must be a pair of integers, 1 <= least <= largest, given {(low, high)}")
        if self.examples < 1:
            raise ValueError(f"examples must be at least 1, given {self.examples}")

    def garbage(self) -> list[list[float]]:
        """What masked elements may hold: finite and other values, the most harmless first, as examples shrink to it."""
        return [[1.0, -3.0, 100.0, 1e6]] + ([] if self.finite else [[np.inf, -np.inf, np.nan]])


def draw_sets(
    draw: Draw, subject: Subject, options: Options, *, batch: Range | None = None, always_masked: bool = False
) -> Case:
    """Sets, with a mask if the function takes one (and sometimes without, if it may be left out)."""
    strategy = sets(subject.d_in, batch=batch or options.batch, sizes=options.sizes, sample=options.sample)
    X = draw(strategy).astype(subject.dtypes[0])
    masked = subject.takes_mask and (subject.mask.required or always_masked or draw(st.booleans()))
    return X, draw_mask(draw, subject, options, X) if masked else None


def draw_mask(draw: Draw, subject: Subject, options: Options, X: np.ndarray, *, empty: bool = False) -> np.ndarray:
    """A mask, with padding anywhere or, if it has to be, at the end."""
    mask = draw(masks(*X.shape[:2], empty=empty))
    return -np.sort(-mask.astype(int), axis=1) == 1 if at_end(subject, options) else mask


def draw_order(draw: Draw, subject: Subject, options: Options, X: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """A permutation of each set; padding that has to be at the end stays there."""
    order = draw(permutations(*X.shape[:2]))
    if mask is not None and at_end(subject, options):
        order = np.take_along_axis(order, np.argsort(~permuted(mask, order), axis=1, kind="stable"), axis=1)
    return order


def at_end(subject: Subject, options: Options) -> bool:
    return options.at_end or subject.mask.means == "lengths"


def present(X: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    return np.ones(X.shape[:2], dtype=bool) if mask is None else mask


# ---- order


def permutation(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    X, mask = draw_sets(draw, subject, options)
    compare_permuted(subject, kind, X, mask, draw_order(draw, subject, options, X, mask))


def compare_permuted(
    subject: Subject, kind: str, X: np.ndarray, mask: np.ndarray | None, order: np.ndarray, hint: str = "order"
) -> None:
    y, moved = subject(X, mask), subject(permuted(X, order), permuted(mask, order))
    if kind == "invariant":
        values = {"f(X)": y, "f(πX)": moved}
        what = "the output changed when elements were permuted"
        compare(what, values, X, mask, again=lambda Z: subject(Z, mask), order=order, hint=hint)
        return
    values = {"π f(X)": permuted(y, order), "f(πX)": moved}
    what = "the outputs were not permuted as the elements were"
    where = permuted(present(X, mask), order)
    again = lambda Z: permuted(subject(Z, mask), order)  # noqa: E731
    compare(what, values, X, mask, where=where, again=again, order=order, hint=hint)


def duplicates(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    X, mask = draw_sets(draw, subject, options)
    repeated, tied = draw(repeated_elements(X, options.sample))
    order = draw_order(draw, subject, options, X, mask)
    for X in (tied, repeated):
        compare_permuted(subject, kind, X, mask, order, hint="ties")
    first = _first_equal(X, mask)
    if options.exact and subject.differentiable:  # elsewhere, a maximum may send its gradient to one of several
        g = subject.gradients(X, mask, np.ones).X
        values = {"gradient of X": g, "of the first equal element": permuted(g, first)}
        again = lambda Z: subject.gradients(Z, mask, np.ones).X  # noqa: E731
        compare(
            "equal elements receive different gradients",
            values,
            X,
            mask,
            where=present(X, mask),
            again=again,
            hint="ties",
        )
    if kind != "equivariant":
        return
    y = subject(X, mask)
    values = {"f(X)": y, "f(X) of the first equal element": permuted(y, first)}
    what = "equal elements have different outputs"
    compare(what, values, X, mask, where=present(X, mask), again=lambda Z: subject(Z, mask), hint="ties")


def _first_equal(X: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """For each element the first of its set that is equal to it: (B, n)."""
    keep = present(X, mask)
    return ((X[:, :, None] == X[:, None]).all(axis=-1) & keep[:, :, None] & keep[:, None]).argmax(axis=2)


# ---- other sets


def batch_independence(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    batch = (max(2, options.batch[0]), max(2, options.batch[1]))
    X, mask = draw_sets(draw, subject, options, batch=batch)
    y = subject(X, mask)
    alone = [subject(X[b : b + 1], None if mask is None else mask[b : b + 1]) for b in range(len(X))]
    if any(one.shape[1:] != y.shape[1:] for one in alone):
        what = f"a set alone gives {alone[0].shape}, in a batch of {len(X)} it has {y.shape}"
        raise Violation(what, X, mask, {"f(X)": y, "f(X₀ alone)": alone[0]}, hint="shape")
    values = {"f(X)": y, "each set alone": np.concatenate(alone)}
    where = present(X, mask) if kind == "equivariant" else None
    what = "the output of a set depends on the other sets of the batch"
    compare(what, values, X, mask, where=where, again=lambda Z: subject(Z, mask), hint="batch")


# ---- masks


def padding(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    X, mask = draw_sets(draw, subject, options, always_masked=True)
    X = X * X.dtype.type(draw(st.sampled_from([1, 10, 100])))  # large ones outweigh what is not quite −∞
    if mask is None:
        mask = np.ones(X.shape[:2], dtype=bool)
    where = mask if kind == "equivariant" else None
    zeros = np.where(mask[..., None], X, 0).astype(X.dtype)
    y = subject(zeros, mask)

    def same(what: str, other: np.ndarray, label: str, hint: str, exact: bool = False) -> None:
        values = {"f(X, mask)": y, label: other}
        compare(what, values, zeros, mask, where=where, again=lambda Z: subject(Z, mask), hint=hint, exact=exact)

    for garbage in (draw(st.sampled_from(values)) for values in options.garbage()):
        filled = np.where(mask[..., None], X, garbage).astype(X.dtype)
        label = f"f(X with {garbage:g} where masked, mask)"
        changed = subject(filled, mask)
        same("what masked elements hold changes the output", changed, label, "garbage", options.exact)
        if options.exact and kind == "equivariant" and (changed[~mask] != 0).any():
            raise Violation("masked elements have outputs other than 0", filled, mask, {label: changed}, hint="garbage")
    more = draw(st.integers(1, 3))
    longer = np.concatenate([zeros, np.zeros((len(X), more, X.shape[2]), X.dtype)], axis=1)
    hidden = np.concatenate([mask, np.zeros((len(X), more), dtype=bool)], axis=1)
    padded = subject(longer, hidden)
    padded = padded[:, : X.shape[1]] if kind == "equivariant" else padded
    what = (
        "one more masked element changes the output" if more == 1 else f"{more} more masked elements change the output"
    )
    same(what, padded, f"f(X and {more} masked)", "count")
    alone = y.copy()
    for b in range(len(X)):
        one = subject(X[b][mask[b]][None], None)
        alone[(b, mask[b]) if kind == "equivariant" else b] = one[0]
    same("the output is not that of the unmasked elements alone", alone, "f(unmasked elements alone)", "count")


def empty_sets(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    """A set whose elements are all masked, among others; and sets with no elements at all."""
    strategy = sets(subject.d_in, batch=options.batch, sizes=options.sizes, sample=options.sample)
    X = draw(strategy).astype(subject.dtypes[0])
    if subject.takes_mask:
        mask = draw_mask(draw, subject, options, X, empty=True)
        X = np.where(mask[..., None], X, 0).astype(X.dtype)
        y = subject(X, mask)
        _require_finite("a set without elements gives", y, X, mask)
        for b in np.flatnonzero(mask.any(axis=1)):
            values = {"f(X, mask)": y[b : b + 1], "the set alone": subject(X[b : b + 1], mask[b : b + 1])}
            where = mask[b : b + 1] if kind == "equivariant" else None
            what = "an empty set in the batch changes another one"
            compare(what, values, X[b : b + 1], mask[b : b + 1], where=where, hint="batch")
        if subject.differentiable:
            found = subject.gradients(X, mask, np.ones)
            for name, g in {"X": found.X, **found.parameters}.items():
                what = f"with an empty set in the batch, the gradient of {name} is"
                _require_finite(what, g, X, mask, label=f"gradient of {name}", hint="gradient")
    nothing = X[:, :0]
    try:
        y = subject(nothing, np.zeros(nothing.shape[:2], dtype=bool) if subject.takes_mask else None)
    except Violation as violation:
        if violation.hint != "raised" or options.exact:
            raise
        return  # to refuse sets without elements is fine; to return nan is not
    _require_finite("sets of shape (B, 0, d) give", y, nothing, None)
    if subject.takes_mask and kind == "invariant":
        values = {"f(X of shape (B, 0, d))": y, "f(X, all masked)": subject(X, np.zeros(X.shape[:2], dtype=bool))}
        compare("no elements and masked elements only are not the same", values, X, None, hint="empty")


def _require_finite(
    what: str,
    y: np.ndarray,
    X: np.ndarray,
    mask: np.ndarray | None,
    *,
    label: str = "f(X, mask)",
    hint: str = "empty",
) -> None:
    if not np.isfinite(y).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(y))[0])
        raise Violation(f"{what} {y[place]}", X, mask, {label: y}, place=place, hint=hint)
