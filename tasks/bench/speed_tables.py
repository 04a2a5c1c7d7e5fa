"""The tables of docs/22-speed.md: python -m tasks.bench.speed_tables writes them into the page.

They are what `minisets bench` printed when it made the files of docs/results/bench: the same lines, from the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tasks.bench.tables import Row, ablation_line, growth, pytorch_line, trainers_line, with_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE, STORED = ROOT / "docs" / "22-speed.md", ROOT / "docs" / "results" / "bench"
LINES: dict[str, Callable[[Row | None], str]] = {
    "bench": pytorch_line,
    "growth": pytorch_line,
    "ablation": ablation_line,
    "trainers": trainers_line,
}


def tables() -> dict[str, str]:
    """name -> the table as a block of code; each name is that of a file."""
    found = {}
    for name, line in LINES.items():
        rows = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))["rows"]
        lines = [line(None), *map(line, rows), *(growth(rows) if name == "growth" else [])]
        found[name] = "\n".join(["```", *lines, "```"])
    return found


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
