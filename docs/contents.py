"""The order of the book.  It is written once, in docs/index.md: everything else reads it from there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
LINK = re.compile(r"^(?:\d+\.|-) \[([^\]]+)\]\(([\w./-]+\.md)\)", flags=re.M)


@dataclass(frozen=True)
class Part:
    title: str
    pages: tuple[str, ...]  # "05-attention.md", ...


def parts(index: str | None = None) -> list[Part]:
    """The sections of docs/index.md that list pages, with their pages, in order."""
    text = (DOCS / "index.md").read_text(encoding="utf-8") if index is None else index
    found = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        title, _, body = section.partition("\n")
        pages = tuple(page for _, page in LINK.findall(body))
        if pages:
            found.append(Part(title.strip(), pages))
    return found


def pages() -> list[str]:
    """All pages in reading order."""
    return [page for part in parts() for page in part.pages]


def chapters() -> list[str]:
    """The numbered pages in reading order."""
    return [page for page in pages() if re.match(r"\d\d-", page)]


def title(page: str) -> str:
    """A page's title, as Markdown: its first heading, with the chapter's number."""
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            text = line[2:].strip()
            numbered = re.match(r"\d\d-", page) and not re.match(r"\d+\. ", text)
            return f"{int(page[:2])}. {text}" if numbered else text
    raise ValueError(f"docs/{page} has no title: begin it with a line '# Title'")


def neighbours(page: str) -> str:
    """The last line of a chapter: "Previous: [4. Title](04-name.md) · Next: [6. Title](06-name.md)"."""
    order = chapters()
    i = order.index(page)
    words = [("Previous", order[i - 1])] if i else []
    words += [("Next", order[i + 1])] if i + 1 < len(order) else []
    return " · ".join(f"{word}: [{title(other)}]({other})" for word, other in words)


def mend() -> list[str]:
    """Write the right last line into every chapter that ends with another; returns their names."""
    changed = []
    for page in chapters():
        path = DOCS / page
        body = path.read_text(encoding="utf-8").rstrip()
        before, _, last = body.rpartition("\n")
        if last.startswith(("Previous: [", "Next: [")):
            body = before.rstrip()
        text = f"{body}\n\n{neighbours(page)}\n"
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            changed.append(page)
    return changed


if __name__ == "__main__":
    print("\n".join(mend()))
