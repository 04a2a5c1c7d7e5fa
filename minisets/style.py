"""A style: the choices in which the paper, the authors' code and later work build the same block differently.

The equations of a MAB are common to all:

    H = X + Multihead(X, Y, Y),     MAB(X, Y) = H + rFF(H),     with normalisation somewhere

What differs is a short list, and a style is a record of it.  Blocks take `style="paper"` (or another name, or a Style)
and any single choice beside it: SAB(2, 128, 4, style="paper", norm="none", rng=rng).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

CHOICES = {
    "residual": ("input", "query"),
    "output": (True, False),
    "scale": ("width", "head"),
    "norm": ("post", "pre", "none"),
    "normalise": ("element", "set"),
    "bias": (True, False),
    "omega": ("softmax", "1+identity", "1+sigmoid", "1+relu"),
    "rff_before_pma": (False, True),
}


@dataclass(frozen=True)
class Style:
    """The defaults are the paper's."""

    residual: str = "input"  # what attention is added to: X (projected where d_x ≠ d), or the projected queries X W^Q
    output: bool = True  # the matrix W^O after the heads
    scale: str = "width"  # of the scores: 1/√d, or 1/√(d/h) of one head
    norm: str = "post"  # after each sum, before each branch, or none
    normalise: str = "element"  # LayerNorm over the features of each element, or set norm over the whole set
    bias: bool = True  # in the projections of attention
    omega: str = "softmax"  # how scores become weights; the others sum instead of averaging, see Multihead
    rff_before_pma: bool = False  # in the paper's equation of PMA, and omitted in all of its experiments; PMA's alone

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; given {value!r}")


STYLES = {
    "paper": Style(),
    "authors": Style(residual="query", output=False, norm="none"),  # their PyTorch code; ln=True is norm="post"
    "vaswani": Style(scale="head"),  # the scale of "Attention is all you need"
    "plusplus": Style(norm="pre", normalise="set"),  # Set Transformer++ (Zhang et al., 2022)
}


def resolve(style: str | Style, choices: dict[str, Any]) -> Style:
    """The named style with single choices replaced; ln=True or False is the authors' word for norm="post" or "none"."""
    if not isinstance(style, Style):
        if not isinstance(style, str) or style not in STYLES:
            raise ValueError(f"there is no style {style!r}; the styles are {', '.join(STYLES)}")
        style = STYLES[style]
    choices = dict(choices)
    if "ln" in choices:
        ln = choices.pop("ln")
        if "norm" in choices or not isinstance(ln, bool):
            raise ValueError(f"ln must be True or False, and not stand beside norm; given ln={ln!r}")
        choices["norm"] = "post" if ln else "none"
    unknown = choices.keys() - CHOICES.keys()
    if unknown:
        raise TypeError(f"unknown choice {sorted(unknown)[0]!r}; a style has {', '.join(CHOICES)}")
    return dataclasses.replace(style, **choices)
