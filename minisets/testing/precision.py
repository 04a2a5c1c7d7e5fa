"""The property dtype: float32 in, float32 out; float64 in, float64 out; both agree; finite for large elements."""

from __future__ import annotations

import numpy as np

from minisets.testing.properties import Draw, Options, draw_sets
from minisets.testing.subject import Subject
from minisets.testing.violation import Violation, compare


def dtype(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    """Each dtype stays itself, float32 agrees with float64, and small or large elements give finite outputs."""
    X, mask = draw_sets(draw, subject, options)
    where = mask if kind == "equivariant" else None
    for magnitude in (1.0, 1e-6, options.magnitude):
        outputs: dict[str, np.ndarray] = {}
        Z = (X * magnitude).astype("float32")  # the same numbers in both
        for name in subject.dtypes:
            with subject.prepared(name):
                outputs[name] = _in_its_dtype(subject, Z.astype(name), mask, where)
        if len(outputs) == 2 and magnitude == 1:  # beside a bias of 1, elements of 1e-6 have no digits left in float32
            values = {"in float32": outputs["float32"], "in float64": outputs["float64"].astype("float32")}
            with subject.prepared("float32"):
                what = "float32 and float64 disagree beyond rounding"
                compare(what, values, Z, mask, where=where, again=lambda Z: subject(Z, mask), hint="precision")


def _in_its_dtype(subject: Subject, X: np.ndarray, mask: np.ndarray | None, where: np.ndarray | None) -> np.ndarray:
    """The output, if it has the dtype of X and is finite."""
    y = subject(X, mask)
    if y.dtype != X.dtype and y.dtype.kind == "f":
        raise Violation(f"{X.dtype} sets give a {y.dtype} output", X, mask, {"f(X)": y}, hint="dtype")
    used = y if where is None else y[where]
    if not np.isfinite(used).all():
        what = f"finite {X.dtype} sets give {used[~np.isfinite(used)][0]}"
        raise Violation(what, X, mask, {"f(X)": y}, hint="overflow")
    if subject.differentiable:
        found = subject.gradients(X, mask, lambda shape: np.broadcast_to(_column(where, shape), shape))
        for name, g in {"X": found.X, **found.parameters}.items():
            if not np.isfinite(g).all():
                what = f"for finite {X.dtype} sets, the gradient of {name} is {g[~np.isfinite(g)][0]}"
                raise Violation(what, X, mask, {"f(X)": y, f"gradient of {name}": g}, hint="overflow")
    return y


def _column(where: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """1 where outputs count, in a shape that broadcasts to that of the output."""
    return np.ones(1) if where is None else where.reshape(*where.shape, *[1] * (len(shape) - 2)).astype(float)
