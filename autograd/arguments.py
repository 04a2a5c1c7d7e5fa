"""How the arguments of a call become the arrays that a pure op computes with.

In short: constants take the dtype and device of the Tensors in the same call, so float32 stays float32; and integers
never enter a formula that is meant for floating-point numbers.

    argument                            with a floating-point Tensor          without one
    a floating-point Tensor             its array                             –
    a number, or a NumPy scalar         a Python number, which does not       a 0-d array, integers as float64
                                        promote
    an array, list or tuple of numbers  an array of the Tensor's dtype,       an array, integers as float64,
                                        on its device                         on the Tensors' device
    an array of booleans                the same                              the same
    None, a string                      unchanged                             unchanged

This holds for every op that declares nothing else.  Two declarations (registry.py) keep integers and booleans, unless
the call has a floating-point Tensor; even then, booleans stay booleans:

    @integer_arithmetic    + − × of integers are integers, computed in int64 (of uint64, which does not fit, in float64)
    @any_dtype             the op only selects, moves or counts elements, so nothing is converted

In settings (an axis, labels, a mask) integers and booleans keep their dtype and lists stay lists.  If a call has no
Tensors at all, its plain floating-point arrays play their role.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd import backend
from autograd.backend import Array

LIST_ANNOTATIONS = ("Sequence[Array]", Sequence[Array])  # of an input that is a list, as a string or evaluated


class _Annotation(str):
    """An annotation that help() shows without quotes."""

    def __repr__(self) -> str:
        return str(self)


class Parameters:
    """The parameters of a pure op: inputs, which are positional, and settings, which are keyword-only.

    Callers may pass any parameter by position or by name: softmax(x, 0) is softmax(x, axis=0).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        self.name, self.check = function.__name__, getattr(function, "check", None)
        self.integers = getattr(function, "integers", "float64")  # the dtype that they become; None: they are kept
        self.inputs = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self.settings = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self.optional = {p.name for p in parameters if p.default is None}
        self.strings = {p.name for p in parameters if p.annotation in ("str", str)}
        self.takes_list = any(p.annotation in LIST_ANNOTATIONS for p in parameters if p.name in self.inputs)
        self.positional = -1 if self.takes_list else len(self.inputs)  # arguments that are inputs, in order
        self.multiple = self.takes_list or len(self.inputs) > 1
        if self.takes_list and len(self.inputs) > 1:
            raise TypeError(f"{self.name}: an op that takes a list takes no other inputs")
        self.signature = inspect.Signature(
            [p.replace(kind=p.POSITIONAL_OR_KEYWORD, annotation=self._annotation(p)) for p in parameters],
            return_annotation=_Annotation("Tensor"),
        )

    def _annotation(self, p: inspect.Parameter) -> _Annotation:
        accepted = "Tensor | array | number" if p.name in self.inputs else "array"
        return _Annotation(str(p.annotation).replace("Array", accepted) if p.annotation is not p.empty else accepted)

    def bind(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The inputs and settings of any call, with omitted parameters at their defaults."""
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{self.name}({', '.join(self.signature.parameters)}): {error}") from None
        bound.apply_defaults()
        values = bound.arguments
        inputs = tuple(values.pop(name) for name in self.inputs)
        if self.takes_list:
            if not isinstance(inputs[0], list | tuple):
                raise TypeError(f"{self.name} takes a list of Tensors: {self.name}([x, y], axis=0)")
            inputs = tuple(inputs[0])
            if not inputs:
                raise ValueError(f"{self.name} needs at least one Tensor, given an empty list")
        return inputs, values

    def require(self, inputs: Sequence[Any]) -> None:
        """Raise an error for an input that is None or a string where the op needs an array, or the reverse."""
        names = self.inputs * len(inputs) if self.takes_list else self.inputs
        for name, x in zip(names, inputs, strict=True):
            if name in self.strings:
                expected = None if isinstance(x, str) else "a string"
            else:
                wrong = isinstance(x, str) or (x is None and name not in self.optional)
                expected = "a Tensor, an array or a number" if wrong else None
            if expected is not None:
                given = repr(x) if x is None or isinstance(x, str) else f"a {type(x).__name__}"
                raise TypeError(f"{self.name}: expected {expected} as {name}, given {given}")


def convert_arguments(
    name: str,
    inputs: Sequence[Any],
    arrays: Sequence[Any],
    settings: dict[str, Any],
    tensor: type[Any],
    parameters: Parameters | None = None,
) -> tuple[list[Any], dict[str, Any]]:
    """The inputs' arrays and the settings, converted as in the table above; `tensor` is the type Tensor."""
    integers, numbers = "float64", True
    if parameters is not None:
        parameters.require(inputs)
        integers, numbers = parameters.integers, parameters.check is None  # a check sees arrays, and no numbers
    leading = [x.data for x in inputs if isinstance(x, tensor)] or [x for x in arrays if backend.is_array(x)]
    common = _common_array(name, leading)
    place = common if common is not None or not leading else leading[0]  # all arrays move to its device
    arrays = [_as_input(name, x, common, place, integers, numbers) for x in arrays]
    return arrays, {key: _as_setting(name, key, value, common, place, tensor) for key, value in settings.items()}


def _common_array(name: str, arrays: Sequence[Array]) -> Array | None:
    """The first floating-point array, which determines dtype and device; any others must agree with it."""
    common = None
    for array in arrays:
        if array.dtype.kind != "f":
            continue
        if common is None:
            common = array
        elif array.dtype != common.dtype:
            raise TypeError(
                f"{name} of a {common.dtype} and a {array.dtype} Tensor: convert one of them with .astype, "
                "or pass a plain array, which is converted automatically"
            )
        elif not backend.same_device(array, common):
            here, there = backend.device_of(common), backend.device_of(array)
            raise TypeError(f"{name} of a Tensor on {here} and one on {there}: move one of them with .to")
    return common


def _as_input(
    name: str, value: Any, common: Array | None, place: Array | None, integers: str | None, numbers: bool
) -> Any:
    """Convert an input as in the table."""
    if value is None or isinstance(value, str) or (value is common and type(value) is np.ndarray):
        return value
    if isinstance(value, np.generic) and common is not None:  # before the next line: np.float64 is also a float
        value = value.item()
    if isinstance(value, int | float) and common is not None and numbers:
        return value
    value = plain_array(name, value)
    if value.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected an array of real numbers, given one of dtype {value.dtype}")
    if place is not None:
        value = backend.to_device_of(value, place)
    if common is not None:
        kept = value.dtype.kind == "b" and integers != "float64"
        return value if kept else value.astype(common.dtype, copy=False)
    if integers is None or value.dtype.kind == "f":
        return value
    return value.astype(np.promote_types(value.dtype, integers), copy=False)


def explained(
    error: Exception, name: str, inputs: Sequence[Any], arrays: Sequence[Any], parameters: Parameters | None
) -> Exception:
    """An error that occurred in an op, of the same kind, with the op's name and the shapes of its inputs."""
    if parameters is not None:
        parameters.require(inputs)  # the more likely cause
    kind = next(kind for kind in (AttributeError, TypeError, ValueError) if isinstance(error, kind))
    shapes = ", ".join(str(x.shape) for x in arrays if hasattr(x, "shape"))
    return kind(f"{name} of {shapes}: {error}")


def plain_array(name: str, value: Any) -> Array:
    """A value as an array, if it is not one.  A subclass of NumPy's, such as np.matrix, could redefine what * means."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array would lose its mask; pass x.data, and ~x.mask to ops that take a mask")
    try:
        return value if backend.on_gpu(value) else np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: expected an array, given a {type(value).__name__} of uneven parts") from None


def _as_setting(name: str, key: str, value: Any, common: Array | None, place: Array | None, tensor: type[Any]) -> Any:
    """Convert a setting as in the table.  Settings receive no gradients, so a Tensor that requires one is an error."""
    if isinstance(value, tuple):
        return tuple(_as_setting(name, key, part, common, place, tensor) for part in value)
    if isinstance(value, tensor):
        if value.requires_grad:
            raise TypeError(
                f"{name}: {key} is a constant, so the given Tensor would receive no gradient; .detach() it first"
            )
        value = value.data
    if isinstance(value, np.generic):
        return value.item()
    if not backend.is_array(value):
        return value
    value = plain_array(name, value)
    if place is not None:
        value = backend.to_device_of(value, place)
    return value.astype(common.dtype, copy=False) if common is not None and value.dtype.kind == "f" else value
