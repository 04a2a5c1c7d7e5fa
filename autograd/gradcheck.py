"""Is a derivative right?  A check in one line:

    ⟨u, J v⟩  by central differences     must equal     ⟨Jᵀu, v⟩  by backward

for a random direction v of the input and random weights u on the output, with J the Jacobian.  The left side moves the
input slightly along ±v and needs no derivative; the right side is one call of backward with u as the seed.

    from autograd.gradcheck import gradcheck
    gradcheck(lambda x, w: (x @ w).tanh(), x, w)      # a function of Tensors, at arrays x and w
    gradcheck(block, X, mask)                         # a Module: its parameters are checked too
    gradcheck(torch_module, X)                        # and so are PyTorch's, and functions compiled by JAX

    python -m autograd.gradcheck [name ...]           # every op in this package, as a table
    python -m autograd.gradcheck mypackage.ops:gelu   # a function of your own

How nearly equal?  With a step h, (f(x + h v) − f(x − h v)) / 2h has two errors:

    rounding       about eps |f| / h, as f is computed to a relative precision of eps = 2e-16
    truncation     h² f‴ / 6, from the terms of f beyond its tangent

With h = 1e-5 times the size of the input, both are near 1e-10 of the derivative, unless that is small itself.  So the
two sides must agree to rtol = 1e-6, and this is relative to the largest of three: the terms of ⟨Jᵀu, v⟩, which may
cancel in the sum; ⟨u, J v⟩; and the change of slope from one side of x to the other, which remains where the derivative
is 0.  Rounding is allowed for besides.  If they do not agree, something else may be to blame:

    truncation, at x³ near 0 for example, or a kink beside x     a quarter of the step leaves a sixteenth of the error
    elements of very different size, one step for all            elements of one size are checked at a time
    a kink at x itself, where there is no derivative             kinks.py finds it, and says what it looks like

A mistake in the derivative remains.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import backend, foreign
from autograd.backend import Array
from autograd.inspection import gradients, in_dtype
from autograd.ops.shape import concatenate
from autograd.tape import Tensor

STEP = 1e-5
LADDERS = (  # factors of STEP, tried in this order
    (1, 1 / 4, 1 / 16),
    (64, 16, 4),  # for functions that lose digits: in e^x − 1 − x near 0 the 1 is rounded, not the result
)
ROUNDING = 1e-15  # a few eps


class GradientError(AssertionError):
    """A derivative does not agree with central differences of its function."""


class KinkError(GradientError):
    """There is no derivative here to compare with, because the function has a kink at this very point."""


def gradcheck(
    function: Callable[..., Any],
    *inputs: Any,
    rtol: float = 1e-6,
    directions: int = 2,
    seed: int = 0,
    accept_kinks: bool = False,
) -> dict[str, float]:
    """Check the derivative of a function or Module at the inputs; returns the relative error for each input.

    Floating-point arrays and Tensors are checked one at a time, each along several directions, and so are the
    parameters of a Module, which is restored afterwards.  Other inputs (masks, labels, numbers) are passed unchanged.
    Everything is computed in float64, and no Tensor's grad is changed.  A function that samples random numbers must
    sample the same ones on every call; a Module's generators are reset before each call.  Raises GradientError, naming
    the input, if the relative error exceeds rtol; at a kink KinkError, unless accept_kinks is set and the gradient
    there lies between the slopes on both sides.
    """
    rng = np.random.default_rng(seed)
    function = foreign.wrap(function, repeatable=True)
    inputs = tuple(_differentiable(x) for x in inputs)
    if directions < 1:
        raise ValueError(f"gradcheck needs at least one direction, given {directions}")
    checked = {f"input {i}": x for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad}
    errors: dict[str, float] = {}
    with in_dtype(function, "float64") as (parameters, rewind):
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
            errors[name] = max(_error(output, name, x, rng, rtol, accept_kinks) for _ in range(directions))
    return errors


def _differentiable(x: Any) -> Any:
    data = x.data if isinstance(x, Tensor) else np.asarray(x) if isinstance(x, list | np.floating) else x
    floating = backend.is_array(data) and data.dtype.kind == "f"
    return Tensor(data.astype("float64"), requires_grad=True) if floating else x


def _error(
    output: Callable[[], Tensor], name: str, x: Tensor, rng: np.random.Generator, rtol: float, accept_kinks: bool
) -> float:
    """The relative error of x's gradient along one random direction; raises GradientError if it exceeds rtol."""
    from autograd.kinks import describe

    if x.size == 0:
        return 0.0
    y = output()
    v, u = _sample(rng, x.data), _sample(rng, y.data)
    point = Point(output, x, u, y.data, _gradient(y, x, u), rtol)
    found = point.along(v)
    if found.agrees:
        return found.error
    reason = "the function computes something else on each call"
    if _repeats(output, y.data):
        parts = [point.along(v * part, alone=True) for part in _by_size(x.data)]
        if all(part.agrees for part in parts):
            return max(part.error for part in parts)
        kink, harmless = describe(point, v)
        if kink and harmless and accept_kinks:
            return 0.0
        if kink:
            raise KinkError(
                f"the gradient of {name}, of shape {x.shape}: the function has a kink at this point, {kink}"
            )
        reason = "a derivative is wrong"
    error = abs(found.slope - found.analytic) / max(abs(found.slope), found.terms)
    raise GradientError(
        f"the gradient of {name}, of shape {x.shape}, is off: ⟨u, J v⟩ = {found.slope:.8g} by central differences, "
        f"⟨Jᵀu, v⟩ = {found.analytic:.8g} by backward, a relative error of {error:.1e} > {rtol:g}; {reason}"
    )


