"""The checks: each searches for an example that violates a property, shrinks it and explains it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import hypothesis
import numpy as np
from hypothesis import strategies as st

from minisets.testing import gradients, precision, properties
from minisets.testing.diagnosis import diagnose
from minisets.testing.properties import Options
from minisets.testing.report import PropertyError
from minisets.testing.subject import Subject
from minisets.testing.violation import CannotCheck, Violation, compare

KINDS = ("invariant", "equivariant")
PROPERTIES: dict[str, Callable[..., None]] = {
    "invariant": properties.permutation,
    "equivariant": properties.permutation,
    "padding": properties.padding,
    "batch_independence": properties.batch_independence,
    "empty_sets": properties.empty_sets,
    "duplicates": properties.duplicates,
    "dtype": precision.dtype,
    "gradients": gradients.gradients,
    "parameters": gradients.parameters,
}


def run(subject: Subject, name: str, kind: str, options: Options) -> None:
    """Raise PropertyError if an example of a property fails."""
    test, subject.kind = PROPERTIES[name], kind
    try:
        require_steady(subject, options)
        if name == "parameters":
            test(subject, kind, options)
        else:
            with subject.prepared():
                search(lambda draw: test(subject, kind, options, draw), options)
    except Violation as violation:
        fail(subject, name, kind, options, violation)


def fail(subject: Subject, name: str, kind: str, options: Options, violation: Violation) -> NoReturn:
    """Explain a violation."""
    cause = diagnose(subject, kind, options, violation)
    raise PropertyError(name, subject.name, violation, cause, subject.mask.note) from violation.__cause__


def search(test: Callable[[Any], None], options: Options) -> None:
    """Run a test on examples drawn by Hypothesis; raises the Violation of the smallest that fails."""

    @hypothesis.seed(options.seed)
    @hypothesis.settings(
        max_examples=options.examples,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(st.data())
    def examples(data: Any) -> None:
        test(data.draw)

    try:
        examples()
    except hypothesis.errors.Flaky as error:
        found = next((e for e in getattr(error, "exceptions", ()) if isinstance(e, Violation)), None)
        if found is None:
            raise
        raise found from None
    except Violation as violation:
        raise violation.with_traceback(None) from violation.__cause__


def require_steady(subject: Subject, options: Options) -> None:
    """Raise a Violation if the same sets give another output each time, or after another call."""
    rng = np.random.default_rng(options.seed)
    X, other = (options.example(rng, subject.d_in).astype(subject.dtypes[0]) for _ in range(2))
    with subject.prepared():
        outputs = [subject(X) for _ in range(5)]
        steps = [float(np.abs(b - a).max(initial=0)) for a, b in itertools.pairwise(outputs)]
        settling = all(after < before for before, after in itertools.pairwise(steps))
        hint = "state" if settling else "random"
        compare(
            "the same sets give another output each time",
            {"f(X)": outputs[0], "f(X) again": outputs[1]},
            X,
            None,
            hint=hint,
        )
        subject(other)
        values = {"f(X)": outputs[0], "f(X) after another call": subject(X)}
        compare("a call changes the next one", values, X, None, hint="state")


# ---- all that apply


@dataclass(frozen=True)
class Result:
    """One check of a function: passed, failed with an error, or not applicable for a reason."""

    check: str
    seconds: float
    error: PropertyError | None = None
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.check:20} skipped: {self.skipped}"
        verdict = f"FAILED  {self.error.cause.name}" if self.error else "ok"
        return f"{self.check:20} {verdict}"


class SetFunctionError(AssertionError):
    """Some checks failed: a table, and the counterexamples."""

    def __init__(self, name: str, results: list[Result]) -> None:
        self.results = results
        table = [f"{name} is not the set function it is meant to be", *map(str, results)]
        super().__init__("\n\n".join(["\n".join(table), *counterexamples(results)]))


def counterexamples(results: list[Result]) -> list[str]:
    """The messages of the checks that failed; those that say the same are told once."""
    alike: dict[tuple[str, str], list[PropertyError]] = {}
    for error in (result.error for result in results if result.error):
        alike.setdefault((error.violation.what, error.cause.name), []).append(error)
    messages = []
    for first, *others in alike.values():
        names = ", ".join(f"check_{error.check}" for error in others)
        messages.append(f"{first}\n  the same is found by {names}" if others else str(first))
    return messages


def examine(subject: Subject, kind: str, options: Options, only: Collection[str] | None = None) -> Iterator[Result]:
    """Run every check that applies to a function, or only some."""
    for name in [kind, *(name for name in PROPERTIES if name not in KINDS)]:
        if only and name not in only:
            continue
        reason = not_applicable(subject, name, options)
        start, error = time.perf_counter(), None
        if not reason:
            try:
                run(subject, name, kind, options)
            except PropertyError as found:
                error = found
        yield Result(name, time.perf_counter() - start, error, reason)


def not_applicable(subject: Subject, name: str, options: Options) -> str:
    """Why a check does not apply; "" if it does."""
    if name == "empty_sets" and not options.empty:
        return "there are no empty sets"
    if name in ("padding", "empty_sets") and not subject.takes_mask:
        return "it takes no mask"
    if name in ("gradients", "parameters") and not subject.differentiable:
        return "a function of arrays has no gradients"
    return "it has no parameters" if name == "parameters" and not subject.parameters() else ""


def require_applicable(subject: Subject, name: str, options: Options) -> None:
    reason = not_applicable(subject, name, options)
    if reason and name != "empty_sets":  # sets of shape (B, 0, d) need no mask
        raise CannotCheck(f"check_{name} cannot be applied to {subject.name}: {reason}")
