"""SVG pictures become part of the page, so that they follow its switch between light and dark.

The <style> of each picture is dropped, because the site has one for all (docs/pictures/style.py), and the ids in it get
a prefix, because a page may have several pictures.
"""

import re
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes


def inlined(svg: str, alt: str, prefix: str) -> str:
    """The content of an SVG file as a part of a page."""
    svg = re.sub(r"<style>.*?</style>\s*", "", svg[svg.index("<svg") :], count=1, flags=re.S)
    svg = re.sub(r"<title>.*?</title>\s*", "", svg, count=1, flags=re.S)  # as a tooltip it would only repeat the text
    svg = re.sub(r'\b(id|href|xlink:href)="(#?)([^"#:]+)"', rf'\1="\2{prefix}-\3"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = svg.replace("<svg ", f'<svg aria-label="{escape(alt, quote=True)}" ', 1)
    return f'<div class="picture">{svg}</div>'


def inline_pictures(app: Any, doctree: nodes.document, docname: str) -> None:
    for image in list(doctree.findall(nodes.image)):
        uri = image["uri"]
        if uri.endswith(".svg") and "://" not in uri:
            path = Path(app.srcdir) / uri
            prefix = "p" + sha256(uri.encode()).hexdigest()[:6]
            html = inlined(path.read_text(encoding="utf-8"), image.get("alt", ""), prefix)
            image.replace_self(nodes.raw("", html, format="html"))


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-resolved", inline_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
