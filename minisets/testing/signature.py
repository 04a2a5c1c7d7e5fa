"""What a network says about itself: its parameter for a mask, and the width of its elements."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from autograd import Tensor
from minisets.nn import Module
from minisets.testing.violation import CannotCheck

WIDTHS = ("d_in", "in_features", "embed_dim", "input_size", "in_channels")
LENGTHS = ("lengths", "lens", "sizes", "set_sizes", "num_elements")
OTHER_MASKS = ("attn_mask", "src_mask")  # of PyTorch: which element may attend to which, not which are present


@dataclass(frozen=True)
class MaskParameter:
    """How f is told which elements are present; without a name, not at all."""

    name: str | None = None
    means: str = "present"  # what is passed: True for "present", True for "padding", or the "lengths" of the sets
    required: bool = False

    MEANINGS: ClassVar[dict[str, str]] = {
        "present": "True where an element is present",
        "padding": "True where there is none",
        "lengths": "the sizes of the sets",
    }

    def __str__(self) -> str:
        return f"{self.name}, {self.MEANINGS[self.means]}" if self.name else "none"

    @property
    def note(self) -> str:
        """What a reader of a counterexample has to know if f is not told the mask as it is shown."""
        if self.name is None or self.means == "present":
            return ""
        return f"the mask is shown as True where an element is present; f gets {self}"

    def value(self, mask: np.ndarray) -> np.ndarray:
        return {"present": mask.copy(), "padding": ~mask, "lengths": mask.sum(axis=1)}[self.means]


def mask_parameter(f: Any, means: str | None) -> MaskParameter:
    """The parameter of f for a mask, by its name."""
    if means is None:
        return MaskParameter()
    if means not in ("auto", "present", "padding", "lengths"):
        raise ValueError(f"mask must be 'auto', 'present', 'padding', 'lengths' or None, given {means!r}")
    try:
        parameters = inspect.signature(getattr(f, "forward", f)).parameters
    except (TypeError, ValueError):
        return MaskParameter()
    names = [name for name in parameters if "mask" in name and name not in OTHER_MASKS]
    names.sort(key=lambda name: "pad" not in name)  # of several, the one that is about padding
    names += [name for name in parameters if name in LENGTHS]
    required = [
        p.name for p in list(parameters.values())[1:] if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    name = next(iter(names + required), None)
    if name is None:
        if means != "auto":
            raise CannotCheck("mask was given, but the function has no parameter with 'mask' in its name")
        return MaskParameter()
    guess = "lengths" if name in LENGTHS else "padding" if "pad" in name else "present"
    return MaskParameter(name, guess if means == "auto" else means, parameters[name].default is inspect.Parameter.empty)


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
