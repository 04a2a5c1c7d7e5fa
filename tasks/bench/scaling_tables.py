"""The tables of `minisets bench --scaling`: a line of text while it measures, and those of docs/24-scaling.md.

python -m tasks.bench.scaling_tables        writes the latter into the page, from docs/results/bench/scaling.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tasks.bench.cost_model import Network, Row, TwoProcesses, costs_of, fit_network, predicted
from tasks.bench.tables import with_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE, STORED = ROOT / "docs" / "24-scaling.md", ROOT / "docs" / "results" / "bench" / "scaling.json"
RANKS = (2, 16, 128, 1_024)


def scaling_line(row: Row | None, here: TwoProcesses) -> str:
    """What a step is made of, in milliseconds, and what was measured divided by what the model says."""
    if row is None:
        parts = "".join(f"{name:>9}" for name in ("fixed", "whole", "work", "packing", "exchange"))
        ends = f"{'T(1) ms':>10}{'/ model':>8}{'T(2) ms':>10}{'/ model':>8}{'2 threads':>11}"
        return f"{'experiment':18}{'batch':>6}{parts}{'busy':>6}{ends}"
    text = f"{row['name']:18}{row['batch']:6}"
    text += "".join(f"{1e3 * part:9.2f}" for part in _parts(row, here)) + f"{row['busy']:6.2f}"
    for P in (1, 2):
        seconds = row["measured"][str(P)]
        text += f"{1e3 * seconds:10.2f}{seconds / predicted(row, P, here):8.2f}"
    return f"{text}{1e3 * row['measured']['threads']:11.2f}"


def _parts(row: Row, here: TwoProcesses) -> tuple[float, ...]:
    costs, B = costs_of(row), row["batch"]
    return costs.fixed, costs.whole * B, costs.work * B, costs.packing, costs.exchange(2, here)


# ---- Markdown -------------------------------------------------------------------------------------------------------


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The tables of the page by name."""
    rows, here, cluster = stored["rows"], TwoProcesses(stored["sums"]), Network(**stored["cluster"])
    costs = "experiment|network|B|parameters|fixed|whole · B|work · B|packing|exchanges, P = 2"
    check = "experiment|busy|T(1) measured|model|ratio|T(2) measured|model|ratio|speedup|2 threads|speedup"
    paper = "experiment|B|P = 2|P = 16|P = 128|largest|at P|limit"
    pays = "|".join(["experiment", "the paper's B", *(f"P = {P:,}" for P in RANKS)])
    return {
        "costs": _markdown(costs, (_costs(row, here) for row in rows)),
        "check": _markdown(check, (_check(row, here) for row in rows)),
        "paper": _markdown(paper, (_at_paper(row, cluster) for row in rows)),
        "pays": _markdown(pays, (_pays(row, cluster) for row in rows)),
        "network": _network(stored["sums"]),
    }


def _costs(row: Row, here: TwoProcesses) -> Iterable[Any]:
    yield from (row["name"], row["network"], row["batch"], f"{row['parameters']:,}")
    yield from map(_ms, _parts(row, here))


def _check(row: Row, here: TwoProcesses) -> Iterable[Any]:
    measured = row["measured"]
    yield from (row["name"], f"{row['busy']:.2f}")
    for P in (1, 2):
        model = predicted(row, P, here)
        yield from (_ms(measured[str(P)]), _ms(model), f"{measured[str(P)] / model:.2f}")
    yield f"{measured['1'] / measured['2']:.2f}"
    yield from (_ms(measured["threads"]), f"{measured['1'] / measured['threads']:.2f}")


def _at_paper(row: Row, cluster: Network) -> Iterable[Any]:
    costs, B = costs_of(row), row["batch"]
    yield from (row["name"], B)
    for P in RANKS[:3]:
        yield f"{costs.speedup(P, B, cluster):.1f}" if P <= B else "–"
    best = max(range(1, B + 1), key=lambda P: costs.speedup(P, B, cluster))
    yield from (f"{costs.speedup(best, B, cluster):.1f}", best)
    yield f"{costs.most():,.0f}"


def _pays(row: Row, cluster: Network) -> Iterable[Any]:
    costs = costs_of(row)
    yield from (row["name"], row["batch"])
    for P in RANKS:
        batch = costs.batch_that_pays(P, cluster)
        yield "none" if batch is None else f"{batch:,}"


def _network(sums: list[tuple[int, float]]) -> str:
    fitted = fit_network(sums)
    rows = (
        (f"{n:,}", f"{1e6 * seconds:,.0f}", f"{1e6 * fitted.sum(2, n):,.0f}", f"{seconds / fitted.sum(2, n):.2f}")
        for n, seconds in sums
    )
    text = f"α = {fitted.latency * 1e6:.1f} µs, β = {fitted.bandwidth / 1e9:.2f} GB/s"
    return f"{text}:\n\n{_markdown('bytes|measured, µs|fitted, µs|ratio', rows)}"


def _markdown(header: str, rows: Iterable[Iterable[Any]]) -> str:
    """The names of the columns, separated by |, and a line for each row."""
    names = header.split("|")
    aligned = ["---" if name in ("experiment", "network") else "---:" for name in names]
    lines = [names, aligned, *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _ms(seconds: float) -> str:
    """Milliseconds with three digits."""
    ms = 1e3 * seconds
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(text, tables(json.loads(STORED.read_text()))), encoding="utf-8")
