"""How the arguments of a call become the arrays that a pure op computes with.

In one sentence: constants take the dtype and the device of the Tensors beside them, so float32 stays float32.

    given to an op                      beside a floating Tensor              with no floating Tensor in sight
    a Tensor of floating point          its array                             –
    a number, also NumPy's scalars      a Python number, which promotes       a 0-d array
                                        nothing
    an array, list or tuple of numbers  an array of the Tensor's dtype,       an array as it is
                                        on its device
    an array of booleans                the same, on its device               an array as it is
    None, a string                      as it is                              as it is

As a setting (an axis, labels, an index) integers keep their dtype and lists stay lists.  Where no Tensor is given at
all, plain floating arrays stand in for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd import backend
from autograd.backend import Array

A_LIST = ("Sequence[Array]", Sequence[Array])  # the annotation of an input that is a list, as text or evaluated


class _Words(str):
    """An annotation that help() shows as these words."""

    def __repr__(self) -> str:
        return str(self)


class Parameters:
    """The parameters of a pure op: inputs, which are positional, and settings, which are keyword-only.

    Callers may give every parameter by place or by name: softmax(x, 0) is softmax(x, axis=0).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        self.name, self.check = function.__name__, getattr(function, "check", None)
        self.inputs = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self.settings = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self.takes_a_list = any(p.annotation in A_LIST for p in parameters if p.name in self.inputs)
        self.by_place = -1 if self.takes_a_list else len(self.inputs)  # how many arguments are the inputs, in order
        self.several = self.takes_a_list or len(self.inputs) > 1
        if self.takes_a_list and len(self.inputs) > 1:
            raise TypeError(f"{self.name}: an op of a list takes no other inputs")
        self.for_callers = inspect.Signature(
            [p.replace(kind=p.POSITIONAL_OR_KEYWORD, annotation=self._for_help(p)) for p in parameters],
            return_annotation=_Words("Tensor"),
        )

    def _for_help(self, p: inspect.Parameter) -> _Words:
        accepted = "Tensor | array | number" if p.name in self.inputs else "array"
        return _Words(str(p.annotation).replace("Array", accepted) if p.annotation is not p.empty else accepted)

    def sorted(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The inputs and the settings of any other call, with what was left out at its default."""
        bound = self.for_callers.bind(*arguments, **keywords)
        bound.apply_defaults()
        values = bound.arguments
        inputs = tuple(values.pop(name) for name in self.inputs)
        if self.takes_a_list:
            if not isinstance(inputs[0], list | tuple):
                raise TypeError(f"{self.name} takes a list of Tensors: {self.name}([x, y], axis=0)")
            inputs = tuple(inputs[0])
            if not inputs:
                raise ValueError(f"{self.name} needs at least one Tensor, given an empty list")
        return inputs, values


def converted(
    name: str, inputs: Sequence[Any], arrays: Sequence[Any], settings: dict[str, Any], tensor: type[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arrays of the inputs, and the settings, as the table above says; `tensor` is the type Tensor."""
    of_tensors = [x.data for x in inputs if isinstance(x, tensor)]
    common = _common_array(name, of_tensors or [x for x in arrays if backend.is_array(x)])
    arrays = [_as_input(x, common) for x in arrays]
    return arrays, {key: _as_setting(name, key, value, common, tensor) for key, value in settings.items()}


def _common_array(name: str, arrays: Sequence[Array]) -> Array | None:
    """The first floating array among the Tensors', which sets dtype and device; two that disagree are refused."""
    common = None
    for array in arrays:
        if array.dtype.kind != "f":
            continue
        if common is None:
            common = array
        elif array.dtype != common.dtype:
            raise TypeError(
                f"{name} of a {common.dtype} and a {array.dtype} Tensor: convert one of them with .astype, "
                "or give a plain array, which is converted by itself"
            )
        elif not backend.same_device(array, common):
            here, there = backend.device_of(common), backend.device_of(array)
            raise TypeError(f"{name} of a Tensor on {here} and one on {there}: move one of them with .to")
    return common


def _as_input(value: Any, common: Array | None) -> Any:
    """What the table says of an input."""
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
        raise TypeError(f"an array of real numbers was expected, given one of dtype {value.dtype}")
    if common is None:
        return value
    value = backend.beside(value, common)
    return value if value.dtype.kind == "b" else value.astype(common.dtype, copy=False)


def _as_setting(name: str, key: str, value: Any, common: Array | None, tensor: type[Any]) -> Any:
    """What it says of a setting.  A Tensor that wants a gradient would never get it."""
    if isinstance(value, tuple):
        return tuple(_as_setting(name, key, part, common, tensor) for part in value)
    if isinstance(value, tensor):
        if value.requires_grad:
            raise TypeError(
                f"{name}: {key} is a constant, so no gradient would reach the Tensor given; .detach() it first"
            )
        value = value.data
    if isinstance(value, np.generic):
        return value.item()
    if common is None or not backend.is_array(value):
        return value
    value = backend.beside(value, common)
    return value.astype(common.dtype, copy=False) if value.dtype.kind == "f" else value
