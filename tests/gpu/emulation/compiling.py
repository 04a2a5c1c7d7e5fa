"""CUDA C++ to a shared library, by g++.

A source is compiled as it is, after device.h, but for the declarations of `__shared__` variables, which become
references to memory that the runtime provides. A table of the kernels is appended, for cuda_driver.cpp to find them by
their names.
"""

import functools
import hashlib
import itertools
import os
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from .errors import Unavailable

HERE = Path(__file__).parent
RUNTIME_SOURCES = sorted(HERE.glob("*.cpp"))
HEADERS = sorted([*HERE.glob("*.h"), *HERE.glob("include/**/*.h")])

LANGUAGE = (
    "-std=c++17",
    "-fPIC",
    "-w",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-gnu-unique",
    "-pipe",
)
BOUNDS = ("-fsanitize=bounds-strict", "-fsanitize-undefined-trap-on-error")  # an index outside its array traps
LINK = ("-shared", "-nostdlib")  # a kernel needs no library that Python has not loaded

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ALIGN = r"(?:(?:__align__|alignas)\s*\((?P<align>[^)]*)\)\s*)?"
_TYPE = r"(?P<type>[^;=(){}\[\]]+?)"
_ARRAY = r"\w+\s*(?:\[[^\]]*\]\s*)*"  # name, name[3], name[16][33]
_DYNAMIC_SHARED = re.compile(rf"\bextern\s+__shared__\s+{_ALIGN}{_TYPE}\s*\b(?P<name>\w+)\s*\[\s*\]\s*;")
_STATIC_SHARED = re.compile(rf"\b(?:static\s+)?__shared__\s+{_ALIGN}{_TYPE}\s*\b(?P<arrays>{_ARRAY}(?:,\s*{_ARRAY})*);")
_ATTRIBUTE = r"(?:\w+\s*\([^)]*\)\s*)?"  # __launch_bounds__(128)
_KERNEL = re.compile(
    rf"(?P<template>\btemplate\s*<[^;{{}}]*>\s*)?__global__\s+{_ATTRIBUTE}void\s+{_ATTRIBUTE}(?P<name>\w+)\s*\("
)
_LAUNCH_BOUNDS = re.compile(r"__launch_bounds__\s*\(([^,()]+)[^()]*\)\s*(?:void\s+)?(\w+)\s*\(")
_COLLECTIVE = re.compile(r"__sync|__shfl|__ballot|__any_sync|__all_sync|__shared__")


class CompileError(RuntimeError):
    """g++ refuses a source; the message is what it says."""


# ---- the cache -------------------------------------------------------------------------------------------------------


@functools.cache
def cache_folder() -> Path:
    """Where libraries are kept: MINISETS_GPU_CACHE, or a folder of this user's among the temporary files."""
    default = Path(tempfile.gettempdir()) / f"minisets-gpu-{os.getuid()}"
    folder = Path(os.environ.get("MINISETS_GPU_CACHE") or default)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise Unavailable(f"{folder} belongs to another user: set MINISETS_GPU_CACHE to a folder of yours")
    return folder.resolve()


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def build(target: Path, command: Iterable[str], source: str | None = None) -> Path:
    """Make `target`, if there is none, by a command that is told where to write. Other processes may do the same."""
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        made = Path(folder) / target.name
        result = subprocess.run([*command, "-o", str(made)], input=source, capture_output=True, text=True, check=False)
        if result.returncode:
            raise CompileError(result.stderr)
        os.replace(made, target)  # at once and whole, whoever else has made or uses it
    return target


# ---- the compiler and its options ------------------------------------------------------------------------------------


@functools.cache
def compiler() -> str:
    """The version of g++, which is at least 12: earlier ones have no _Float16."""
    try:
        result = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable("the emulation compiles kernels with g++, which is not installed") from error
    version = result.stdout.strip()
    if int(version.split(".")[0]) < 12:
        raise Unavailable(f"the emulation needs g++ 12 or later, and this one is {version}")
    return version


@functools.cache
def arithmetic_options() -> tuple[str, ...]:
    """A GPU fuses a multiplication and an addition into one rounding: so does the emulation, if this processor can."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return ("-mfma", "-mf16c", "-ffp-contract=fast") if "fma" in flags and "f16c" in flags else ()


@functools.cache
def cuda_includes() -> tuple[str, ...]:
    """Our headers, and those of nvidia-cuda-runtime-cu12 for float4 and the like."""
    from cuda.pathfinder import find_nvidia_header_directory

    cuda = find_nvidia_header_directory("cudart")
    if cuda is None:
        raise Unavailable("the emulation needs the headers of CUDA: pip install nvidia-cuda-runtime-cu12")
    return (f"-I{HERE}", f"-I{HERE / 'include'}", f"-I{cuda}")


@functools.cache
def kernel_includes() -> tuple[str, ...]:
    from cupy._core import core

    return (*cuda_includes(), f"-I{core._get_header_dir_path()}", *core._get_cccl_include_options())


@functools.cache
def precompiled_header(name: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The options that include device.h or generated.h. g++ takes the .gch of the first folder that has one."""
    import cupy

    contents = [path.read_text() for path in HEADERS]
    folder = cache_folder() / digest(name, *contents, *options, *kernel_includes(), compiler(), cupy.__version__)
    folder.mkdir(exist_ok=True)
    build(folder / f"{name}.gch", ["g++", *options, *kernel_includes(), "-x", "c++-header", str(HERE / name)])
    return (f"-I{folder}", *kernel_includes(), "-include", name)


