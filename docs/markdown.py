"""What the tests, the site and the notebooks need to know of a page of Markdown: its fences, prose and headings."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ ]*$", flags=re.M | re.S)


@dataclass(frozen=True)
class Fence:
    info: str  # "python", "text", "python source minisets/blocks.py MAB.forward", ...
    body: str
    line: int  # of the opening ```


def fences(text: str) -> list[Fence]:
    return [
        Fence(m[2].strip(), textwrap.dedent(m[3]), text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)
    ]


def prose(text: str, code: bool = False) -> str:
    """The text without fences (and without `code`), with every line where it was."""
    text = FENCE.sub(lambda m: "\n" * m[0].count("\n"), text)
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return text if code else re.sub(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", text)


def anchors(text: str) -> set[str]:
    """GitHub's names for the headings of a page, and explicit ones: <a id="x"></a>."""
    found: dict[str, int] = {}
    result = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} (.+?)(?: #+)?$", prose(text, code=True), flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        result.add(slug if slug not in found else f"{slug}-{found[slug]}")
        found[slug] = found.get(slug, 0) + 1
    return result
