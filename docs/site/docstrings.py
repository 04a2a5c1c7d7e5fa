"""Docstrings as HTML.  Text flows; equations, tables and drawings keep their lines and spaces."""

from __future__ import annotations

import inspect
import re
from html import escape


def paragraphs(docstring: str) -> list[tuple[bool, str]]:
    """(verbatim, text) for each paragraph: verbatim if it is indented, or if spaces align something in it."""
    found: list[tuple[bool, str]] = []
    for block in filter(None, re.split(r"\n\s*\n", inspect.cleandoc(docstring))):
        verbatim = bool(re.search(r"^(?:  |>>>)|\S {3,}\S", block, flags=re.M))
        if verbatim and found and found[-1][0]:
            found[-1] = (True, f"{found[-1][1]}\n\n{block}")
        else:
            found.append((verbatim, block))
    return found


def html(docstring: str | None) -> str:
    """A <div> without empty lines, so that Markdown passes it on as it is."""
    blocks = []
    for verbatim, text in paragraphs(docstring or ""):
        if verbatim:
            lines = "&#10;".join(escape(_unbroken(line)) or " " for line in _dedented(text))
            blocks.append(f"<pre>{lines}</pre>")
        else:
            words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(" ".join(text.split())))
            blocks.append(f"<p>{words}</p>")
    return f'<div class="docstring">{"".join(blocks)}</div>'


def _unbroken(line: str) -> str:
    """Equations side by side: a line that is too long for the page breaks between them, not inside a short one."""
    parts = re.split(r"(?<=\S)( {3,})(?=\S)", line)
    if len(parts) == 1 or line.startswith((" ", ">>>")) or "=" not in line:
        return line
    return "".join(part.replace(" ", "\xa0") if part.strip() and len(part) <= 42 else part for part in parts)


def _dedented(text: str) -> list[str]:
    lines = text.split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[margin:] for line in lines]
