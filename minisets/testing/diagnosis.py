"""Which mistake does it look like?  A guess from a few experiments on sets made for the purpose.

A violated property says that something is wrong; what it is shows in how the function behaves otherwise.  Padding that
changes the output, for example, may be there because the mask is ignored (then a mask of True gives the same), because
it is inverted (then the inverse mask gives the right output), or because zeros are still counted (then the number of
masked elements matters, but not what they hold).
"""

from __future__ import annotations

import numpy as np

from minisets.testing.causes import CAUSES, Cause
from minisets.testing.properties import Options
from minisets.testing.subject import Subject
from minisets.testing.violation import Violation


def diagnose(subject: Subject, kind: str, options: Options, violation: Violation) -> Cause:
    """The usual cause that a violation looks like."""
    if violation.hint in EVIDENT:
        return CAUSES[EVIDENT[violation.hint]]
    with subject.prepared():
        try:
            name = EXPERIMENTS[violation.hint](Laboratory(subject, kind, options), violation)
        except Violation:  # an experiment on other sets failed in its own way
            name = "position dependence" if violation.hint == "order" else "not finite"
    cause = CAUSES[name]
    given = {"dtype": _fits(next(iter(violation.values.values()), violation.X)), "given": violation.X.dtype}
    return Cause(cause.name, cause.text.format(**given) if "{" in cause.text else cause.text)


