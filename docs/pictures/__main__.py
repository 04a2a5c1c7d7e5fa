"""Draw the pictures of the book: python -m docs.pictures [NAME ...] [--check]

A picture is a function with the decorator @picture in a file of this folder.  --check writes nothing, and says which
files differ from what would be drawn.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.pictures.drawing import PICTURES

FOLDER = Path(__file__).parent


def find() -> dict[str, Callable[[], Any]]:
    """name -> function, for all pictures in all files of this folder."""
    for path in sorted(FOLDER.glob("*.py")):
        if not path.stem.startswith("__"):
            importlib.import_module(f"docs.pictures.{path.stem}")
    return PICTURES


def is_stale(path: Path, svg: str) -> bool:
    """Whether a file shows something else than svg.

    Numbers may differ by half a pixel, and embedded images in every bit: another version of Matplotlib or of a
    compression library writes the same picture a little differently.
    """
    return not path.exists() or not _same(_parts(path.read_text(encoding="utf-8")), _parts(svg))


def _parts(svg: str) -> list[str]:
    """Numbers and what is between them, without embedded images and generated names."""
    svg = re.sub(r'"data:image/[^"]*"|\b(id|href)="[^"]*"|url\(#[^)]*\)|#[0-9a-zA-Z_-]+', "", svg)
    return re.split(r"(-?\d+\.?\d*(?:e-?\d+)?)", svg)


def _same(old: list[str], new: list[str]) -> bool:
    return len(old) == len(new) and all(
        a == b or (i % 2 == 1 and abs(float(a) - float(b)) <= 0.5)
        for i, (a, b) in enumerate(zip(old, new, strict=True))
    )


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.pictures", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="pictures to draw; all, if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing; say which files are not up to date")
    options = parser.parse_args(words)
    pictures = find()
    unknown = [name for name in options.names if name not in pictures]
    if unknown:
        print(f"there is no picture {unknown[0]!r}; the pictures are {', '.join(sorted(pictures))}", file=sys.stderr)
        return 2
    chosen = options.names or sorted(pictures)
    wrong = []
    for name in chosen:
        path, svg = FOLDER / f"{name}.svg", pictures[name]().svg()
        if options.check:
            wrong += [f"docs/pictures/{path.name} is not up to date"] if is_stale(path, svg) else []
        else:
            path.write_text(svg, encoding="utf-8")
            print(f"docs/pictures/{path.name}")
    if not options.names:
        wrong += [
            f"docs/pictures/{path.name} has no function that draws it"
            for path in sorted(FOLDER.glob("*.svg"))
            if path.stem not in pictures
        ]
    if wrong:
        print("\n".join(wrong) + "\nrun python -m docs.pictures", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
