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
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import backend
from autograd.backend import Array


def arranger(function: Callable[..., Any]) -> Callable[[tuple, dict], tuple[tuple, dict]]:
    """A function that sorts the arguments of a call into inputs and settings, by the signature of a pure op.

    Callers may give every parameter by place or by name, and *xs as one list: softmax(x, 0) is softmax(x, axis=0),
    and concatenate(*xs, axis=0) is called as concatenate([x, y], axis=1).
    """
    parameters = list(inspect.signature(function).parameters.values())
    input_names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    parameter_names = [p.name for p in parameters]
    takes_a_list = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if takes_a_list and len(input_names) > 1:
        raise TypeError(f"{function.__name__}: an op of *xs takes no other inputs")
    for_callers = inspect.Signature([p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in parameters])

    def arrange(arguments: tuple, keywords: dict) -> tuple[tuple, dict]:
        k, names = len(input_names), parameter_names[: len(arguments)]
        if k <= len(arguments) == len(names) and keywords.keys().isdisjoint(names) and not takes_a_list:
            return arguments[:k], dict(zip(names[k:], arguments[k:], strict=True), **keywords)  # nearly every call
        bound = for_callers.bind(*arguments, **keywords)
        bound.apply_defaults()
        values = bound.arguments
        inputs = tuple(values.pop(name) for name in input_names)
        return tuple(inputs[0]) if takes_a_list else inputs, values

    return arrange


def common_array(name: str, arrays: list[Array]) -> Array | None:
    """The first floating array among the Tensors', which sets dtype and device; two that disagree are refused."""
    common = None
    for array in arrays:
        if array.dtype.kind != "f":
            continue
        if common is None:
            common = array
        elif array.dtype is common.dtype and type(array) is np.ndarray is type(common):
            continue  # nearly always
        elif array.dtype != common.dtype:
            raise TypeError(
                f"{name} of a {common.dtype} and a {array.dtype} Tensor: convert one of them with .astype, "
                "or give a plain array, which is converted by itself"
            )
        elif not backend.same_device(array, common):
            here, there = backend.device_of(common), backend.device_of(array)
            raise TypeError(f"{name} of a Tensor on {here} and one on {there}: move one of them with .to")
    return common


def as_input(value: Any, common: Array | None) -> Any:
    """What the table above says of an input."""
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
    if value.dtype is common.dtype and type(value) is np.ndarray is type(common):
        return value  # nearly always
    value = backend.beside(value, common)
    return value if value.dtype.kind == "b" else value.astype(common.dtype, copy=False)


def as_setting(value: Any, common: Array | None) -> Any:
    """What it says of a setting."""
    if isinstance(value, tuple):
        return tuple(as_setting(part, common) for part in value)
    if isinstance(value, np.generic):
        return value.item()
    if common is None or not backend.is_array(value):
        return value
    value = backend.beside(value, common)
    return value.astype(common.dtype, copy=False) if value.dtype.kind == "f" else value
