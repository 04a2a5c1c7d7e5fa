"""Check a set network of your own: its symmetry, its masks, its gradients.

    minisets check mypackage.net:build --kind invariant --d-in 3

The name is that of a network (of minisets or PyTorch), of a function on sets X (B, n, d), or of a class or function
that builds one from nothing, or from d_in, rng or seed.  All checks of minisets.testing that apply are run.  The exit
code is 1 if one fails, and the smallest counterexample is printed.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from typing import Any

import numpy as np

from autograd.locate import NotFound, locate
from tasks.harness.errors import UsageError
from tasks.harness.parser import Parser, hint, reader

BUILT_FROM = {"d_in", "rng", "seed"}  # parameters by which a function that builds a network is recognized


def main(argv: list[str]) -> int:
    try:
        from minisets import testing
        from minisets.testing.checks import KINDS, PROPERTIES, counterexamples, examine
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UsageError(str(error)) from None
    given = parse(argv)
    known = [given.kind, *(name for name in PROPERTIES if name not in KINDS)]
    for name in given.only or ():
        if name not in known:
            others = f"the checks are {', '.join(known)}"
            raise UsageError(f"there is no check {name!r}; {hint(name, known, others)}")
    try:
        about = {"mask": None if given.mask == "none" else given.mask, "training": given.training}
        options = testing.Options(
            examples=given.examples,
            seed=given.seed,
            sizes=tuple(given.sizes),
            finite=given.finite_padding,
            empty=not given.never_empty,
        )
        subject = testing.Subject(build(given), d_in=given.d_in, drawing=options, **about)
    except (testing.CannotCheck, ValueError) as error:
        raise UsageError(str(error)) from None
    asked = f"{given.kind}, sets of width {subject.d_in}, mask: {subject.mask}, {given.examples} examples a check"
    print(f"{given.name}: {subject.name}, {asked}", flush=True)
    results = []
    for result in examine(subject, given.kind, options, given.only):
        print(f"{result.seconds:6.2f} s  {result}", flush=True)
        results.append(result)
    for message in counterexamples(results):
        print(f"\n{message}")
    failed, count = sum(result.error is not None for result in results), sum(not result.skipped for result in results)
    checks = "check" if count == 1 else "checks"
    print(f"\n{failed} of {count} {checks} failed" if failed else f"{count} {checks} passed, none failed")
    return 1 if failed else 0


def parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="minisets check", description=__doc__)
    parser.add_argument("name", metavar="MODULE:NAME", help="a network, a function on sets, or what builds one")
    text = "equivariant: an output for each element, permuted with them; invariant: one output for the set"
    parser.add_argument("--kind", choices=("invariant", "equivariant"), required=True, help=text)
    parser.add_argument(
        "--d-in", type=reader(int), metavar="WIDTH", help="features of an element (default: as it says)"
    )
    text = "what True means in its mask, or that it takes lengths (default: auto, by its name); none: call it without"
    parser.add_argument("--mask", choices=("auto", "present", "padding", "lengths", "none"), default="auto", help=text)
    parser.add_argument("--only", action="append", metavar="CHECK", help="one check; may be repeated (default: all)")
    parser.add_argument("--examples", type=reader(int), default=40, metavar="COUNT", help="of each check (default: 40)")
    parser.add_argument("--seed", type=reader(int), default=0, help="of the examples and of rng (default: 0)")
    text = "the least and the largest number of elements (default: 1 8)"
    parser.add_argument("--sizes", type=reader(int), nargs=2, default=(1, 8), metavar=("LEAST", "MOST"), help=text)
    text = "padding holds finite numbers only, not nan and inf"
    parser.add_argument("--finite-padding", action="store_true", help=text)
    parser.add_argument("--never-empty", action="store_true", help="there are no sets without elements")
    parser.add_argument("--training", action="store_true", help="in training mode instead of evaluation mode")
    given = parser.parse_args(argv)
    if given.d_in is not None and given.d_in < 1:
        raise UsageError(f"--d-in must be at least 1, given {given.d_in}")
    if given.seed < 0:
        raise UsageError(f"--seed must be at least 0, given {given.seed}")
    return given


def build(given: argparse.Namespace) -> Any:
    """The set function that was named, built if what was named is a class or a function that builds one."""
    try:
        found = locate(given.name, "build")
    except NotFound as error:
        raise UsageError(str(error)) from None
    if not callable(found):
        raise UsageError(f"{given.name} is of type {type(found).__name__}, not a network or a function that builds one")
    if hasattr(found, "forward") and not isinstance(found, type):
        return found
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return found
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = {p.name for p in parameters.values() if p.default is p.empty and p.kind not in kinds}
    if not isinstance(found, type) and not required <= BUILT_FROM:
        return found  # a function on sets
    if required - BUILT_FROM:
        raise UsageError(
            f"{given.name} needs {', '.join(sorted(required - BUILT_FROM))}; name a function that builds it"
        )
    if "d_in" in required and given.d_in is None:
        raise UsageError(f"{given.name} needs the width of the elements: --d-in")
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(given.seed)
    arguments = {"d_in": given.d_in, "rng": np.random.default_rng(given.seed), "seed": given.seed}
    passed = {name: value for name, value in arguments.items() if name in parameters and value is not None}
    try:
        return found(**passed)
    except Exception as error:  # whatever a foreign constructor may raise
        raise UsageError(f"building {given.name} failed: {type(error).__name__}: {error}") from error
