"""Compiling kernels for GPUs that are not there, with CuPy's own generators of code and NVIDIA's own compiler (NVRTC).

CuPy's public functions ask a device for its architecture before they compile; one level below, they take it as a word.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from cupy._core import _kernel, _reduction, _scalar, core
from cupy._core._carray import Indexer
from cupy.cuda import compiler

from autograd.kernels.registry import Elementwise, Raw, Reduction

ARCHITECTURES = ("70", "75", "80", "86", "89", "90", "100", "120")
HEADERS = "".join(f"#include <{header}>\n" for header in core._cupy_header_list)


@dataclass(frozen=True)
class Usage:
    """The assembler's report on a function."""

    registers: int
    spilled: int  # bytes of registers that had to be put into memory
    shared: int  # bytes of static shared memory


def compiled(code: Elementwise | Reduction | Raw, dtype: str, architecture: str) -> dict[str, Usage]:
    """Compile for an architecture; a CompileException if that is refused."""
    return usage(binary_and_log(code, dtype, architecture)[1])


def binary_and_log(code: Elementwise | Reduction | Raw, dtype: str, architecture: str) -> tuple[bytes, str]:
    """The machine code, an ELF file, and what the assembler says about it."""
    names = code.instances(dtype) if isinstance(code, Raw) else None
    text = code.source if names else HEADERS + generated(code, dtype)
    options = core.assemble_cupy_compiler_options(("--std=c++17",))
    options += (f"-arch=sm_{architecture}", "--device-as-default-execution-space", "-ftz=true", "--ptxas-options=-v")
    program, log = (
        compiler._NVRTCProgram(text, "kernel.cu", (), (), name_expressions=names, method="cubin"),
        io.StringIO(),
    )
    binary, _ = program.compile(options, log)
    assert binary[:4] == b"\x7fELF"
    return binary + b"\0", log.getvalue()  # the last byte, which CuPy takes for the end of a string


def usage(log: str) -> dict[str, Usage]:
    """Registers, spills and shared memory by (mangled) function, from the assembler's log."""
    found = {}
    for name, text in re.findall(r"Compiling entry function '(\w+)'(.*?Used .*?\n)", log, re.S):
        shared = re.search(r"(\d+) bytes smem", text)
        registers, spilled = (
            re.search(r"Used (\d+) registers", text),
            re.search(r"(\d+) bytes spill stores", text),
        )
        found[name] = Usage(int(registers[1]), int(spilled[1]), int(shared[1]) if shared else 0)
    return found


def generated(code: Elementwise | Reduction, dtype: str) -> str:
    """The CUDA text that CuPy makes of a kernel for contiguous arrays of a dtype."""
    kernel = code.compiled
    parameters = (kernel.in_params, kernel.out_params)
    inputs, outputs = (tuple(np.dtype(p.dtype or dtype) for p in some) for some in parameters)
    if isinstance(code, Elementwise):
        _, _, types = kernel._decide_params_type(inputs, outputs)
        arguments = [
            _number(kind) if p.name in code.scalars else _array(kind, 1)
            for p, kind in zip(kernel.in_params + kernel.out_params, inputs + outputs, strict=True)
        ]
        return _kernel._get_elementwise_kernel_code(
            (*arguments, _indexer(1)),
            types,
            kernel.params,
            kernel.operation,
            kernel.name,
            kernel.preamble,
            **kernel.kwargs,
        )
    pairs = {p.ctype: kind for some, kinds in zip(parameters, (inputs, outputs), strict=True)
             for p, kind in zip(some, kinds, strict=True) if p.dtype is None}  # fmt: skip
    types = _kernel._TypeMap((*sorted(pairs.items()), ("IndexT", "int32")))
    arguments = [*(_array(kind, 2) for kind in inputs), *(_array(kind, 1) for kind in outputs)]
    arguments += [_indexer(2), _indexer(1), _number("i")]
    return _reduction._ReductionKernel_get_cached_function_code(
        kernel.nin, kernel.nout, kernel._params, tuple(arguments), types, kernel.name, 512, kernel.reduce_type,
        kernel.identity, kernel.map_expr, kernel.reduce_expr, kernel.post_map_expr, kernel.preamble, kernel.options,
    )  # fmt: skip


def _array(dtype: Any, dimensions: int) -> Any:
    return _kernel._ArgInfo(1, cupy.ndarray, np.dtype(dtype), dimensions, True, True)


def _indexer(dimensions: int) -> Any:
    return _kernel._ArgInfo(2, Indexer, None, dimensions, True, True)


def _number(dtype: Any) -> Any:
    return _kernel._ArgInfo(3, _scalar.CScalar, np.dtype(dtype), 0, True, True)
