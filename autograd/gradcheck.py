"""Is a derivative right?  A check in one line:

    ⟨u, J v⟩  by central differences     must equal     ⟨Jᵀu, v⟩  by backward

for a random direction v of the input and random weights u on the output, with J the Jacobian.  The left side moves the
input slightly along ±v and needs no derivative; the right side is one call of backward with u as the seed.  In float64
the two agree to about 1e-10, so a tolerance of 1e-6 allows for curvature but not for mistakes.

    from autograd.gradcheck import gradcheck
    gradcheck(lambda x, w: (x @ w).tanh(), x, w)      # a function of Tensors, at arrays x and w
    gradcheck(block, X, mask)                         # a Module: its parameters are checked too

    python -m autograd.gradcheck [name ...]           # every op in this package, as a table
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
from autograd.tape import Tensor

STEP = 1e-5  # a central difference has an error of about STEP² from curvature and 1e-15 / STEP from rounding


class GradientError(AssertionError):
    """A derivative does not agree with central differences of its function."""


def gradcheck(
    function: Callable[..., Any], *inputs: Any, rtol: float = 1e-6, directions: int = 2, seed: int = 0
) -> dict[str, float]:
    """Check the derivative of a function or Module at the inputs; returns the relative error for each input.

    Floating-point arrays and Tensors are checked one at a time, each along several directions, and so are the
    parameters of a Module, which is restored afterwards.  Other inputs (masks, labels, numbers) are passed unchanged.
    Everything is computed in float64.  A function that samples random numbers must sample the same ones on every call;
    a Module's generators are reset before each call.  Raises GradientError, naming the input, if the relative error
    exceeds rtol.
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

        def outputs() -> list[Tensor]:
            rewind()
            result = function(*inputs)
            results = list(result) if isinstance(result, list | tuple) else [result]
            if not results or not all(isinstance(y, Tensor) for y in results):
                raise TypeError(f"gradcheck needs a function that returns Tensors, given {type(result).__name__}")
            return results

        for name, x in checked.items():
            for _ in range(directions):
                v = _sample(rng, x.data)
                u = [_sample(rng, y.data) for y in outputs()]
                numerical, noise = _numerical(outputs, x, v, u)
                g = _analytic_gradient(outputs, x, u)
                analytic = _inner([g], [v])
                # Relative to the terms of the sum, which may cancel in it; the noise term allows for rounding.
                scale = max(abs(numerical), _inner([abs(g)], [abs(v)])) + noise / rtol
                error = abs(numerical - analytic) / scale if scale else 0.0
                errors[name] = max(errors.get(name, 0.0), error) if math.isfinite(error) else math.inf
                if not error <= rtol:
                    raise GradientError(
                        f"the gradient of {name}, of shape {x.shape}, is off: ⟨u, J v⟩ = {numerical:.8g} by "
                        f"central differences, ⟨Jᵀu, v⟩ = {analytic:.8g} by backward, a relative error of "
                        f"{error:.1e} > {rtol:g}; a derivative is wrong, or the function has a kink at this point, or "
                        "it does not compute the same thing on every call"
                    )
    return errors


def _differentiable(x: Any) -> Any:
    data = x.data if isinstance(x, Tensor) else np.asarray(x) if isinstance(x, list | np.floating) else x
    floating = backend.is_array(data) and data.dtype.kind == "f"
    return Tensor(data.astype("float64"), requires_grad=True) if floating else x


def _sample(rng: np.random.Generator, like: Array) -> Array:
    return backend.to_device_of(rng.normal(size=like.shape), like)


def _inner(a: list[Array], b: list[Array]) -> float:
    return math.fsum(float((x * y).sum()) for x, y in zip(a, b, strict=True))


def _numerical(outputs: Callable[[], list[Tensor]], x: Tensor, v: Array, u: list[Array]) -> tuple[float, float]:
    """⟨u, J v⟩ with J v ≈ (f(x + step v) − f(x − step v)) / 2 step, and a bound on its rounding error."""
    if x.size == 0:
        return 0.0, 0.0
    original, xp = x.data, backend.array_module(x.data)
    try:
        x.data = xp.asarray(original + STEP * v)
        above = [y.data for y in outputs()]
        x.data = xp.asarray(original - STEP * v)
        below = [y.data for y in outputs()]
    finally:
        x.data = original
    difference = [(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)]
    noise = _inner([abs(w) for w in u], [abs(a) for a in above]) * 1e-15 / STEP
    return _inner(u, difference), noise


def _analytic_gradient(outputs: Callable[[], list[Tensor]], x: Tensor, u: list[Array]) -> Array:
    """Jᵀu: one backward from the concatenated outputs with u as the seed; 0 if x receives no gradient."""
    x.grad = None
    y = concatenate([y.reshape(-1) for y in outputs()])
    if y.requires_grad:
        y.backward(concatenate([weight.reshape(-1) for weight in u]))
    g = backend.array_module(x.data).zeros_like(x.data) if x.grad is None else x.grad
    x.grad = None
    return g


@contextmanager
def _in_float64(module: Any) -> Iterator[tuple[dict[str, Tensor], Callable[[], None]]]:
    """A Module's parameters in float64, and a function that resets its random generators; restored at the end."""
    if not hasattr(module, "named_tensors"):  # a plain function
        yield {}, lambda: None
        return
    tensors = [t for _, t in module.named_tensors()]
    before = [(t.data, t.grad) for t in tensors]
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
        for t, (data, grad) in zip(tensors, before, strict=True):
            t.data, t.grad = data, grad


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
