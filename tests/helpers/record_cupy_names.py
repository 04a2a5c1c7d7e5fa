"""What CuPy offers, written down, so that the double of it can be as strict where CuPy is not installed.

    python tests/helpers/record_cupy_names.py > tests/helpers/cupy_names.json

needs CuPy but no GPU.  The record has

    cupy         the version
    shared       names under which CuPy hands out NumPy's own objects: dtypes, numbers, pi
    functions    the parameters of each function, every default written as None; those of cupy.linalg and
                 cupy.lib.stride_tricks under their path
    ufuncs       which of reduce, accumulate, reduceat, at and outer each ufunc can do
    methods      the parameters of each method of an array, without self
    attributes   what else an array has
    waiting      functions and methods that wait for the GPU
    at           the dtypes for which a ufunc can do .at
    own          the names that are left: kernels, memory pools, submodules
"""

import inspect
import json
import re
import sys
from typing import Any

import numpy as np

# What cannot be asked without a GPU was found by running CuPy 14.2: which functions look at numbers on the GPU ...
WAITING = """argpartition argwhere bincount compress delete extract flatnonzero histogram nanmax nanmin nonzero place
setdiff1d shares_memory sliding_window_view tobytes tofile trim_zeros unique unravel_index"""
# ... for which dtypes there is an atomic operation on memory, which is what .at comes down to ...
AT = dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], "int32 int64 uint32 uint64")
AT |= dict.fromkeys(["maximum", "minimum"], "int32 int64 float32 float64 uint32 uint64")
AT |= {"add": "int32 int64 float16 float32 float64 uint32 uint64", "subtract": "int32 uint32"}
# ... and which keywords a function knows that takes **kwargs and looks at them later.
LATER = {"einsum": "*operands, dtype=None, optimize=None"}

METHODS = {"reduce": 1, "accumulate": 1, "reduceat": 2, "at": 3}  # and how many arguments each needs


def record(cupy: Any) -> dict[str, Any]:
    """The record of an imported CuPy."""
    found: dict[str, Any] = {"cupy": cupy.__version__, "shared": [], "functions": {}, "ufuncs": {}, "own": []}
    for name in _public(cupy):
        value = getattr(cupy, name)
        if value is getattr(np, name, found):
            found["shared"].append(name)
        elif isinstance(value, cupy.ufunc):
            found["ufuncs"][name] = " ".join(_ufunc_methods(value))
        elif callable(value) and not isinstance(value, type):
            found["functions"][name] = _parameters(value)
        else:
            found["own"].append(name)
    for path, module in {"linalg": cupy.linalg, "lib.stride_tricks": cupy.lib.stride_tricks}.items():
        functions = {name: getattr(module, name) for name in _public(module) if hasattr(_numpy(path), name)}
        found["functions"] |= {
            f"{path}.{name}": _parameters(f) for name, f in functions.items() if inspect.isroutine(f)
        }
    members = {name: getattr(cupy.ndarray, name) for name in _public(cupy.ndarray)}
    found["methods"] = {name: _parameters(value) for name, value in members.items() if callable(value)}
    found["attributes"] = [name for name, value in members.items() if not callable(value)]
    return found | {"functions": found["functions"] | LATER, "waiting": WAITING.split(), "at": AT}


def _public(holder: Any) -> list[str]:
    return [name for name in sorted(dir(holder)) if not name.startswith("_")]


def _numpy(path: str) -> Any:
    """The module of NumPy at a path like CuPy's."""
    module = np
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _ufunc_methods(ufunc: Any) -> list[str]:
    """Those that do not answer that they are not supported; asked with nonsense, which every one of them refuses."""
    able = []
    for method, count in METHODS.items():
        try:
            getattr(ufunc, method)(*[None] * count)
        except NotImplementedError:
            continue
        except (TypeError, ValueError, AttributeError):
            able.append(method)
    return able + ["outer"] * (ufunc.nin == 2)  # which is there for all, and works for functions of two


def _parameters(function: Any) -> str:
    """The parameters as they would stand in a definition, without self and annotations, every default None."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # compiled: the first line of the docstring has them
        return _from_docstring(inspect.getdoc(function) or "")
    kept = [p.replace(annotation=p.empty, default=p.default if p.default is p.empty else None) for p in parameters]
    return str(inspect.Signature(p for p in kept if p.name != "self"))[1:-1]


def _from_docstring(text: str) -> str:
    """From "name(self, int axis=-1, out=None) -> array" to "axis=None, out=None"."""
    inside = re.match(r"[\w.]+\((.*?)\)(?: ->.*)?(?:\n|$)", text)
    if inside is None:
        return "*args, **kwargs"
    words = [word.split(" ")[-1] for word in inside[1].split(", ")]  # a type, where there is one, stands before
    return ", ".join(re.sub("=.*", "=None", word) for word in words if word != "self")


if __name__ == "__main__":
    import cupy

    json.dump(record(cupy), sys.stdout, indent=1)
    print()
