"""Is a derivative right?  A check in one line:

    ⟨u, J v⟩  by central differences     must equal     ⟨Jᵀu, v⟩  by backward

for a random direction v of the input and random weights u on the output, with J the Jacobian.  The left side moves the
input slightly along ±v and needs no derivative; the right side is one call of backward with u as the seed.

    from autograd.gradcheck import gradcheck
    gradcheck(lambda x, w: (x @ w).tanh(), x, w)      # a function of Tensors, at arrays x and w
    gradcheck(block, X, mask)                         # a Module: its parameters are checked too

    python -m autograd.gradcheck [name ...]           # every op in this package, as a table

How nearly equal?  With a step h, (f(x + h v) − f(x − h v)) / 2h has two errors:

    rounding       about eps |f| / h, as f is computed to a relative precision of eps = 2e-16
    truncation     h² f‴ / 6, from the terms of f beyond its tangent

With h = 1e-5 times the size of the input, both are near 1e-10 of the derivative, unless that is small itself.  So the
two sides must agree to rtol = 1e-6, and this is relative to the largest of three: the terms of ⟨Jᵀu, v⟩, which may
cancel in the sum; ⟨u, J v⟩; and the change of slope from one side of x to the other, which remains where the derivative
is 0.  Rounding is allowed for besides.  If they do not agree, truncation may be to blame, at x³ near 0 for example, or
a kink beside x.  Either gives way to a smaller step: a quarter of the step leaves a sixteenth of the truncation error.
A mistake in the derivative remains.
"""

from __future__ import annotations

import argparse
import difflib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograd import backend, threads
from autograd.backend import Array
from autograd.ops.shape import concatenate
from autograd.tape import Tensor, _newest_first

STEP = 1e-5
LADDERS = (  # factors of STEP, tried in this order
    (1, 1 / 4, 1 / 16),
    (64, 16, 4),  # for functions that lose digits: in e^x − 1 − x near 0 the 1 is rounded, not the result
)
ROUNDING = 1e-15  # a few eps


class GradientError(AssertionError):
    """A derivative does not agree with central differences of its function."""


def gradcheck(
    function: Callable[..., Any], *inputs: Any, rtol: float = 1e-6, directions: int = 2, seed: int = 0
) -> dict[str, float]:
    """Check the derivative of a function or Module at the inputs; returns the relative error for each input.

    Floating-point arrays and Tensors are checked one at a time, each along several directions, and so are the
    parameters of a Module, which is restored afterwards.  Other inputs (masks, labels, numbers) are passed unchanged.
    Everything is computed in float64, and no Tensor's grad is changed.  A function that samples random numbers must
    sample the same ones on every call; a Module's generators are reset before each call.  Raises GradientError, naming
    the input, if the relative error exceeds rtol.
    """
    rng = np.random.default_rng(seed)
    inputs = tuple(_differentiable(x) for x in inputs)
    if directions < 1:
        raise ValueError(f"gradcheck needs at least one direction, given {directions}")
    checked = {f"input {i}": x for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad}
    errors: dict[str, float] = {}
    with _in_float64(function) as (parameters, rewind):
        checked |= parameters
        if not checked:
            raise ValueError("nothing to check: pass floating-point arrays, or a Module with parameters")

        def output() -> Tensor:
            """All results, end to end."""
            rewind()
            result = function(*inputs)
            results = list(result) if isinstance(result, list | tuple) else [result]
            if not results or not all(isinstance(y, Tensor) for y in results):
                raise TypeError(f"gradcheck needs a function that returns Tensors, given {type(result).__name__}")
            return concatenate([y.reshape(-1) for y in results])

        for name, x in checked.items():
            errors[name] = max(_relative_error(output, name, x, rng, rtol) for _ in range(directions))
    return errors


def _differentiable(x: Any) -> Any:
    data = x.data if isinstance(x, Tensor) else np.asarray(x) if isinstance(x, list | np.floating) else x
    floating = backend.is_array(data) and data.dtype.kind == "f"
    return Tensor(data.astype("float64"), requires_grad=True) if floating else x


