"""The README's table of results: python -m tasks.reproduce.readme writes it, from the runs stored in docs/results.

Two rows of each experiment, of those trained on real data: a Set Transformer, and a baseline without attention between
elements.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from tasks.reproduce.rows import PROTOCOL, REDUCED, RowState, how_reduced, mean_and_spread, states

ROOT = Path(__file__).resolve().parents[2]
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results"
BLOCK = re.compile(r"(?<=<!-- results -->\n).*(?=<!-- end of results -->)", flags=re.S)


def table(found: list[RowState]) -> str:
    """Markdown; the first metric of each experiment, and what was changed beside the paper's protocol."""
    lines = ["| experiment | network | | ours | paper | protocol |", "|---|---|---|---|---|---|"]
    for _, group in itertools.groupby(found, key=lambda one: one.row.task):
        made = [one for one in group if one.state in (PROTOCOL, REDUCED)]
        lines += [_line(one) for one in _shown(made)]
    return "\n".join(lines) + "\n"


def _shown(made: list[RowState]) -> Iterator[RowState]:
    """Of the attention networks and of the baselines, the one nearest to the protocol; of equals, the paper's best."""
    for attention in (True, False):
        rows = [one for one in made if _is_attention(one) == attention]
        if attention or any(_is_attention(one) for one in made):
            yield from sorted(rows, key=_rank)[-1:]


def _is_attention(one: RowState) -> bool:
    return "SAB" in one.row.label and "PMA" in one.row.label


def _rank(one: RowState) -> tuple:
    mean, _ = mean_and_spread(next(iter((one.row.printed or {}).values())))
    sign = -1 if one.row.experiment.table.lower_is_better else 1
    baseline = one.row.label.startswith("rFF + Pooling")
    return one.state == PROTOCOL, baseline, (one.run or {}).get("steps") or 0, sign * mean


def _line(one: RowState) -> str:
    assert one.run
    metric, cell = next(iter((one.row.printed or {}).items()))
    changed = how_reduced(one.run).split("; ")
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    protocol = "the paper's" if one.state == PROTOCOL else f"reduced: {changed[0]}{more}"
    ours = f"{one.run['ours'][metric]['mean']:.4f}"
    title = one.row.experiment.title
    return f"| {title} | {one.row} | {metric} | {ours.replace('-', '−')} | {cell.replace('-', '−')} | {protocol} |"


def main() -> None:
    text = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda _: table(states([RESULTS])), text), encoding="utf-8")


if __name__ == "__main__":
    main()
