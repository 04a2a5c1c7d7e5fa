"""A strict double of CuPy: arrays that lie in the host's memory and behave as if they did not.

    with double.installed():                        # `import cupy` now finds the double
        x = backend.to_device(np.ones(3), "cuda")   # a double.ndarray
        np.asarray(x)                               # TypeError, as in CuPy

It computes with NumPy and answers as CuPy 14 does: nothing turns into a NumPy array by itself, host and device arrays
do not mix, a reduction gives a 0-d array of the device, and what CuPy lacks is missing (cupy_names.json has the names
and the parameters).  `waits` counts where a GPU would have to be waited for, `copies` what travels to it.

On purpose it is stricter than CuPy here and there: no function takes a host array (cupy.sum of one silently runs NumPy,
einsum copies it over without a word), arange and linspace take no device array (they would wait for it), and what
broadcast_to returns cannot be written to.  Memory from empty() is nan.  It cannot compile CUDA: in the place of each of
the project's kernels runs its NumPy reference.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import operator
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

from autograd.cupy_import import import_cupy

try:
    from autograd.kernels import registry
except ModuleNotFoundError:  # the tests that run without faster forms
    registry = SimpleNamespace(run_kernel=None)

NAMES = json.loads(Path(__file__).with_name("cupy_names.json").read_text())  # made by record_cupy_names.py

waits: Counter[str] = Counter()  # by kind: how often the host would have waited for the GPU
copies: Counter[str] = Counter()  # by kind: how often something would have been copied to it

# Functions that need no array.  All others are given at least one on the device: CuPy does not take lists either.
CREATING = {"arange", "eye", "full", "identity", "indices", "linspace", "ones", "result_type", "tri", "zeros"}
# Parameters that are numbers of the host: a device array, even a 0-d one, is no Python integer.
NUMBERS = {"axes", "axis", "constant_values", "ddof", "indices_or_sections", "newshape", "pad_width", "reps", "shape"}
NUMBERS |= {"N", "num", "start", "step", "stop", "strides"}


class Pool:
    """Counts the memory of arrays as CuPy's pool does, which keeps what it once had until all blocks are freed."""

    used = total = 0

    def count(self, array: ndarray, sign: int) -> None:
        self.used += sign * array._array.nbytes if array._base is None else 0
        self.total = max(self.total, self.used)

    def free_all_blocks(self) -> None:
        self.total = self.used

    def used_bytes(self) -> int:
        return self.used

    def total_bytes(self) -> int:
        return self.total


class Device:
    """The one GPU."""

    def __init__(self, device: int = 0) -> None:
        if device != 0:
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.id = device

    def use(self) -> None:
        """Make it the current one, which it is."""

    def __enter__(self) -> None:
        """`with device:` makes it the current one for a while."""

    def __exit__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        waits["synchronize"] += 1


