"""The public functions: one line each in a test of yours; help(check_set_function) lists their settings."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

import numpy as np

from minisets.testing.checks import KINDS, Result, SetFunctionError, examine, fail, require_applicable, run, search
from minisets.testing.properties import Draw, Options, draw_sets, present
from minisets.testing.subject import Subject
from minisets.testing.violation import CannotCheck, Violation, compare

ABOUT = ("d_in", "mask", "training", "dtype")  # settings about f; the others are Options


def check_invariant(f: Any, **settings: Any) -> None:
    """f(πX) = f(X) for every permutation of the elements of each set."""
    _check("invariant", f, "invariant", settings)


def check_equivariant(f: Any, **settings: Any) -> None:
    """f(πX) = π f(X) for every permutation of the elements of each set."""
    _check("equivariant", f, "equivariant", settings)


def check_padding(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """f(X, mask) is what f gives for the unmasked elements alone, whatever the masked ones hold, even nan and inf."""
    _check("padding", f, kind, settings)


def check_batch_independence(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """A set's output is the same alone and in a batch."""
    _check("batch_independence", f, kind, settings)


def check_empty_sets(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """A set without elements gives a finite output and finite gradients, and does not disturb the other sets."""
    _check("empty_sets", f, kind, settings)


def check_gradients(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """Gradients are permuted as the elements are; those of sets alone are those in a batch; padding receives none."""
    _check("gradients", f, kind, settings)


def check_duplicates(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """Equal elements are treated alike, and ties are not broken by position."""
    _check("duplicates", f, kind, settings)


def check_dtype(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """float32 stays float32 and float64 stays float64, both agree, and large or small elements give finite outputs."""
    _check("dtype", f, kind, settings)


def check_parameters(f: Any, kind: str = "invariant", **settings: Any) -> None:
    """Whatever the output depends on can be trained, and dropout that was built is applied."""
    _check("parameters", f, kind, settings)


def check_set_function(f: Any, kind: str, **settings: Any) -> list[Result]:
    """Every check that applies; raises SetFunctionError with a table and the counterexamples if one fails.

    All checks take the same settings by keyword:

    d_in        the width of the elements; found in the network's first layer if it is not given
    mask        what True means in f's mask, "present" or "padding", or "lengths" if f takes the sizes of the sets
                instead; "auto" decides by the name of the parameter; None: f gets no mask
    at_end      padding comes after all elements of a set; so it does for functions that take lengths
    dtype       "float32" or "float64"; float64 if it is not given and f can compute in it
    training    check in training mode; otherwise in evaluation mode, whatever mode the network is in
    examples    the number of examples to draw, and seed, for others of them
    batch       the least and the largest number of sets in a batch, and sizes, of elements in a set
    sample      (rng, shape) -> values of the elements, if not normal ones: rng.uniform(size=shape), for example
    magnitude   the size of large elements, for which outputs must be finite; 1 for a network that ends in exp
    finite      padding holds finite numbers only, not nan and inf
    empty       f may be given sets without elements; False skips check_empty_sets
    exact       not a bit may change with what padding holds, and outputs of masked elements are 0, as in minisets
    """
    __tracebackhide__ = True
    subject, options = _prepare(f, kind, settings)
    results = list(examine(subject, kind, options))
    if any(result.error for result in results):
        raise SetFunctionError(subject.name, results)
    return results


def check_against(f: Any, reference: Any, kind: str = "invariant", **settings: Any) -> None:
    """f and its gradient are those of a reference: properties hold for many wrong functions, too."""
    __tracebackhide__ = True
    subject, options = _prepare(f, kind, settings)
    expected = Subject(reference, d_in=subject.d_in, drawing=options)
    subject.kind = expected.kind = kind
    subject.dtypes = [name for name in subject.dtypes if name in expected.dtypes]
    if not subject.dtypes:
        raise CannotCheck(f"{subject.name} and {expected.name} have no dtype in common")

    def test(draw: Draw) -> None:
        X, mask = draw_sets(draw, subject, options)
        values = {"f(X)": subject(X, mask), "reference(X)": expected(X, mask if expected.takes_mask else None)}
        where = present(X, mask) if kind == "equivariant" else None
        what = "the output is not that of the reference"
        compare(what, values, X, mask, where=where, again=lambda Z: subject(Z, mask), hint="reference")
        if subject.differentiable and expected.differentiable:
            u = np.random.default_rng(options.seed).normal(size=values["f(X)"].shape)
            values = {
                "gradient of X": subject.gradients(X, mask, u).X,
                "by the reference": expected.gradients(X, mask, u).X,
            }
            again = lambda Z: subject.gradients(Z, mask, u).X  # noqa: E731
            compare(
                "the gradient is not that of the reference", values, X, mask, where=where, again=again, hint="reference"
            )

    try:
        with subject.prepared(), expected.prepared(subject.dtypes[0]):
            search(test, options)
    except Violation as violation:
        fail(subject, "against", kind, options, violation)


def _check(name: str, f: Any, kind: str, settings: dict[str, Any]) -> None:
    __tracebackhide__ = True
    subject, options = _prepare(f, kind, settings)
    require_applicable(subject, name, options)
    run(subject, name, kind, options)


def _prepare(f: Any, kind: str, settings: dict[str, Any]) -> tuple[Subject, Options]:
    if kind not in KINDS:
        raise ValueError(f"kind must be 'invariant' or 'equivariant', given {kind!r}")
    if isinstance(f, Subject):
        return f, Options(**settings)
    known = [*ABOUT, *(field.name for field in dataclasses.fields(Options))]
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(known)}"
            raise TypeError(f"the checks have no setting {name!r}; {hint}")
    about = {name: settings.pop(name) for name in ABOUT if name in settings}
    options = Options(**settings)
    return Subject(f, **about, drawing=options), options
