"""How the arguments of a call become the arrays that a pure op computes with.

In short: constants take the dtype and device of the Tensors in the same call, so float32 stays float32.

    argument                            with a floating-point Tensor          without one
    a floating-point Tensor             its array                             –
    a number, or a NumPy scalar         a Python number, which does not       a 0-d array
                                        promote
    an array, list or tuple of numbers  an array of the Tensor's dtype,       an array, unchanged
                                        on its device
    an array of booleans                the same, on its device               unchanged
    None, a string                      unchanged                             unchanged

In settings (an axis, labels, an index) integers keep their dtype and lists stay lists.  If a call has no Tensors at
all, its plain floating-point arrays play their role.
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
        self.inputs = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self.settings = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
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
        bound = self.signature.bind(*arguments, **keywords)
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


def convert_arguments(
    name: str, inputs: Sequence[Any], arrays: Sequence[Any], settings: dict[str, Any], tensor: type[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The inputs' arrays and the settings, converted as in the table above; `tensor` is the type Tensor."""
    tensor_data = [x.data for x in inputs if isinstance(x, tensor)]
    common = _common_array(name, tensor_data or [x for x in arrays if backend.is_array(x)])
    arrays = [_as_input(x, common) for x in arrays]
    return arrays, {key: _as_setting(name, key, value, common, tensor) for key, value in settings.items()}


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


def _as_input(value: Any, common: Array | None) -> Any:
    """Convert an input as in the table."""
    if value is common or value is None:
        return value
    if isinstance(value, np.generic) and common is not None:  # before the next line: np.float64 is also a float
        value = value.item()
    if isinstance(value, int | float | np.generic):
        return value if common is not None else np.asarray(value)
    if isinstance(value, list | tuple | range):
        value = np.asarray(value)
    if not backend.is_array(value):
        return value
    if value.dtype.kind not in "biuf":
        raise TypeError(f"expected an array of real numbers, given one of dtype {value.dtype}")
    if common is None:
        return value
    value = backend.to_device_of(value, common)
    return value if value.dtype.kind == "b" else value.astype(common.dtype, copy=False)


def _as_setting(name: str, key: str, value: Any, common: Array | None, tensor: type[Any]) -> Any:
    """Convert a setting as in the table.  Settings receive no gradients, so a Tensor that requires one is an error."""
    if isinstance(value, tuple):
        return tuple(_as_setting(name, key, part, common, tensor) for part in value)
    if isinstance(value, tensor):
        if value.requires_grad:
            raise TypeError(
                f"{name}: {key} is a constant, so the given Tensor would receive no gradient; .detach() it first"
            )
        value = value.data
    if isinstance(value, np.generic):
        return value.item()
    if common is None or not backend.is_array(value):
        return value
    value = backend.to_device_of(value, common)
    return value.astype(common.dtype, copy=False) if value.dtype.kind == "f" else value