# ---- sources ---------------------------------------------------------------------------------------------------------


def kernel_names(source: str) -> list[str]:
    """The kernels of a source, but for templates, which have to be asked for with their arguments."""
    return list(dict.fromkeys(match["name"] for match in _KERNEL.finditer(source) if not match["template"]))


def is_generated(source: str, kernels: Sequence[str]) -> bool:
    """CuPy's own: those use CArray, or are named cupy_ something. Divergence is overlooked in them."""
    return "cupy/carray.cuh" in source or all(name.startswith("cupy_") for name in kernels)


def without_comments(source: str) -> str:
    """The source with its lines where they were: messages name them."""
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", source)


def rewrite_shared(source: str) -> str:
    """`__shared__ T a[N][M];` to a reference to such an array, whose indices are then checked as those of any array."""
    numbers = itertools.count(1)

    def reference(element: str, array: str, align: str | None) -> str:
        number = next(numbers)
        name, extent = re.fullmatch(r"(\w+)\s*(.*)", array.strip(), re.DOTALL).groups()
        kind = f"emulated_shared_{number}"
        place = f"{number}, __PRETTY_FUNCTION__, sizeof({kind}), {align or f'alignof({kind})'}"
        reference = f"{kind} &{name} = *static_cast<{kind} *>(emulated_static_shared({place}));"
        return f"typedef {element} {kind}{extent}; {reference}"

    def static(match: re.Match[str]) -> str:
        arrays = re.findall(_ARRAY, match["arrays"])
        return " ".join(reference(match["type"], array, match["align"]) for array in arrays)

    source = _DYNAMIC_SHARED.sub(r"\g<type> *\g<name> = static_cast<\g<type> *>(emulated_dynamic_shared());", source)
    return _STATIC_SHARED.sub(static, source)


def launch_bounds(source: str) -> dict[str, str]:
    """The kernels of a source that declare how many threads a block has at most."""
    return {name: bound for bound, name in _LAUNCH_BOUNDS.findall(source)}


def kernel_table(kernels: Sequence[str], bounds: dict[str, str], collective: bool, strict: bool) -> str:
    most = [bounds.get(name.partition("<")[0], "1024") for name in kernels]
    entries = ",\n".join(f"EMULATED_KERNEL({bound}, {name})" for bound, name in zip(most, kernels, strict=True))
    return f"""
extern "C" {{
extern const bool emulated_is_collective = {str(collective).lower()};
extern const bool emulated_is_strict = {str(strict).lower()};
extern const EmulatedKernel emulated_kernels[] = {{{entries}, {{}}}};
}}
"""


def compile_source(source: str, names: Iterable[str] | None = None, options: Iterable[str] = ()) -> Path:
    """The library of a CUDA source. `names` are C++ expressions such as `kernel<float, 32>`, for templates."""
    source = without_comments(source)
    kernels = list(names or kernel_names(source))
    generated = is_generated(source, kernels)
    # to optimize CuPy's many small kernels takes longer than to run them as they are
    optimization = "-O0" if generated else "-O1"
    flags = (*LANGUAGE, *BOUNDS, *arithmetic_options(), optimization)
    collective = bool(_COLLECTIVE.search(source))
    text = rewrite_shared(source) + kernel_table(kernels, launch_bounds(source), collective, strict=not generated)
    header = precompiled_header("generated.h" if generated else "device.h", flags)
    extra = [option for option in options if option.startswith(("-D", "-U", "-I"))]
    command = ["g++", *flags, *LINK, *extra, *header, "-x", "c++", "-"]
    return build(cache_folder() / f"{digest(text, *command)}.so", command, text)


def runtime_library() -> Path:
    """The C++ files of this folder, as one library."""
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").exists():
        raise Unavailable(f"the emulation needs the headers of Python, and {include} has no Python.h")
    options = ("-std=c++17", "-O2", "-fPIC", "-shared", "-U_FORTIFY_SOURCE", f"-I{include}")
    contents = [path.read_text() for path in (*RUNTIME_SOURCES, *HEADERS)]
    target = cache_folder() / f"runtime-{digest(*contents, *options, compiler())}.so"
    try:
        return build(target, ["g++", *options, *cuda_includes(), *map(str, RUNTIME_SOURCES)])
    except CompileError as error:
        raise Unavailable(f"g++ cannot build the runtime of the emulation:\n{error}") from error