class Laboratory:
    """Sets for experiments, and the comparison of outputs."""

    def __init__(self, subject: Subject, kind: str, options: Options) -> None:
        self.f, self.kind = subject, kind
        self.n = min(max(7, options.sizes[0]), options.sizes[1])
        self.rng = np.random.default_rng(options.seed)
        self.sample = options.sample

    def sets(self, B: int = 1, n: int | None = None) -> np.ndarray:
        return self.sample(self.rng, (B, self.n if n is None else n, self.f.d_in)).astype(self.f.dtypes[0])

    def differ(self, a: np.ndarray, b: np.ndarray) -> float:
        """The largest difference, relative to the largest output; inf for nan or another shape."""
        if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
            return np.inf
        return float(np.abs(a - b).max(initial=0) / max(np.abs(a).max(initial=0), 1e-300))

    def same(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.differ(a, b) < 1e4 * np.finfo(a.dtype).eps

    def dependence_of_sets(self) -> np.ndarray:
        """Whose output (row) depends on whose elements (column), among three sets."""
        X = self.sets(B=3)
        y = self.f(X)
        depends = np.zeros((3, 3), dtype=bool)
        for j in range(3):
            Z = X.copy()
            Z[j] += self.sets()[0]
            moved = self.f(Z)
            depends[:, j] = [not self.same(y[i], moved[i]) for i in range(3)]
        return depends

    def sees_other_sets(self) -> bool:
        return bool(self.dependence_of_sets()[~np.eye(3, dtype=bool)].any())

    def permuted_alike(self, X: np.ndarray, order: list[int]) -> bool:
        y, moved = self.f(X), self.f(X[:, order])
        return self.same(y[:, order] if self.kind == "equivariant" else y, moved)


def _order(lab: Laboratory, violation: Violation) -> str:
    y = next(iter(violation.values.values()))
    if _fits(y) and _fits(y) != y.dtype and np.isfinite(y).all():
        return "low precision"
    X, n = lab.sets(), lab.n
    turned = [0, *range(2, n), 1]
    if all(lab.permuted_alike(lab.sets(), list(lab.rng.permutation(n))) for _ in range(4)):  # one set, no ties
        return _batch(lab, violation) if lab.sees_other_sets() else "ties broken by position"
    if violation.place is not None:
        a, b = list(violation.values.values())[:2]
        if 0 < lab.differ(a, b) < 1e-5:
            return "order-dependent reduction"
    if n > 2 and lab.permuted_alike(X, turned) and lab.permuted_alike(lab.sets(), turned):
        return "the first element is special"
    turned = [*range(1, n - 1), 0, n - 1]
    if n > 2 and lab.permuted_alike(X, turned) and lab.permuted_alike(lab.sets(), turned):
        return "the last element is special"
    if lab.kind == "equivariant" and n > 2:
        sees = _dependence(lab)
        if sees[np.tril_indices(n, -1)].all() and not sees[np.triu_indices(n, 1)].any():
            return "causal mask"
    return "position dependence"


def _fits(y: np.ndarray) -> str | None:
    """The narrowest dtype that holds an output exactly; None if it holds no fractions, which all dtypes do."""
    if y.dtype.kind != "f" or not np.isfinite(y).all() or (y == np.round(y)).all():
        return None
    with np.errstate(all="ignore"):
        return next(name for name in ("float16", "float32", "float64") if (y.astype(name).astype(y.dtype) == y).all())


def _dependence(lab: Laboratory) -> np.ndarray:
    """Which output (row) depends on which element (column) of one set."""
    X = lab.sets()
    y = lab.f(X)
    sees = np.zeros((lab.n, lab.n), dtype=bool)
    for j in range(lab.n):
        Z = X.copy()
        Z[:, j] += 1
        moved = lab.f(Z)
        sees[:, j] = [not lab.same(y[:, i], moved[:, i]) for i in range(lab.n)]
    return sees


def _batch(lab: Laboratory, violation: Violation) -> str:
    on_sets = lab.dependence_of_sets()
    if not on_sets[~np.eye(3, dtype=bool)].any():
        return "the mask of another set"
    if not on_sets.diagonal().all():
        return "sets mixed by a reshape"
    if lab.kind == "equivariant" and lab.n > 1 and not _dependence(lab)[~np.eye(lab.n, dtype=bool)].any():
        return "axes swapped"
    return "batch statistics"


def _padding(lab: Laboratory, violation: Violation) -> str:
    """Experiments on the set that failed, alone: its elements where they are, other things where it is masked."""
    row = violation.place[0] if violation.place else 0
    X, mask = violation.X[row : row + 1], violation.mask[row : row + 1] if violation.mask is not None else None
    if mask is None or mask.all():  # more padding was appended
        X = np.concatenate([X, np.zeros_like(X[:, :1])], axis=1)
        mask = np.arange(X.shape[1])[None] < X.shape[1] - 1
    real = X[mask][None]
    alone = lab.f(real)

    def run(X: np.ndarray, present: np.ndarray) -> np.ndarray:
        y = lab.f(X, present)
        return y[mask][None] if lab.kind == "equivariant" else y

    def padded(value: float, present: np.ndarray = mask) -> np.ndarray:
        return run(np.where(mask[..., None], X, value).astype(X.dtype), present)

    def appended(count: int, real: np.ndarray = real) -> np.ndarray:
        Z = np.concatenate([real, np.zeros((1, count, X.shape[2]), X.dtype)], axis=1)
        y = lab.f(Z, np.arange(Z.shape[1])[None] < real.shape[1])
        return y[:, : real.shape[1]] if lab.kind == "equivariant" else y

    zero, one, large = padded(0.0), padded(2.0), padded(1e6)
    if lab.same(zero, alone) and lab.same(one, alone) and lab.same(large, alone):
        return "the mask of another set" if lab.same(padded(np.nan), alone) else "nan passes through"
    if lab.same(one, padded(2.0, np.ones_like(mask))) and not lab.same(one, alone):
        return "the mask is ignored"
    others = run(np.where(mask[..., None], X[:, ::-1] + 1, X).astype(X.dtype), mask)
    if lab.same(padded(2.0, ~mask), alone) or (lab.kind == "invariant" and lab.same(others, run(X, mask))):
        return "the mask is inverted"
    if lab.same(zero, one) and lab.same(zero, large):
        if lab.same(appended(1), alone) and lab.same(appended(3), alone):
            return "position dependence"
        return "max over padding" if lab.same(appended(1), appended(3)) else "padding is counted"
    largest = max(lab.differ(alone, large), lab.differ(alone, padded(-1e6)))
    small = (real / max(1.0, np.abs(real).max(initial=0))).astype(X.dtype)
    little = lab.differ(lab.f(small), appended(1, small)) < 1e-2
    return "a constant instead of −∞" if little and largest > 1e-2 else "padding leaks"


def _empty(lab: Laboratory, violation: Violation) -> str:
    y = next(iter(violation.values.values()))
    if np.isfinite(y).all():
        X = lab.sets(n=max(lab.n, 2))
        mask = np.arange(X.shape[1])[None] < X.shape[1] - 1
        found = _padding(lab, Violation("", X, mask, {}))
        return found if found.startswith("the mask") else "padding is counted"
    return "a maximum of no elements" if np.isinf(y).any() else "nothing to average"


def _gradient(lab: Laboratory, violation: Violation) -> str:
    if not all(np.isfinite(g).all() for g in violation.values.values()):
        return "nan in the backward pass"
    if violation.hint == "masked gradient":
        return "gradient into padding"
    if violation.order is None and not _right_outputs(lab, violation):
        return "wrong outputs"
    return "derivative by position" if violation.order is not None else "another gradient"


def _right_outputs(lab: Laboratory, violation: Violation) -> bool:
    """Whether the sets have the outputs that they have alone, without padding."""
    X, mask = violation.X, violation.mask
    mask = np.ones(X.shape[:2], dtype=bool) if mask is None else mask
    y = lab.f(X, mask if lab.f.takes_mask else None)
    parts = (y[b : b + 1, mask[b]] if lab.kind == "equivariant" else y[b : b + 1] for b in range(len(X)))
    return all(lab.same(part, lab.f(X[b][mask[b]][None])) for b, part in enumerate(parts))


def _not_finite(lab: Laboratory, violation: Violation) -> str:
    """nan for an ordinary set: of a single element, or of equal ones?"""
    return "cancellation" if np.isfinite(lab.f(lab.sets())).all() else "not finite"


def _overflow(lab: Laboratory, violation: Violation) -> str:
    largest = np.abs(violation.X).max(initial=0)
    y = lab.f((violation.X / max(largest, 1)).astype(lab.f.dtypes[0]), violation.mask)
    return "overflow" if largest > 10 and np.isfinite(y).all() else "cancellation"


def _dtype(lab: Laboratory, violation: Violation) -> str:
    if violation.hint == "precision":
        return "order-dependent reduction"
    return "float32 inside" if violation.X.dtype == np.float64 else "float64 inside"


EVIDENT = {  # the hint of a violation -> the name of its cause
    "random": "random outputs",
    "state": "state",
    "in place": "modified in place",
    "shape": "wrong shape",
    "not a set": "pooled output",
    "raised": "refused",
    "untrained": "no gradient",
    "unused": "unused parameter",
    "plain tensor": "plain tensor",
    "dropout": "dropout without effect",
    "reference": "another function",
}
EXPERIMENTS = {  # the hint of a violation -> the experiments that tell its cause
    "order": _order,
    "ties": _order,
    "batch": _batch,
    "garbage": _padding,
    "count": _padding,
    "empty": _empty,
    "masked gradient": _gradient,
    "gradient": _gradient,
    "overflow": _overflow,
    "dtype": _dtype,
    "precision": _dtype,
    "not finite": _not_finite,
}
