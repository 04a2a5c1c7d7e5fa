"""The properties of a set function's gradients, and of its parameters.

For the loss ⟨u, f(X)⟩ with fixed weights u, moved along with the outputs if f is equivariant:

    gradients      gX of πX is π gX; the gradients of parameters are the same; masked elements receive exactly 0
    parameters     a parameter that changes the output receives a gradient; a tensor that changes the output and looks
                   like a weight is a parameter; dropout that was built is applied in training mode
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from autograd import foreign
from minisets.testing.properties import Draw, Options, draw_sets, present
from minisets.testing.strategies import permutations, permuted
from minisets.testing.subject import Gradients, Subject
from minisets.testing.tolerance import allowed
from minisets.testing.violation import Violation, compare


def gradients(subject: Subject, kind: str, options: Options, draw: Draw) -> None:
    X, mask = draw_sets(draw, subject, options)
    fill = draw(st.sampled_from(options.garbage())) if draw(st.booleans()) else 0.0  # zeros are what most people pad with
    keep = present(X, mask)
    X = np.where(keep[..., None], X, fill).astype(X.dtype)
    u = np.random.default_rng(options.seed).normal(size=subject(X, mask).shape)
    if kind == "equivariant":
        u = np.where(keep.reshape(*keep.shape, *[1] * (u.ndim - 2)), u, 0)  # a loss does not count masked outputs
    found = subject.gradients(X, mask, u)
    through = found.X[~keep]
    if not (np.isfinite(through).all() and (through == 0).all()):
        place = tuple(int(i) for i in np.argwhere(~keep[..., None] & (found.X != 0))[0])
        what = "a masked element receives a gradient" if np.isfinite(through).all() else "the gradient of a masked element is nan"
        raise Violation(what, X, mask, {"gradient of X": found.X}, place=place, hint="masked gradient")
    order = draw(permutations(*X.shape[:2]))
    moved_u = permuted(u, order) if kind == "equivariant" else u
    moved = subject.gradients(permuted(X, order), permuted(mask, order), moved_u)
    _compare(subject, found, moved, X, mask, order, u)


def _compare(
    subject: Subject, found: Gradients, moved: Gradients, X: np.ndarray, mask: Any, order: np.ndarray, u: np.ndarray
) -> None:
    """The gradient of X is permuted as X is, and those of the parameters stay."""
    keep = permuted(present(X, mask), order)
    values = {"π gradient of X": permuted(found.X, order), "gradient of πX": moved.X}
    what = "the gradient of X is not permuted as X is"
    again = lambda Z: permuted(subject.gradients(Z, mask, u).X, order)  # noqa: E731
    compare(what, values, X, mask, where=keep, again=again, order=order, hint="gradient")
    # One scale for all parameters: a gradient that is zero by nature (a key's bias, under a softmax) is mere rounding.
    names = sorted(found.parameters)
    if names:
        ends = np.cumsum([found.parameters[name].size for name in names])
        values = {"for X": _flat(found, names), "for πX": _flat(moved, names)}
        what = "the gradients of the parameters change when elements are permuted"
        try:
            flat = lambda Z: _flat(subject.gradients(Z, mask, u), names)  # noqa: E731
            compare(what, values, X, mask, again=flat, order=order, hint="gradient")
        except Violation as violation:
            if violation.place is not None:
                violation.notes.append(f"parameter {names[int(np.searchsorted(ends, violation.place[1], 'right'))]}")
            raise


def _flat(found: Gradients, names: list[str]) -> np.ndarray:
    return np.concatenate([np.asarray(found.parameters.get(name, 0.0)).ravel() for name in names])[None]


# ---- parameters


def parameters(subject: Subject, kind: str, options: Options) -> None:
    """Raises a Violation for a parameter, a plain tensor or a dropout layer that cannot do its work."""
    rng = np.random.default_rng(options.seed)
    size = min(max(4, options.sizes[0]), options.sizes[1])
    X = options.sample(rng, (3, size, subject.d_in)).astype(subject.dtypes[0])
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
    dropouts = list(_dropouts(subject.original))
    if dropouts:
        with subject.prepared(training=True):
            samples = [subject(X) for _ in range(4)]
        if all(np.array_equal(samples[0], sample, equal_nan=True) for sample in samples):
            what = f"{dropouts[0]} changes nothing in training mode: it is built, but not applied"
            raise Violation(what, X, None, {"f(X)": samples[0], "f(X) again": samples[1]}, hint="dropout")


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
    """Floating-point tensors of several elements in the attributes of a PyTorch module that PyTorch knows nothing of."""
    for prefix, module in f.named_modules() if foreign.is_torch_module(f) else ():
        for name, value in vars(module).items():
            if hasattr(value, "is_floating_point") and value.is_floating_point() and value.numel() > 1:
                yield f"{prefix}.{name}".strip("."), value


def _dropouts(f: Any) -> Iterator[str]:
    """Dropout layers that would drop something."""
    for name, module in getattr(f, "named_modules", dict)() or ():
        if "dropout" in type(module).__name__.lower() and isinstance(getattr(module, "p", None), float) and module.p > 0:
            yield f"{type(module).__name__} {name}".strip()


