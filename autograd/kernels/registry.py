"""The list of all kernels, and the three kinds of CUDA source that they are made of.

A kernel is a function of CuPy arrays that launches CUDA code, registered here together with its NumPy reference: a
function of NumPy arrays with the same parameters and the same results up to rounding.  The reference is the
specification; the tests compare the two.

CUDA source becomes a CuPy object on the first call, so that nothing here needs CuPy to be imported.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.backend import Array, device_guard, gpu

DTYPES = {"float32": "float", "float64": "double"}  # the dtypes every kernel supports, with their CUDA names
NULL = np.uintp(0)  # the null pointer, in place of an array that is not given


# ---- CUDA source ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elementwise:
    """One thread per element of the output; inputs broadcast.  T stands for the dtype of the arrays."""

    name: str
    inputs: str
    outputs: str
    operation: str
    scalars: tuple[str, ...] = ()  # the inputs that are scalars

    @functools.cached_property
    def compiled(self) -> Any:
        return gpu().ElementwiseKernel(self.inputs, self.outputs, self.operation, self.name)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


@dataclass(frozen=True)
class Reduction:
    """The sum over an axis of a formula in the inputs, which broadcast; the formula's values are never stored."""

    name: str
    inputs: str
    formula: str
    finish: str = "result = a"

    @functools.cached_property
    def compiled(self) -> Any:
        return gpu().ReductionKernel(self.inputs, "T result", self.formula, "a + b", self.finish, "0", self.name)

    def __call__(self, *arguments: Any, axis: int) -> Any:
        return self.compiled(*arguments, axis=axis)


@dataclass(frozen=True)
class Raw:
    """CUDA C++ with templates: functions<T, ...>, each compiled for the template arguments it is first called with."""

    files: tuple[str, ...]  # in this folder, concatenated in order
    instances: Callable[[str], list[str]]  # from a dtype to the functions that are called, so that tests compile all

    @functools.cached_property
    def source(self) -> str:
        folder = importlib.resources.files("autograd.kernels")
        return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in self.files)

    def __call__(self, function: str, blocks: int, threads: int, arguments: Sequence[Any], shared: int = 0) -> None:
        """Launch a function such as "softmax_forward<float>", with `shared` bytes of shared memory per block."""
        if blocks:  # an empty grid is an error in CUDA
            compiled = _compiled(self.source, function, gpu().cuda.Device().id)
            compiled((blocks,), (threads,), tuple(arguments), shared_mem=shared)


@functools.cache
def _compiled(source: str, function: str, device: int) -> Any:
    """The function, loaded on the current GPU, which is the device: another GPU cannot launch it."""
    module = gpu().RawModule(code=source, options=("--std=c++17",), name_expressions=[function])
    return module.get_function(function)


def int64_struct(*values: int) -> np.ndarray:
    """Integers as one argument: a struct of long longs, passed by value."""
    return np.array(values, dtype=np.int64).view(f"V{8 * len(values)}")


def cuda_name(x: Array) -> str:
    """float or double."""
    return DTYPES[x.dtype.name]


def or_null(x: Array | None) -> Any:
    """The array as a contiguous one, which the kernels require; the null pointer if there is none."""
    return NULL if x is None else gpu().ascontiguousarray(x)


# ---- the list -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """An entry in the list of kernels."""

    name: str
    launch: Callable[..., Any]  # of CuPy arrays
    reference: Callable[..., Any]  # of NumPy arrays: what launch must return
    code: tuple[Elementwise | Reduction | Raw, ...]
    sizes: str  # the supported sizes
    dtypes: tuple[str, ...] = tuple(DTYPES)  # the supported dtypes
    in_place: int = 0  # how many of its first arguments are overwritten with its results

    def run(self, *arguments: Any) -> Any:
        """Launch it on the GPU of its arrays."""
        return run_kernel(self, *arguments)


KERNELS: dict[str, Kernel] = {}


def run_kernel(kernel: Kernel, *arguments: Any) -> Any:
    """Run a kernel.  All kernels run through here, so that tests without CUDA can substitute their references."""
    with device_guard(*arguments):  # a raw kernel runs on the current GPU, even if its arrays are on another
        return kernel.launch(*arguments)


def kernel(
    reference: Callable[..., Any], *code: Elementwise | Reduction | Raw, sizes: str, in_place: int = 0
) -> Callable[..., Any]:
    """Register the decorated function, which launches the code, in the list of kernels."""

    def register(launch: Callable[..., Any]) -> Callable[..., Any]:
        entry = KERNELS[launch.__name__] = Kernel(launch.__name__, launch, reference, code, sizes, in_place=in_place)

        @functools.wraps(launch)
        def run(*arguments: Any) -> Any:
            return entry.run(*arguments)

        return run

    return register
