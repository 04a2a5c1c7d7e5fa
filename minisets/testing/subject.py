"""What is checked: a set function of any framework, as a function of arrays.

    Module, or a function of Tensors        as it is
    PyTorch module                          autograd.foreign.TorchFunction
    JAX function                            autograd.foreign.JaxFunction
    function of PyTorch's tensors           the same, without parameters
    function of arrays                      as it is, without gradients

Modules say what they are; what a plain function takes is found by calling it.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor, foreign
from autograd.inspection import gradients, in_dtype
from minisets.nn import Module
from minisets.testing.signature import element_width, mask_parameter
from minisets.testing.strategies import Drawing
from minisets.testing.violation import CannotCheck, Violation


@dataclass(frozen=True)
class Gradients:
    """An output y, and the gradients of X and of the parameters for the loss ⟨u, y⟩."""

    y: np.ndarray
    X: np.ndarray
    parameters: dict[str, np.ndarray]
    unreached: frozenset[str] = frozenset()  # parameters from which no path leads to y


class Subject:
    """A set function: calling it with X (B, n, d) and a mask (B, n) returns an array."""

    def __init__(
        self,
        f: Any,
        *,
        d_in: int | None = None,
        mask: str | None = "auto",
        training: bool = False,
        dtype: str | None = None,
        drawing: Drawing | None = None,
    ) -> None:
        if not callable(f) or isinstance(f, type):
            raise CannotCheck(
                f"expected a network or a function on sets, given {f!r:.60}; a class has to be called first"
            )
        self.original, self.training = f, training
        self.leaves: dict[str, Tensor] | None = None
        self.drawing, self.kind = drawing or Drawing(), ""
        self.name = type(f).__name__ if hasattr(f, "parameters") else getattr(f, "__name__", type(f).__name__)
        self.mask = mask_parameter(f, mask)
        self.d_in = d_in or element_width(f) or 3
        self.function, self.takes = self._adapt(f)
        asked = ("float64", "float32") if dtype is None else (dtype,)
        self.dtypes = [name for name in asked if self._runs(name) is None]
        if not self.dtypes:
            shape, reason = self._example("float32").shape, self._runs(asked[-1])
            raise CannotCheck(f"{self.name} cannot be called on sets of shape {shape}: {reason}{self._advice}")

    @property
    def _advice(self) -> str:
        return "; pass d_in if its elements have another width"

    @property
    def takes_mask(self) -> bool:
        return self.mask.name is not None

    @property
    def differentiable(self) -> bool:
        return self.takes == "tensors"

    # ---- calling

    def __call__(self, X: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """The output, as an array; a Violation if f raises an error, or changes X."""
        given = X.copy()
        y = self._guarded(lambda: _host(self._call(Tensor(given) if self.differentiable else given, mask)), X, mask)
        if not np.array_equal(given, X, equal_nan=True):
            changed = f"{self.name} changed its input"
            raise Violation(changed, X, mask, {"X before": X, "X after": given}, hint="in place")
        return self._checked(y, X, mask)

    def gradients(self, X: np.ndarray, mask: np.ndarray | None, u: Any = None) -> Gradients:
        """The output and all gradients of ⟨u, f(X, mask)⟩; u may be a function of the output's shape."""
        leaf = Tensor(X.copy(), requires_grad=True)

        def both() -> tuple[np.ndarray, dict[Tensor, Any]]:
            y = self._call(leaf, mask)
            seed = np.asarray(u(y.shape) if callable(u) else u, dtype=y.dtype)
            return y.numpy(), gradients(y, seed) if y.requires_grad else {}

        y, found = self._guarded(both, X, mask)
        if self.leaves is None:  # parameters that f uses and does not tell: those of the first call get names
            others = set(found) - {leaf, *self.parameters().values()}
            self.leaves = {f"parameter {i}": x for i, x in enumerate(x for x in found if x in others)}
        named = self.parameters() | self.leaves
        parameters = {name: np.asarray(found.get(x, np.zeros(x.shape, x.dtype))) for name, x in named.items()}
        unreached = {name for name, x in self.parameters().items() if x not in found}
        unreached |= getattr(self.function, "unreached", set()) & set(self.parameters())  # it has buffers as well
        gX = found.get(leaf, np.zeros_like(X))
        return Gradients(self._checked(y, X, mask), gX, parameters, frozenset(unreached))

    def _checked(self, y: np.ndarray, X: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        """The output, if it has a part for each set and, if f is to be equivariant, for each element."""
        if y.ndim == 0 or len(y) != len(X):
            what = f"the output for sets {X.shape} has shape {y.shape}, which does not start with {len(X)}"
            raise Violation(what, X, mask, {"f(X)": y}, hint="shape")
        if self.kind == "equivariant" and y.shape[1:2] != X.shape[1:2]:
            what = f"an equivariant function has an output for each element, but sets {X.shape} gave {y.shape}"
            raise Violation(what, X, mask, {"f(X)": y}, hint="not a set")
        return y

    def _guarded(self, work: Callable[[], Any], X: np.ndarray, mask: np.ndarray | None) -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return work()
            except Exception as error:  # whatever a foreign function may raise on a valid set
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                raise Violation(f"{self.name} raised {text}", X, mask, {}, hint="raised") from error

    def _call(self, X: Any, mask: np.ndarray | None) -> Any:
        if mask is None and self.mask.required:
            mask = np.ones(X.shape[:2], dtype=bool)
        if mask is None or self.mask.name is None:
            return _first(self.function(X))
        return _first(self.function(X, **{self.mask.name: self.mask.value(mask)}))

    # ---- as what, and in which dtype

    @contextlib.contextmanager
    def prepared(self, dtype: str | None = None, *, training: bool | None = None) -> Iterator[Subject]:
        """Within the block f computes in a dtype, in evaluation mode unless training is set; then it is as before."""
        modules = [m for m in getattr(self.original, "modules", list)() if hasattr(m, "training")]
        modes = [(m, m.training) for m in modules]
        try:
            for module in modules:
                module.training = self.training if training is None else training
            with in_dtype(self.function, dtype or self.dtypes[0]), _one_thread(self.function):
                yield self
        finally:
            for module, mode in modes:
                module.training = mode

    def parameters(self) -> dict[str, Tensor]:
        """The trainable parameters by name, as far as f has told them."""
        return dict(self.function.named_parameters()) if hasattr(self.function, "named_parameters") else {}

    def _example(self, dtype: str) -> np.ndarray:
        return self.drawing.example(np.random.default_rng(0), self.d_in).astype(dtype)

    def _runs(self, dtype: str) -> str | None:
        """What goes wrong in a dtype; None if nothing does."""
        try:
            with self.prepared(dtype):
                self(self._example(dtype))
        except Violation as violation:
            return violation.what if violation.hint == "raised" else None
        except TypeError as error:  # of in_dtype
            return str(error)
        return None

    def _adapt(self, f: Any) -> tuple[Any, str]:
        """f as a function of Tensors, or of arrays if that is what it takes."""
        if isinstance(f, Module) or foreign.wrap(f) is not f:
            return foreign.wrap(f), "tensors"
        ways: list[tuple[Callable[[Any], Any], str]] = [(lambda f: f, "tensors"), (lambda f: f, "arrays")]
        if "torch" in sys.modules:
            ways.append((foreign.TorchFunction, "tensors"))
        errors = []
        for adapt, takes in ways:
            for dtype in ("float64", "float32"):
                self.function, self.takes = adapt(f), takes
                X = self._example(dtype)
                try:
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        y = self._call(Tensor(X) if takes == "tensors" else X, None)
                except Exception as error:
                    errors.append(f"{type(error).__name__}: {error}".splitlines()[0])
                    continue
                if isinstance(y, Tensor) if takes == "tensors" else isinstance(y, np.ndarray):
                    return self.function, takes
                if type(y).__module__.split(".")[0] in ("jax", "jaxlib"):
                    return foreign.JaxFunction(f), "tensors"
                errors.append(f"it returned {type(y).__name__}")
        returned = (error for error in errors if error.startswith("it returned"))
        reason = next(returned, errors[-1 if "torch" in sys.modules else 0])
        raise CannotCheck(
            f"{self.name} cannot be called on sets of shape {self._example('float32').shape}: {reason}{self._advice}"
        )


@contextlib.contextmanager
def _one_thread(function: Any) -> Iterator[None]:
    """PyTorch in one thread: for sets as small as these, its threads would only wait for each other."""
    torch = getattr(function, "torch", None)
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _first(y: Any) -> Any:
    return y[0] if isinstance(y, list | tuple) else y


def _host(y: Any) -> np.ndarray:
    return y.numpy() if isinstance(y, Tensor) else np.asarray(y)