def _relative_error(output: Callable[[], Tensor], name: str, x: Tensor, rng: np.random.Generator, rtol: float) -> float:
    """The relative error of x's gradient along one random direction; raises GradientError if it exceeds rtol."""
    if x.size == 0:
        return 0.0
    y = output()
    v, u = _sample(rng, x.data), _sample(rng, y.data)
    g = _gradient(y, x, u)
    analytic, terms = float((g * v).sum()), float(abs(g * v).sum())
    size = float((x.data * x.data).mean()) ** 0.5 or 1.0
    rounding = float(abs(u * y.data).sum()) * ROUNDING / STEP
    if size < 1 and rounding / size > rtol * terms:
        size = 1.0  # such small steps would be lost in rounding
    slopes: list[float] = []
    for ladder in LADDERS:
        wrong: list[float] = []
        for factor in ladder:
            slope, bend = _differences(output, x, v, u, y.data, factor * STEP * size)
            allowed = rtol * max(abs(slope), terms, bend) + rounding / size
            if len(wrong) == 2 and wrong[1] <= wrong[0] / 8:
                allowed += wrong[1] / 8  # truncation: a sixteenth is to be expected
            slopes.append(slope)
            wrong.append(abs(slope - analytic))
            if wrong[-1] <= allowed:
                return rtol * wrong[-1] / allowed if allowed else 0.0
    slope = slopes[0]
    error = abs(slope - analytic) / max(abs(slope), terms)
    raise GradientError(
        f"the gradient of {name}, of shape {x.shape}, is off: ⟨u, J v⟩ = {slope:.8g} by central differences, "
        f"⟨Jᵀu, v⟩ = {analytic:.8g} by backward, a relative error of {error:.1e} > {rtol:g}; a derivative is wrong, or "
        "the function has a kink at this point, or it does not compute the same thing on every call"
    )


def _sample(rng: np.random.Generator, like: Array) -> Array:
    return backend.to_device_of(rng.normal(size=like.shape), like)


def _differences(
    output: Callable[[], Tensor], x: Tensor, v: Array, u: Array, y: Array, step: float
) -> tuple[float, float]:
    """⟨u, J v⟩ with J v ≈ (f(x + step v) − f(x − step v)) / 2 step, and how much the slope changes between the two."""
    original, xp = x.data, backend.array_module(x.data)
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # a step beyond where f is defined does not agree, either
            x.data = xp.asarray(original + step * v)
            above = output().data
            x.data = xp.asarray(original - step * v)
            below = output().data
    finally:
        x.data = original
    return float((u * (above - below)).sum()) / (2 * step), float(abs(u * (above - 2 * y + below)).sum()) / step


def _gradient(y: Tensor, x: Tensor, u: Array) -> Array:
    """Jᵀu: backward from y with u as the seed; 0 if x receives no gradient.  The grad of all Tensors is kept."""
    nodes = _newest_first(y.node)
    leaves = {parent: parent.grad for node in nodes for parent in node.parents if isinstance(parent, Tensor)}
    try:
        for leaf in leaves:
            leaf.grad = None
        if nodes:
            y.backward(u)
        return backend.array_module(x.data).zeros_like(x.data) if x.grad is None else x.grad
    finally:
        for leaf, grad in leaves.items():
            leaf.grad = grad


@contextmanager
def _in_float64(module: Any) -> Iterator[tuple[dict[str, Tensor], Callable[[], None]]]:
    """A Module's parameters in float64, and a function that resets its random generators; restored at the end."""
    if not hasattr(module, "named_tensors"):  # a plain function
        yield {}, lambda: None
        return
    tensors = [t for _, t in module.named_tensors()]
    before = [t.data for t in tensors]
    generators = [(g, g.bit_generator.state) for _, g in module.named_generators()]

    def rewind() -> None:
        for generator, state in generators:
            generator.bit_generator.state = state

    try:
        for t in tensors:
            t.data = t.data.astype("float64") if t.dtype.kind == "f" else t.data.copy()
        yield dict(module.named_parameters()), rewind
    finally:
        rewind()
        for t, data in zip(tensors, before, strict=True):
            t.data = data


# ---- the command ----------------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Check the named ops, or all, and print a table; returns 1 if one fails, 2 for an unknown name."""
    import autograd.cases as table

    parser = argparse.ArgumentParser(prog="python -m autograd.gradcheck", description="Check the gradient of every op.")
    parser.add_argument("names", nargs="*", metavar="name", help="ops to check (default: all of them)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random directions (default: 0)")
    arguments = parser.parse_args(argv)
    if arguments.seed < 0:
        parser.error(f"--seed must be at least 0, given {arguments.seed}")
    known = sorted(table.OPS)
    for name in arguments.names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
            hint = f"did you mean {', '.join(near)}?" if near else f"the ops are {', '.join(known)}"
            parser.error(f"there is no op {name!r}; {hint}")
    try:
        threads.count()
    except threads.SettingError as error:
        parser.error(str(error))

    print(f"{'op':34} {'cases':>5}  {'largest relative error':>22}")
    failed = []
    for name in arguments.names or known:
        cases = [case for case in table.CASES if case.op == name]
        worst, message = 0.0, "" if cases else "no case: add one to autograd/cases.py"
        for case in cases:
            try:
                worst = max(worst, *gradcheck(case.run, *case.inputs, seed=arguments.seed).values(), 0.0)
            except Exception as error:  # an op may also raise an error
                worst, message = math.nan, f"{case.label or 'plain'}: {error}"
        print(f"{name:34} {len(cases):5}  {worst:22.1e}  {'FAILED ' + message if message else 'ok'}")
        failed += [name] * bool(message)
    print(
        f"{len(failed)} failed: {', '.join(failed)}" if failed else f"all {len(arguments.names or known)} agree to 1e-6"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
