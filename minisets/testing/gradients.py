"""The properties of a set function's gradients, and of its parameters.

For the loss ⟨u, f(X)⟩ with fixed weights u, moved along with the outputs if f is equivariant:

    gradients      gX of πX is π gX; the gradients of parameters are the same; masked elements receive exactly 0
    parameters     a parameter that changes the output receives a gradient, and there are no others; a tensor that
                   changes the output and looks like a weight is a parameter; dropout that was built is applied
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from autograd import foreign
from minisets.testing.properties import Draw, Options, draw_order, draw_sets, present
from minisets.testing.strategies import permuted
from minisets.testing.subject import Gradients, Subject
from minisets.testing.tolerance import allowed
from minisets.testing.violation import Violation, compare


def gradients(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    X, mask = draw_sets(draw, subject, options, always_masked=True)
    garbage = [0.0] * 4 + [value for values in options.garbage() for value in values]  # zeros are the usual padding
    fill = draw(st.sampled_from(garbage))
    keep = present(X, mask)
    X = np.where(keep[..., None], X, fill).astype(X.dtype)
    u = np.random.default_rng(options.seed).normal(size=subject(X, mask).shape)
    if kind == "equivariant":
        u = np.where(keep.reshape(*keep.shape, *[1] * (u.ndim - 2)), u, 0)  # a loss does not count masked outputs
    found = subject.gradients(X, mask, u)
    through = found.X[~keep]
    if not (np.isfinite(through).all() and (through == 0).all()):
        place = tuple(int(i) for i in np.argwhere(~keep[..., None] & (found.X != 0))[0])
        what = (
            "a masked element receives a gradient"
            if np.isfinite(through).all()
            else "the gradient of a masked element is nan"
        )
        raise Violation(what, X, mask, {"gradient of X": found.X}, place=place, hint="masked gradient")
    if fill:
        zeros = subject.gradients(np.where(keep[..., None], X, 0).astype(X.dtype), mask, u)
        what = "what masked elements hold changes the gradients"
        labels = "with zeros where masked", f"with {fill:g} where masked"
        _compare(what, labels, zeros, found, X, mask, exact=options.exact, hint="masked gradient")
    order = draw_order(draw, subject, options, X, mask)
    back = np.argsort(order, axis=1)
    moved_u = permuted(u, order) if kind == "equivariant" else u
    moved = subject.gradients(permuted(X, order), permuted(mask, order), moved_u)
    again = lambda Z: _row(subject.gradients(Z, mask, u))  # noqa: E731
    what = "the gradients change when elements are permuted"
    labels = "for X", "for πX, and back"
    moved = Gradients(moved.y, permuted(moved.X, back), moved.parameters)
    _compare(what, labels, found, moved, X, mask, again=again, order=order)
    what = "the gradients of sets alone are not those in the batch"
    _compare(
        what, ("of the batch", "of each set alone"), found, _alone(subject, kind, X, mask, u), X, mask, again=again
    )


def _alone(subject: Subject, kind: str, X: np.ndarray, mask: np.ndarray | None, u: np.ndarray) -> Gradients:
    """The gradients of the unmasked elements of each set alone; those of the parameters are added up."""
    keep, gX = present(X, mask), np.zeros_like(X)
    total: dict[str, np.ndarray] = {}
    for b in range(len(X)):
        weights = u[b : b + 1, keep[b]] if kind == "equivariant" else u[b : b + 1]
        alone = subject.gradients(X[b][keep[b]][None], None, weights)
        gX[b][keep[b]] = alone.X[0]
        total = {name: g + total.get(name, 0) for name, g in alone.parameters.items()}
    return Gradients(u, gX, total)


def _row(found: Gradients) -> np.ndarray:
    """All gradients as one row, so that one scale serves all: one that is zero by nature is mere rounding."""
    return np.concatenate([found.X.ravel(), *(g.ravel() for g in found.parameters.values())])[None]


def _compare(
    what: str,
    labels: tuple[str, str],
    a: Gradients,
    b: Gradients,
    X: np.ndarray,
    mask: Any,
    *,
    hint: str = "gradient",
    **how: Any,
) -> None:
    """Compare all gradients; a Violation shows those of X, or of the parameter that differs."""
    try:
        compare(what, dict(zip(labels, (_row(a), _row(b)), strict=True)), X, mask, hint=hint, **how)
    except Violation as violation:
        place, parts = 0 if violation.place is None else violation.place[1], {"X": a.X} | a.parameters
        ends = np.cumsum([g.size for g in parts.values()])
        index = int(np.searchsorted(ends, place, side="right"))
        name, g = list(parts.items())[index]
        place -= int(ends[index]) - g.size
        values = [part.X if name == "X" else part.parameters[name] for part in (a, b)]
        violation.what = f"{violation.what}: that of {name}"
        violation.values = dict(zip(labels, values, strict=True))
        violation.place = tuple(int(i) for i in np.unravel_index(place, g.shape))
        raise


# ---- parameters


def parameters(subject: Subject, kind: str, options: Options) -> None:
    """Raises a Violation for a parameter, a plain tensor or a dropout layer that cannot do its work."""
    rng = np.random.default_rng(options.seed)
    X = options.example(rng, subject.d_in, B=2, n=2).astype(subject.dtypes[0])
    with subject.prepared():
        y = subject(X)
        u = rng.normal(size=y.shape)
        found = subject.gradients(X, None, u)
        for name, p in subject.parameters().items():
            g = found.parameters.get(name)
            if (g is None or not g.any()) and _matters(subject, p, X, y):
                what = f"the output depends on the parameter {name}, but no gradient reaches it: it never trains"
                raise Violation(what, X, None, {"f(X)": y, f"gradient of {name}": np.zeros(p.shape)}, hint="untrained")
        for name, tensor in _plain_tensors(subject.original):
            if _matters(subject, tensor, X, y):
                what = f"the output depends on {name}, a plain tensor: it is neither a parameter nor a buffer"
                raise Violation(what, X, None, {name: tensor.detach().numpy()}, hint="plain tensor")
        unused = found.unreached
        if unused and subject.takes_mask:  # it may have to do with masked elements, or with empty sets
            mask = np.array([[True, False], [False, False]])
            unused &= subject.gradients(X, mask, u).unreached
        if unused:
            name = min(unused, key=list(subject.parameters()).index)
            what = f"the parameter {name} takes no part in the output"
            raise Violation(what, X, None, {"f(X)": y}, hint="unused")
    dropouts = list(_dropouts(subject.original))
    if dropouts:
        with subject.prepared(training=True):
            y, again = subject(X), subject(X)
            tries = (subject(X) for _ in range(50))  # few units and a small p may drop nothing, for a while
            applied = any(not np.array_equal(y, other, equal_nan=True) for other in itertools.chain([again], tries))
        if not applied:
            what = f"the layer {dropouts[0]} changes nothing in training mode: it is built, but not applied"
            raise Violation(what, X, None, {"f(X)": y, "f(X) again": again}, hint="dropout")


def _matters(subject: Subject, p: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Whether the output changes if a tensor does."""
    before = p.data
    try:
        p.data = before * 1.5 + 0.5
        moved = subject(X)
        return moved.shape != y.shape or bool((np.abs(moved - y) > allowed(y, X.shape[1], y.dtype)).any())
    finally:
        p.data = before


def _plain_tensors(f: Any) -> Iterator[tuple[str, Any]]:
    """Floating-point tensors of several elements among the attributes of a PyTorch module, unknown to PyTorch."""
    for prefix, module in f.named_modules() if foreign.is_torch_module(f) else ():
        for name, value in vars(module).items():
            if hasattr(value, "is_floating_point") and value.is_floating_point() and value.numel() > 1:
                yield f"{prefix}.{name}".strip("."), value


def _dropouts(f: Any) -> Iterator[str]:
    """Dropout layers that would drop something."""
    for name, module in getattr(f, "named_modules", dict)() or ():
        if (
            "dropout" in type(module).__name__.lower()
            and isinstance(getattr(module, "p", None), float)
            and module.p > 0
        ):
            yield name
