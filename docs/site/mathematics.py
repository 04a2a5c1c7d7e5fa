"""Formulas as MathML in the page, instead of TeX that a script converts in the reader's browser."""

from typing import Any

from docutils import nodes

from docs.site.mathml import mathml


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), display=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