def _repeats(output: Callable[[], Tensor], y: Array) -> bool:
    again = output().data
    return bool(((again == y) | ((again != again) & (y != y))).all())


@dataclass(frozen=True)
class Comparison:
    """⟨u, J v⟩ by differences, ⟨Jᵀu, v⟩ by backward and the size of its terms; whether they agree, and how nearly."""

    slope: float
    analytic: float
    terms: float
    agrees: bool
    error: float = 0.0


@dataclass(frozen=True)
class Point:
    """A function's output at x, weights u on it, and the gradient g of x by backward."""

    output: Callable[[], Tensor]
    x: Tensor
    u: Array
    y: Array
    g: Array
    rtol: float

    def along(self, v: Array, alone: bool = False) -> Comparison:
        """Compare differences and backward along a direction, with smaller and then with larger steps.

        If alone, v moves a few elements only: then only the outputs that change are subject to rounding.
        """
        analytic, terms = float((self.g * v).sum()), float(abs(self.g * v).sum())
        size = self.size(v)
        changed = self.moved(STEP * size * v) != self.y if alone else True
        rounding = float(abs(self.u * self.y * changed).sum()) * ROUNDING / STEP
        if size < 1 and rounding / size > self.rtol * terms:
            size = 1.0  # such small steps would be lost in rounding
        slopes: list[float] = []
        for ladder in LADDERS:
            wrong: list[float] = []
            for factor in ladder:
                slope, bend = self.differences(v, factor * STEP * size)
                allowed = self.rtol * max(abs(slope), terms, bend) + rounding / size
                if len(wrong) == 2 and wrong[1] <= wrong[0] / 8:
                    allowed += wrong[1] / 8  # truncation: a sixteenth is to be expected
                slopes.append(slope)
                wrong.append(abs(slope - analytic))
                if wrong[-1] <= allowed:
                    error = self.rtol * wrong[-1] / allowed if allowed else 0.0
                    return Comparison(slope, analytic, terms, True, error)
        return Comparison(slopes[0], analytic, terms, False)

    def size(self, v: Array) -> float:
        """The size of the elements that v moves: their root mean square, or 1 if all are 0."""
        moved = self.x.data[v != 0]
        return float((moved * moved).mean()) ** 0.5 or 1.0 if moved.size else 1.0

    def differences(self, v: Array, step: float) -> tuple[float, float]:
        """⟨u, J v⟩ with J v ≈ (f(x + step v) − f(x − step v)) / 2 step, and how much the slope changes between both."""
        above, below = self.moved(step * v), self.moved(-step * v)
        u, y = self.u, self.y
        return float((u * (above - below)).sum()) / (2 * step), float(abs(u * (above - 2 * y + below)).sum()) / step

    def moved(self, by: Array) -> Array:
        """f(x + by)"""
        original, xp = self.x.data, backend.array_module(self.x.data)
        try:
            with np.errstate(all="ignore"):  # a step beyond where f is defined does not agree, either
                self.x.data = xp.asarray(original + by)
                return self.output().data
        finally:
            self.x.data = original


def _by_size(x: Array) -> list[Array]:
    """The elements of x, 1 where they are of one size (between two powers of 100) and 0 elsewhere, for each size."""
    xp = backend.array_module(x)
    exponents = xp.floor(xp.log10(xp.where(x == 0, 1.0, abs(x))) / 2) + xp.where(x == 0, 1000, 0)
    return [(exponents == e).astype(x.dtype) for e in sorted(set(exponents.ravel().tolist()))]


def _sample(rng: np.random.Generator, like: Array) -> Array:
    return backend.to_device_of(rng.normal(size=like.shape), like)


def _gradient(y: Tensor, x: Tensor, u: Array) -> Array:
    """Jᵀu; 0 if x receives no gradient."""
    found = gradients(y, u).get(x)
    return backend.array_module(x.data).zeros_like(x.data) if found is None else found


# ---- the command ----------------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Check the named ops, or all, and print a table; returns 1 if one fails."""
    from autograd.gradcheck_command import main as command

    return command(argv)


if __name__ == "__main__":
    sys.exit(main())
