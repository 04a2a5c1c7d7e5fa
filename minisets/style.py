"""Styles: the choices on which the paper, the authors' code and later work differ when they build the same block.

All share the equations of a MAB:

    H = X + Multihead(X, Y, Y),     MAB(X, Y) = H + rFF(H),     with normalization somewhere

A Style lists the choices on which they differ.  Blocks take `style="paper"` (or another name, or a Style), and keyword
arguments override single choices: SAB(2, 128, 4, style="paper", norm_position="none", rng=rng).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

CHOICES = {
    "residual": ("input", "query"),
    "output": (True, False),
    "scale": ("width", "head"),
    "norm_position": ("post", "pre", "none"),
    "norm_kind": ("layer", "set"),
    "bias": (True, False),
    "omega": ("softmax", "1+identity", "1+sigmoid", "1+relu"),
    "rff_before_pma": (False, True),
    "norm_in_pma": (True, False),
}


@dataclass(frozen=True)
class Style:
    """A choice for each point of difference; the defaults are the paper's."""

    residual: str = "input"  # the skip connection: X (projected if d_x ≠ d), or the projected queries X W^Q
    output: bool = True  # whether the matrix W^O follows the heads
    scale: str = "width"  # scores are scaled by 1/√d, or by 1/√(d/h), from the width of one head
    norm_position: str = "post"  # normalize after each sum, before each branch, or nowhere
    norm_kind: str = "layer"  # LayerNorm over each element's features, or SetNorm over the whole set
    bias: bool = True  # whether the projections of attention have biases
    omega: str = "softmax"  # turns scores into weights; all but softmax sum instead of averaging, see Multihead
    rff_before_pma: bool = False  # the paper's equation for PMA has an rFF, its experiments do not; used by PMA only
    norm_in_pma: bool = True  # whether PMA normalizes where the other blocks do; used by PMA only

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; given {value!r}")


STYLES = {
    "paper": Style(),
    "authors": Style(residual="query", output=False, norm_position="none"),  # their PyTorch code; for ln see resolve
    "vaswani": Style(scale="head"),  # scaled as in "Attention Is All You Need"
    "plusplus": Style(  # the code of Set Transformer++ (Zhang et al., 2022)
        output=False, norm_position="pre", norm_kind="set", norm_in_pma=False
    ),
}


def resolve(style: str | Style, choices: dict[str, Any]) -> Style:
    """The style with single choices overridden; the authors' ln=True or False is norm_position="post" or "none"."""
    if not isinstance(style, Style):
        if not isinstance(style, str) or style not in STYLES:
            raise ValueError(f"there is no style {style!r}; the styles are {', '.join(STYLES)}")
        style = STYLES[style]
    choices = dict(choices)
    if "ln" in choices:
        ln = choices.pop("ln")
        if "norm_position" in choices or not isinstance(ln, bool):
            raise ValueError(f"ln must be True or False and cannot be combined with norm_position; given ln={ln!r}")
        choices["norm_position"] = "post" if ln else "none"
    unknown = choices.keys() - CHOICES.keys()
    if unknown:
        raise TypeError(f"unknown choice {sorted(unknown)[0]!r}; a style has {', '.join(CHOICES)}")
    return dataclasses.replace(style, **choices)