# ---- the array ------------------------------------------------------------------------------------------------------


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the device.  The rest of its methods and attributes, those that CuPy's array has, are set below."""

    __slots__ = ("__weakref__", "_array", "_base")
    __array_priority__ = 100
    __hash__ = None
    _pool = Pool()

    def __init__(self, array: np.ndarray, base: ndarray | None = None) -> None:
        self._array, self._base = array, base  # base: whose memory this is a view of
        self._pool.count(self, 1)
        if array.dtype.kind not in "biufc" or array.dtype.char in "gG":
            raise ValueError(f"Unsupported dtype {array.dtype}")

    def __del__(self) -> None:
        self._pool.count(self, -1)

    base = property(lambda self: self._base)
    device = property(lambda self: Device(0))
    data = property(lambda self: SimpleNamespace(ptr=self._array.ctypes.data if self.size else 0))

    @property
    def flags(self) -> SimpleNamespace:
        order = {name: getattr(self._array.flags, name) for name in ("c_contiguous", "f_contiguous")}
        return SimpleNamespace(**order, owndata=self._base is None)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        own = getattr(module(), function.__name__, None)
        return NotImplemented if own is None else getattr(own, method)(*inputs, **keywords)

    def __array_function__(self, function: Callable, types: Any, arguments: tuple, keywords: dict) -> Any:
        own: Any = module()
        for name in [*function.__module__.split(".")[1:], function.__name__]:
            own = getattr(own, name, None)
        return NotImplemented if own is None or own is function else own(*arguments, **keywords)

    def __getitem__(self, index: Any) -> ndarray:
        return _outside(self._array[_index(index, self.shape)], [self])

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, np.ndarray | list | tuple) and np.ndim(value):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        self._array[_index(index, self.shape)] = value._array if isinstance(value, ndarray) else value

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[ndarray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> ndarray:
        return self.copy()

    def get(self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        """A copy on the host."""
        waits["get"] += 1
        if out is None:
            return np.array(self._array, order=order)
        out[...] = self._array
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        copies["to_device"] += 1
        self._array[...] = arr

    def take(self, indices: Any, axis: int | None = None, out: ndarray | None = None) -> ndarray:
        return take(self, indices, axis, out)


def wrap(array: np.ndarray) -> ndarray:
    """The device array that has this memory, without a copy."""
    return ndarray(array)


def unwrap(array: ndarray) -> np.ndarray:
    """The memory of a device array, without a copy, and not counted."""
    return array._array


def _waiting(kind: str, convert: Callable[..., Any]) -> Callable[..., Any]:
    """A method that brings numbers to the host."""

    def method(self: ndarray, *arguments: Any) -> Any:
        result = convert(self._array, *arguments)
        waits[kind] += 1
        return result

    return method


_number = np.ndarray.item
for _kind, _convert in {
    "float": lambda array: float(_number(array)),
    "int": lambda array: int(_number(array)),
    "complex": lambda array: complex(_number(array)),
    "bool": bool,
    "format": format,
    "repr": repr,
    "str": str,
}.items():
    setattr(ndarray, f"__{_kind}__", _waiting(_kind, _convert))
ndarray.item = _waiting("item", lambda array: _number(array))
ndarray.tolist = _waiting("tolist", np.ndarray.tolist)


# ---- in and out: what NumPy sees of the arguments, and what the caller sees of the result ---------------------------


def _inside(value: Any, place: str) -> Any:
    """An argument as NumPy takes it, host arrays being refused."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}: cupy.{place} was given a host array")
    if isinstance(value, list | tuple):
        kinds = {isinstance(part, ndarray) for part in value}
        if len(kinds) > 1:
            raise TypeError(f"cupy.{place} was given a {type(value).__name__} of device arrays and other things")
        return type(value)(_inside(part, place) for part in value)
    return value


def _outside(result: Any, sources: list[ndarray]) -> Any:
    """A result of NumPy as CuPy would give it; sources are the device arrays that it was computed from."""
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if isinstance(result, np.ndarray):
        for source in sources:
            if result is source._array:  # as with out=
                return source
        owner = _owner(result)
        viewed = next((source for source in sources if _owner(source._array) is owner), None)
        return ndarray(result, viewed if viewed is None or viewed._base is None else viewed._base)
    if isinstance(result, list | tuple):
        parts = [_outside(part, sources) for part in result]
        return parts if isinstance(result, list) else tuple(parts)
    return result


def _owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory this is."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _device_arrays(values: Iterable[Any]) -> list[ndarray]:
    """Those among the values, and in lists and tuples among them."""
    found = []
    for value in values:
        if isinstance(value, ndarray):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _device_arrays(value)
    return found


def _run(function: Callable[..., Any], place: str, arguments: Iterable[Any], keywords: dict[str, Any]) -> Any:
    """Call NumPy, silently: a GPU does not warn of overflow, or of the mean of nothing."""
    sources = _device_arrays([*arguments, *keywords.values()])
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        result = function(
            *[_inside(value, place) for value in arguments],
            **{name: _inside(value, place) for name, value in keywords.items()},
        )
    return _outside(result, sources)


def _index(index: Any, shape: tuple[int, ...]) -> tuple:
    """An index for NumPy.  Integers out of bounds are refused, arrays of them wrap around, as in CuPy."""
    parts = [_index_part(part) for part in (index if isinstance(index, tuple) else (index,))]
    spans = [_axes_spanned(part) for part in parts]
    axis = 0
    for i, (part, span) in enumerate(zip(parts, spans, strict=True)):
        if part is Ellipsis:
            axis += len(shape) - sum(spans)
        elif isinstance(part, np.ndarray) and part.dtype.kind in "iu" and axis < len(shape) and shape[axis]:
            parts[i] = np.asarray(part % shape[axis])
        axis += span
    return tuple(parts)


def _index_part(part: Any) -> Any:
    """A part of an index for NumPy, with what it costs on a GPU counted."""
    if isinstance(part, slice):
        return slice(*(int(x) if isinstance(x, ndarray) else x for x in (part.start, part.stop, part.step)))
    if isinstance(part, list | np.ndarray):
        copies["index"] += 1  # CuPy does not complain
        part = np.asarray(part, dtype=None if np.size(part) else int)
    part = part._array if isinstance(part, ndarray) else part
    if isinstance(part, np.ndarray) and part.dtype == bool:
        waits["boolean mask"] += 1  # to know how many elements are meant, in assignments too
    return part


def _axes_spanned(part: Any) -> int:
    """How many axes of the array a part of an index is about."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1


# ---- functions ------------------------------------------------------------------------------------------------------


def _checked(function: Callable[..., Any], path: str, parameters: str) -> Callable[..., Any]:
    """NumPy's function with CuPy's parameters, and CuPy's waits counted."""
    signature = inspect.signature(eval(f"lambda {parameters}: None"))  # the record has them as Python writes them
    name = path.rpartition(".")[2]

    def checked(*arguments: Any, **keywords: Any) -> Any:
        try:
            given = signature.bind(*arguments, **keywords).arguments
        except TypeError as error:
            raise TypeError(f"cupy.{path}: {error}") from None
        for parameter, value in (given | keywords).items():
            if parameter in NUMBERS and _device_arrays([value]):
                raise TypeError(f"cupy.{path}: {parameter} cannot be a device array")
            if parameter == "condition" and not isinstance(value, ndarray):
                raise TypeError(f"cupy.{path}: {parameter} must be a device array, given {type(value)}")
        if name not in CREATING and not _device_arrays([*arguments, *keywords.values()]):
            raise TypeError(f"cupy.{path} was given no array on the device")
        size_unknown = (name == "where" and len(given) == 1) or (name == "repeat" and type(given["repeats"]) is not int)
        if name in NAMES["waiting"] or size_unknown:
            waits[name] += 1
        result = _run(function, path, arguments, keywords)
        return wrap(np.asarray(result)) if isinstance(result, bool) and name in ("allclose", "array_equal") else result

    checked.__name__ = name
    return checked


class ufunc:
    """A function that goes element by element, with those of its methods that CuPy has."""

    def __init__(self, function: Callable[..., Any], methods: str = "") -> None:
        self.function, self.methods, self.__name__ = function, methods.split(), function.__name__

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if wrong := keywords.keys() - {"out", "casting", "dtype"}:
            raise TypeError(f"Wrong arguments {sorted(wrong)}")
        for value in arguments:
            if not isinstance(value, ndarray | int | float | complex | np.generic | None):
                raise TypeError(f"Unsupported type {type(value)}")
        if isinstance(self.function, np.ufunc):
            keywords["order"] = "C"  # whatever the order of the inputs
        return _run(self.function, self.__name__, arguments, keywords)

    def _method(self, method: str, *arguments: Any, **keywords: Any) -> Any:
        place = f"{self.__name__}.{method}"
        if method not in self.methods:
            raise NotImplementedError(f"`cupy_{place}` is not supported yet")
        if wrong := keywords.keys() - {"axis", "dtype", "out", "keepdims"}:
            raise TypeError(f"cupy.{place} got unexpected keyword arguments {sorted(wrong)}")
        if method == "at":
            target, index, *values = arguments
            if target.dtype.name not in NAMES["at"][self.__name__].split():
                raise TypeError(f"cupy.{place} only supports {NAMES['at'][self.__name__]} as data type")
            index = _index(index, target.shape)
            return _run(lambda target, *values: self.function.at(target, index, *values), place, [target, *values], {})
        return _run(getattr(self.function, method), place, arguments, keywords)

    reduce = functools.partialmethod(_method, "reduce")
    accumulate = functools.partialmethod(_method, "accumulate")
    reduceat = functools.partialmethod(_method, "reduceat")
    at = functools.partialmethod(_method, "at")
    outer = functools.partialmethod(_method, "outer")


def array(obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", *, ndmin: int = 0) -> ndarray:
    """How arrays come to the device: from the host, from lists and from numbers."""
    sources = _device_arrays([obj])
    if sources:
        return _outside(np.array(_inside(obj, "array"), dtype, copy=copy or None, order=order, ndmin=ndmin), sources)
    memory = np.array(obj, dtype, order=order, ndmin=ndmin)
    copies["to_device"] += memory.ndim > 0  # a single number travels as an argument of a kernel
    return wrap(memory)


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None) -> ndarray:
    return array(a, dtype, bool(copy), order or "K")


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    return a.get(stream, order, out) if isinstance(a, ndarray) else np.asarray(a, order=order)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return _uninitialised(np.empty(shape, dtype, order))


def empty_like(prototype: ndarray, dtype: Any = None, order: str = "K", *, shape: Any = None) -> ndarray:
    return _uninitialised(np.empty_like(_inside(prototype, "empty_like"), dtype, order, shape=shape))


def _uninitialised(memory: np.ndarray) -> ndarray:
    if memory.dtype.kind in "fc":
        memory.fill(np.nan)  # so that whoever reads before writing is noticed
    return wrap(memory)


def take(a: ndarray, indices: Any, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    indices = _index_part(indices)
    return _run(lambda a, out: np.take(a, indices, axis, out, mode="wrap"), "take", [a, out], {})


def get_array_module(*arguments: Any) -> ModuleType:
    return module() if _device_arrays(arguments) else np


# ---- what is made from the record -----------------------------------------------------------------------------------


for _name, _parameters in NAMES["methods"].items():
    if hasattr(np.ndarray, _name) and not hasattr(ndarray, _name):
        setattr(ndarray, _name, _checked(getattr(np.ndarray, _name), _name, f"self, {_parameters}"))
for _name in NAMES["attributes"]:
    if hasattr(np.ndarray, _name) and not hasattr(ndarray, _name):
        setattr(ndarray, _name, property(lambda self, name=_name: _outside(getattr(self._array, name), [self])))


@functools.cache
def module() -> ModuleType:
    """The module `cupy`: what both CuPy and NumPy have, and what is written above."""
    cupy, linalg, lib, stride_tricks = (ModuleType(name) for name in ("cupy", "linalg", "lib", "stride_tricks"))
    cupy.linalg, cupy.lib, lib.stride_tricks = linalg, lib, stride_tricks
    for name in filter(vars(np).__contains__, NAMES["shared"]):  # another NumPy may lack some
        setattr(cupy, name, getattr(np, name))
    for name in filter(vars(np).__contains__, NAMES["ufuncs"]):
        setattr(cupy, name, ufunc(getattr(np, name), NAMES["ufuncs"][name]))
    for path, parameters in NAMES["functions"].items():
        where, _, name = path.rpartition(".")
        here, there = (operator.attrgetter(where)(root) if where else root for root in (cupy, np))
        if hasattr(there, name):
            setattr(here, name, _checked(getattr(there, name), path, parameters))
    for own in (array, asarray, asnumpy, empty, empty_like, take, get_array_module, ndarray, ufunc):
        setattr(cupy, own.__name__, own)
    cupy.__version__ = f"double of {NAMES['cupy']}"
    cupy.get_default_memory_pool = lambda: ndarray._pool
    cupy.cuda = SimpleNamespace(
        Device=Device,
        is_available=lambda: True,
        get_current_stream=Device,  # all that is asked of a stream is to synchronize
        runtime=SimpleNamespace(
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda number: {"name": b"a double", "major": 8, "minor": 0, "totalGlobalMem": 2**34},
            driverGetVersion=lambda: 12090,
            runtimeGetVersion=lambda: 12090,
        ),
    )
    cupy.__getattr__ = _missing
    return cupy


def _missing(name: str) -> Any:
    """Python asks this for what the module lacks."""
    known = any(name in NAMES[kind] for kind in ("own", "functions", "ufuncs"))
    raise AttributeError(f"module 'cupy' has no attribute {name!r}" + " in its double" * known)


@functools.cache
def _companions() -> dict[str, ModuleType]:
    """The modules beside cupy from which something is needed."""
    names = ["cupyx", "cupyx.scipy", "cupyx.scipy.special"]
    cupyx, scipy_, special = modules = [ModuleType(name) for name in names]
    cupyx.scipy, scipy_.special, cupyx.scatter_add = scipy_, special, module().add.at
    for name in ("gammaln", "digamma", "erf", "erfc"):
        setattr(special, name, ufunc(getattr(scipy.special, name)))
    return dict(zip(names, modules, strict=True))


def _by_reference(kernel: registry.Kernel, *arguments: Any) -> Any:
    """What a kernel would leave behind: its results, and those of its arguments changed that it works on in place."""
    with np.errstate(all="ignore"):
        result = kernel.reference(*[_inside(value, kernel.name) for value in arguments])
    result = _outside(result, _device_arrays(arguments))
    for old, new in zip(arguments[: kernel.in_place], result if isinstance(result, tuple) else (result,), strict=False):
        old[...] = new
    return result


@contextlib.contextmanager
def installed() -> Iterator[ModuleType]:
    """Inside `with installed():` the double is what `import cupy` finds; the counts begin at 0."""

    def without() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] in ("cupy", "cupyx")]
        return {name: sys.modules.pop(name) for name in names}

    before, run_kernel = without(), registry.run_kernel
    sys.modules.update({"cupy": module()} | _companions())
    registry.run_kernel = _by_reference
    import_cupy("cuda")  # which tries the device, once
    waits.clear()
    copies.clear()
    try:
        yield module()
    finally:
        registry.run_kernel = run_kernel
        without()
        sys.modules.update(before)
