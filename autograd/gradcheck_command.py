"""The command python -m autograd.gradcheck: every op of this package, or a function of your own, as a table."""

from __future__ import annotations

import argparse
import difflib
import inspect
import math
from typing import Any

import numpy as np

from autograd import threads
from autograd.gradcheck import gradcheck
from autograd.locate import NotFound, locate

HEADER = f"{'op':34} {'cases':>5}  {'largest relative error':>22}"


def main(argv: list[str] | None = None) -> int:
    """Check the named ops, or all, and print a table; returns 1 if one fails, and exits with 2 for a bad request."""
    parser = argparse.ArgumentParser(prog="python -m autograd.gradcheck", description="Check gradients.")
    text = "an op of this package, or module:function for one of your own (default: all ops)"
    parser.add_argument("names", nargs="*", metavar="name", help=text)
    parser.add_argument("--seed", type=int, default=0, help="seed of the random directions and inputs (default: 0)")
    text = "the shape of an input of your own function, such as 3,4; repeat it for each input (default: 3,4 for all)"
    parser.add_argument("--shape", action="append", type=_shape, metavar="N,...", help=text)
    parser.add_argument("--positive", action="store_true", help="inputs in [0.5, 2] instead of normal ones, as for log")
    given = parser.parse_args(argv)
    if given.seed < 0:
        parser.error(f"--seed must be at least 0, given {given.seed}")
    try:
        threads.count()
        rows = _rows(given)
    except (NotFound, threads.SettingError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print(HEADER)
    failed = [name for name, cases in rows if not _print_row(name, cases, given.seed)]
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else f"all {len(rows)} agree to 1e-6")
    return 1 if failed else 0


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected integers such as 3,4, given {text!r}") from None


Row = tuple[str, list[tuple[str, Any, tuple[Any, ...]]]]  # a name, and its cases: a label, a function and its inputs


def _rows(given: argparse.Namespace) -> list[Row]:
    import autograd.cases as table

    known = sorted(table.OPS)
    rows: list[Row] = []
    for name in given.names or known:
        if ":" in name or name.endswith(".py"):
            rows.append((name, [_foreign(name, given)]))
        elif name in known:
            rows.append((name, [(c.label or "plain", c.run, c.inputs) for c in table.CASES if c.op == name]))
        else:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"did you mean {', '.join(near)}?" if near else f"the ops are {', '.join(known)}"
            raise NotFound(f"there is no op {name!r}; {hint}; one of your own is named as module:function")
    return rows


def _foreign(name: str, given: argparse.Namespace) -> tuple[str, Any, tuple[Any, ...]]:
    """A function of the user's own, on random inputs, one for each parameter that it requires."""
    function = locate(name, "function")
    if not callable(function) or isinstance(function, type):
        raise NotFound(f"{name} is {function!r:.60}, not a function of Tensors or a module that can be called")
    try:
        parameters = inspect.signature(getattr(function, "forward", function)).parameters.values()
    except ValueError:
        raise NotFound(f"{name} does not say what its parameters are; wrap it in a function of Python") from None
    required = [
        p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    shapes = given.shape or [(3, 4)] * max(len(required), 1)
    if len(shapes) < len(required):
        raise NotFound(f"{name} takes {len(required)} inputs ({', '.join(required)}); give --shape for each of them")
    rng = np.random.default_rng([given.seed, 1])
    inputs = (rng.uniform(0.5, 2.0, size=s) if given.positive else rng.normal(size=s) for s in shapes)
    return "random inputs", function, tuple(inputs)


def _print_row(name: str, cases: list[tuple[str, Any, tuple[Any, ...]]], seed: int) -> bool:
    """Check the cases of a function and print its row; whether all passed."""
    worst, message = 0.0, "" if cases else "no case: add one to autograd/cases.py"
    for label, function, inputs in cases:
        try:
            worst = max(worst, *gradcheck(function, *inputs, seed=seed).values(), 0.0)
        except Exception as error:  # an op may also raise an error
            worst, message = math.nan, f"{label}: {error}"
    print(f"{name:34} {len(cases):5}  {worst:22.1e}  {'FAILED ' + message if message else 'ok'}")
    return not message
