"""The tables that `minisets bench` prints: each function formats a row, or the header if there is no row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks.bench.worker import ABLATIONS

Row = dict[str, Any]


def pytorch_line(row: Row | None) -> str:
    """Our step, its matrix products alone, and PyTorch's two versions."""
    if row is None:
        return (
            f"{'network':16}{'n':>7}{'ours ms':>10}{'products':>10}{'eager':>10}{'sdpa':>10}{'ratio':>7}"
            f"{'sets/s':>10}{'MiB':>8}{'torch MiB':>11}"
        )
    eager, sdpa = row.get("torch eager"), row.get("torch sdpa")
    cells = [
        f"{row['name']:16}{row['n']:7,}{row['ours']['ms']:10.2f}{row['products']['ms']:10.2f}",
        *(f"{torch['ms']:10.2f}" if torch else f"{'–':>10}" for torch in (eager, sdpa)),
        f"{row['ratio']:7.2f}" if row["ratio"] else f"{'–':>7}",
        f"{row['sets_per_second']:10,.0f}{row['ours']['step_mib']:8.0f}",
        f"{min(eager['step_mib'], sdpa['step_mib']):11.0f}" if eager else f"{'–':>11}",
    ]
    return "".join(cells)


def checkout_line(row: Row | None) -> str:
    """Our step, that of another checkout, and the ratio of their times."""
    if row is None:
        return f"{'network':16}{'n':>7}{'ours ms':>10}{'other ms':>10}{'ratio':>7}{'MiB':>8}{'other MiB':>11}"
    ours, other = row["ours"], row["other"]
    return (
        f"{row['name']:16}{row['n']:7,}{ours['ms']:10.2f}{other['ms']:10.2f}{row['against']:7.2f}"
        f"{ours['step_mib']:8.0f}{other['step_mib']:11.0f}"
    )


def ablation_line(row: Row | None) -> str:
    """Our step, and by what factor it is slower without each optimization."""
    if row is None:
        return f"{'network':16}{'n':>7}{'ours ms':>10}" + "".join(f"{kind:>19}" for kind in ABLATIONS)
    ours = row["ours"]["ms"]
    factors = "".join(f"{row[kind]['ms'] / ours:18.2f}×" for kind in ABLATIONS)
    return f"{row['name']:16}{row['n']:7,}{ours:10.2f}{factors}"


def trainers_line(row: Row | None) -> str:
    """What a trainer spends besides its steps."""
    if row is None:
        return f"{'trainer':16}{'network':>18}{'ms/step':>11}{'data':>8}{'logging':>9}{'saving':>8}{'total':>10}"
    shares = [row[part] for part in ("data", "logging", "saving")]
    cells = f"{shares[0]:8.1%}{shares[1]:9.1%}{shares[2]:8.1%}{sum(shares):10.1%}"
    return f"{row['trainer']:16}{row['label']:>18}{row['ms']:11.2f}{cells}"


def growth(rows: list[Row]) -> list[str]:
    """How our time and memory grow with n, for networks measured at three sizes or more."""
    lines = []
    for name in dict.fromkeys(row["name"] for row in rows):
        sizes = [row for row in rows if row["name"] == name]
        if len(sizes) > 2:
            n = np.log([row["n"] for row in sizes])
            for quantity, key in (("time", "ms"), ("memory", "step_mib")):
                slope = np.polyfit(n, np.log([max(row["ours"][key], 1e-3) for row in sizes]), 1)[0]
                lines.append(f"{name}: {quantity} grows as n^{slope:.2f}")
    return lines


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """A page with all its tables replaced: <!-- table NAME --> ... <!-- end of table -->"""
    for name, table in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end of table -->"
        page = re.sub(f"{begin}.*?{end}", lambda _, text=f"{begin}{table}\n{end}": text, page, flags=re.DOTALL)
    return page
