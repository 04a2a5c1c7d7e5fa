"""What a network says about itself: its parameter for a mask, and the width of its elements."""

from __future__ import annotations

import inspect
from typing import Any

from autograd import Tensor
from minisets.nn import Module
from minisets.testing.violation import CannotCheck

WIDTHS = ("d_in", "in_features", "embed_dim", "input_size", "in_channels")
OTHER_MASKS = ("attn_mask", "src_mask")  # of PyTorch: which element may attend to which, not which are present


def mask_parameter(f: Any, convention: str | None) -> tuple[str | None, bool, bool]:
    """The name of f's parameter for a mask, whether True means padding there, and whether it is required."""
    if convention is None:
        return None, False, False
    if convention not in ("auto", "present", "padding"):
        raise ValueError(f"mask must be 'auto', 'present', 'padding' or None, given {convention!r}")
    try:
        parameters = inspect.signature(getattr(f, "forward", f)).parameters
    except (TypeError, ValueError):
        return None, False, False
    names = [name for name in parameters if "mask" in name and name not in OTHER_MASKS]
    names.sort(key=lambda name: "pad" not in name)  # of several, the one that is about padding
    required = [
        p.name for p in list(parameters.values())[1:] if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    name = next(iter(names + required), None)
    if name is None and convention != "auto":
        raise CannotCheck("mask was given, but the function has no parameter with 'mask' in its name")
    padding = convention == "padding" or (convention == "auto" and name is not None and "pad" in name)
    return name, padding, name is not None and parameters[name].default is inspect.Parameter.empty


def element_width(f: Any) -> int | None:
    """The width of the elements that a network expects, if one of its layers says so."""
    for module in getattr(f, "modules", list)():
        for name in WIDTHS:
            if isinstance(getattr(module, name, None), int):
                return int(getattr(module, name))
        weight = getattr(module, "weight", None)
        if isinstance(module, Module) and isinstance(weight, Tensor) and weight.ndim == 2:
            return int(weight.shape[0])
    return None
