"""Make the installed CuPy run on the host.

CuPy's compiled modules call the CUDA runtime and driver through pointers that `cupy_backends.cuda.api` offers in
capsules; the names of the capsules are the C signatures, so a CuPy of another ABI is recognized. We point the capsules
at our functions before any other module has read them, and from then on it is CuPy's own code that runs.
"""

import ctypes
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import blas, compiling, library, thrust
from .errors import Unavailable

SIGNATURES: dict[str, str] = json.loads((compiling.HERE / "signatures.json").read_text())

_TYPES = {
    "PyObject *": ctypes.py_object,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "intptr_t": ctypes.c_ssize_t,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
}
_cupy: ModuleType | None = None


def installed() -> bool:
    return _cupy is not None


def install() -> ModuleType:
    """CuPy, on the host from now on. To be called before anything imports it; a second call does nothing more."""
    global _cupy
    if _cupy is None:
        _require_platform()
        backends = _import_backends()
        _check_signatures(backends)
        _replace_functions(backends)
        _replace_cublas()
        cupy = _import_cupy()
        _replace_compiler()
        _replace_sorting()
        # without CuPy's pool each array is an allocation of its own, between its own inaccessible pages
        cupy.cuda.set_allocator(None)
        cupy.cuda.set_pinned_memory_allocator(None)
        _cupy = cupy
    return _cupy


def _require_platform() -> None:
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise Unavailable(
            f"the emulation is for Linux on x86-64, and this is {platform.system()} on {platform.machine()}"
        )
    if "cupy" in sys.modules:
        raise RuntimeError("CuPy has been imported already: the emulation has to be installed before")
    compiling.compiler()


def _import_backends() -> dict[str, ModuleType]:
    try:
        from cupy_backends.cuda.api import driver, runtime
    except ImportError as error:
        raise Unavailable(f"the emulation runs the package cupy-cuda12x, which cannot be imported: {error}") from error
    return {"runtime": runtime, "driver": driver}


def _import_cupy() -> ModuleType:
    os.environ["CUPY_ACCELERATORS"] = ""  # CUB comes as compiled device code
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # ours is the only cache on disk
    import cupy

    return cupy


# ---- the runtime and the driver --------------------------------------------------------------------------------------


def _check_signatures(backends: dict[str, ModuleType]) -> None:
    for key, signature in SIGNATURES.items():
        kind, _, name = key.partition("_")
        found = re.search('"(.*)"', repr(backends[kind].__pyx_capi__.get(name)))
        if found is None or found[1] != signature:
            raise Unavailable(f"the emulation is for CuPy 14.2, and this CuPy has another {kind}.{name}")


def _replace_functions(backends: dict[str, ModuleType]) -> None:
    """Both ways into a function: the capsule, for CuPy's compiled code, and the attribute, for Python."""
    ours = library.load()
    for key, signature in SIGNATURES.items():
        kind, _, name = key.partition("_")
        module, function = backends[kind], getattr(ours, key)
        ours.emulation_replace(module.__pyx_capi__[name], ctypes.cast(function, ctypes.c_void_p))
        if hasattr(module, name) and "struct" not in signature:
            setattr(module, name, _for_python(function, signature))


def _for_python(function: Any, signature: str) -> Callable[..., Any]:
    """A Python function of the C one. Cython adds a last parameter, __pyx_skip_dispatch."""
    result, parameters = re.fullmatch(r"(.*?) ?\((.*)\)", signature).groups()
    types = [_TYPES[text] for text in parameters.removesuffix("int __pyx_skip_dispatch").split(", ") if text in _TYPES]
    function.restype = _TYPES[result]
    function.argtypes = [*types, ctypes.c_int]
    return lambda *arguments: function(*arguments, 0)


# ---- libraries -------------------------------------------------------------------------------------------------------


def _replace_cublas() -> None:
    import cupy_backends.cuda.libs as libraries

    sys.modules["cupy_backends.cuda.libs.cublas"] = blas
    libraries.cublas = blas


def _replace_sorting() -> None:
    import cupy.cuda.thrust

    cupy.cuda.thrust.sort = thrust.sort
    cupy.cuda.thrust.argsort = thrust.argsort
    cupy.cuda.thrust.lexsort = thrust.lexsort


def _replace_compiler() -> None:
    from cupy.cuda import compiler

    compiler._compile_using_nvrtc_no_warning = _compile
    compiler._get_nvrtc_version = lambda: (12, 9)
    compiler._preprocess = lambda *arguments: ""  # CuPy asks for it only to tell compilers apart


def _compile(
    source: str, options: tuple[str, ...] = (), arch: str | None = None, filename: str = "",
    name_expressions: list[str] | None = None, *rest: Any, **more: Any,
) -> tuple[bytes, dict[str, str] | None]:  # fmt: skip
    """The "cubin" that CuPy hands to the driver is the path of a library; kernels keep the names CuPy knows them by."""
    from cupy.cuda.compiler import CompileException, _get_arch

    wrong = [option for option in options if option.startswith(("-arch", "--gpu-arch", "-code", "--gpu-code"))]
    if wrong or arch not in (None, _get_arch()):
        raise CompileException(f"for another architecture: {wrong or arch}", source, filename, options, "emulation")
    try:
        path = compiling.compile_source(source, name_expressions, options)
    except compiling.CompileError as error:
        raise CompileException(str(error), source, filename, options, "g++") from None
    return str(path).encode(), {name: name for name in name_expressions} if name_expressions else None
