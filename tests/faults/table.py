"""The table of faults: printed at the end of the tests, and by make test-faults written into docs/faults.md."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.outcomes import VERDICTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "faults.md"
FULL = os.environ.get("FAULTS") == "full"
PROPERTY = "verdicts"  # of a test: (kind, {verdict: count})


def collect(reporter: pytest.TerminalReporter) -> dict[str, Counter[str]]:
    """The verdicts of all tests that have run, by kind; they may come from several processes."""
    found: dict[str, Counter[str]] = {}
    for reports in reporter.stats.values():
        for report in (one for one in reports if getattr(one, "when", "") == "call"):
            for kind, counts in (value for name, value in getattr(report, "user_properties", []) if name == PROPERTY):
                found.setdefault(kind, Counter()).update(counts)
    return found


def markdown(rows: dict[str, Counter[str]]) -> str:
    total: Counter[str] = sum(rows.values(), Counter())
    lines = [f"| | tried | {' | '.join(VERDICTS)} |", "|---|" + "---:|" * (1 + len(VERDICTS))]
    for kind, counts in [*rows.items(), ("**all**", total)]:
        numbers = [counts.total(), *(counts[verdict] for verdict in VERDICTS)]
        lines.append(f"| {kind} | {' | '.join(f'{n:,}' for n in numbers)} |")
    return "\n".join(lines)


def report(reporter: pytest.TerminalReporter) -> None:
    """Print the table, if any of its tests have run; after a full draw of all kinds, write it into the page as well."""
    found = collect(reporter)
    if not found:
        return
    from tests.faults.kinds import KINDS

    rows = {kind: found[kind] for kind in KINDS if kind in found}
    reporter.write_line("")
    reporter.write_line(markdown(rows))
    if FULL and len(rows) == len(KINDS):
        text = PAGE.read_text(encoding="utf-8")
        begin, end = "<!-- table -->\n", "<!-- end of table -->"
        text = re.sub(f"{begin}.*{end}", lambda _: begin + markdown(rows) + "\n" + end, text, flags=re.DOTALL)
        PAGE.write_text(text, encoding="utf-8")
        reporter.write_line(f"written into {PAGE}")
