"""The list of all kernels, and the three kinds of CUDA text that they are made of.

A kernel is a function of CuPy arrays that launches something, entered here together with its NumPy reference: a
function of NumPy arrays with the same parameters and the same results up to rounding.  The reference is the
specification; the tests hold one against the other.

CUDA text becomes a CuPy object when it is first called, so that nothing here needs CuPy to be imported.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.backend import Array, gpu, on_gpu

DTYPES = {"float32": "float", "float64": "double"}  # what every kernel serves, and what CUDA calls it
NOTHING = np.uintp(0)  # in place of an array that is not given: the null pointer


# ---- CUDA text ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elementwise:
    """One thread for each number of the output; inputs broadcast.  T stands for the dtype of the arrays."""

    name: str
    inputs: str
    outputs: str
    operation: str
    scalars: tuple[str, ...] = ()  # the inputs that are numbers

    @functools.cached_property
    def built(self) -> Any:
        return gpu().ElementwiseKernel(self.inputs, self.outputs, self.operation, self.name)

    def __call__(self, *arguments: Any) -> Any:
        return self.built(*arguments)


@dataclass(frozen=True)
class Reduction:
    """The sum over some axes of a formula in the inputs, which broadcast; no array of the formula's values is made."""

    name: str
    inputs: str
    formula: str
    finish: str = "result = a"

    @functools.cached_property
    def built(self) -> Any:
        return gpu().ReductionKernel(self.inputs, "T result", self.formula, "a + b", self.finish, "0", self.name)

    def __call__(self, *arguments: Any, axis: int) -> Any:
        return self.built(*arguments, axis=axis)


@dataclass(frozen=True)
class Raw:
    """CUDA C++ with templates: functions<T, ...>, each compiled for the template arguments it is first called with."""

    files: tuple[str, ...]  # in this folder, read one after the other
    instances: Callable[[str], list[str]]  # from a dtype to the functions that are called, for tests that compile all

    @functools.cached_property
    def text(self) -> str:
        folder = importlib.resources.files("autograd.kernels")
        return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in self.files)

    def __call__(self, function: str, blocks: int, threads: int, arguments: Sequence[Any], shared: int = 0) -> None:
        """Launch "softmax_forward<float>" in so many blocks of so many threads, with so many bytes shared by each."""
        if blocks:  # an empty grid is an error in CUDA, and nothing to do for us
            _compiled(self.text, function)((blocks,), (threads,), tuple(arguments), shared_mem=shared)


@functools.cache
def _compiled(text: str, function: str) -> Any:
    module = gpu().RawModule(code=text, options=("--std=c++17",), name_expressions=[function])
    return module.get_function(function)


def fields(*numbers: int) -> np.ndarray:
    """Whole numbers as one argument: a struct of long longs, passed by value."""
    return np.array(numbers, dtype=np.int64).view(f"V{8 * len(numbers)}")


def cuda_name(x: Array) -> str:
    """float or double."""
    return DTYPES[x.dtype.name]


def or_nothing(x: Array | None) -> Any:
    """The array without gaps, as the kernels read it; the null pointer if there is none."""
    return NOTHING if x is None else gpu().ascontiguousarray(x)


# ---- the list -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """An entry of the list."""

    name: str
    launch: Callable[..., Any]  # of CuPy arrays
    reference: Callable[..., Any]  # of NumPy arrays: what launch must return
    code: tuple[Elementwise | Reduction | Raw, ...]
    sizes: str  # that it serves
    dtypes: tuple[str, ...] = tuple(DTYPES)  # likewise
    in_place: int = 0  # how many of its first arguments it overwrites with its results


KERNELS: dict[str, Kernel] = {}


def perform(kernel: Kernel, *arguments: Any) -> Any:
    """Run a kernel.  All of them pass here, so that a device without CUDA can put the reference in their place."""
    with next(
        x for x in arguments if on_gpu(x)
    ).device:  # a raw kernel runs on the current GPU, wherever its arrays are
        return kernel.launch(*arguments)


def kernel(
    reference: Callable[..., Any], *code: Elementwise | Reduction | Raw, sizes: str, in_place: int = 0
) -> Callable[..., Any]:
    """Enter the decorated function, which launches the code, in the list of kernels."""

    def enter(launch: Callable[..., Any]) -> Callable[..., Any]:
        entry = KERNELS[launch.__name__] = Kernel(launch.__name__, launch, reference, code, sizes, in_place=in_place)

        @functools.wraps(launch)
        def run(*arguments: Any) -> Any:
            return perform(entry, *arguments)

        return run

    return enter
