"""A printable summary of a Module: its layers, in the paper's notation if they have one, and their parameters.

Encoder: 1,234 parameters
  first      Linear FC(16, –)           48
  blocks.0   SAB(16, 2)                593
  scale      (16,)                      16
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from autograd import Tensor
from minisets.nn.members import named_members

if TYPE_CHECKING:
    from minisets.nn.module import Module

SummaryRow = tuple[str, str, str, int]  # name, notation, output shape (a Tensor's own shape), number of parameters


def as_text(module: Module) -> str:
    """A line for the Module, and one for each part of it."""
    title = getattr(module, "label", None) or getattr(module, "notation", None) or type(module).__name__
    rows = list(module.summary_rows() if hasattr(module, "summary_rows") else _rows(module))
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1, 2)]
    lines = [f"{title}: {count_parameters(module):,} parameters"]
    for row in rows:
        columns = [f"{row[i]:{width}}" for i, width in enumerate(widths) if width]
        lines.append(f"  {'   '.join(columns)}   {f'{row[3]:,}' if row[3] else '':>10}".rstrip())
    return "\n".join(lines)


def as_html(module: Module) -> str:
    """The same text as HTML, for notebooks."""
    return f"<pre>{html.escape(as_text(module))}</pre>"


def count_parameters(module: Module) -> int:
    """The number of trainable parameters."""
    return sum(p.size for p in module.parameters())


def _rows(module: Module) -> Iterator[SummaryRow]:
    """A row for each Tensor and each Module inside; Modules without a notation are expanded."""
    collapsed = ["/"]  # prefixes of the names inside Modules that are not expanded
    for name, part in named_members(module):
        if part is module or name.startswith(tuple(collapsed)) or isinstance(part, np.random.Generator):
            continue
        if isinstance(part, Tensor):
            if part.node is None:  # a stored result is not part of the Module
                yield name, "", str(part.shape), part.size if part.requires_grad else 0
        elif hasattr(part, "notation"):
            collapsed.append(f"{name}.")
            yield name, part.notation, "", count_parameters(part)
        elif any(True for _ in part.named_tensors()):
            yield name, type(part).__name__, "", 0
