"""What to run, most valuable first: parts of the paper's tables, as far as a machine without a GPU can carry them.

Two parts deviate from the protocol on purpose: they say by their name how.  After the chosen parts come all rows at the
paper's protocol that are still missing, those of the shortest runs first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.harness.experiment import find_experiment
from tasks.harness.options import Settings
from tasks.harness.planning import PlannedRun, configurations, run_name
from tasks.harness.run_folder import RunFolder
from tasks.reproduce.rows import paper_rows


@dataclass(frozen=True)
class Part:
    """Some rows of a table with the same options, in the folder OUT/TASK/NAME."""

    task: str
    name: str
    rows: tuple[str, ...] = ("all",)
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1


# Short runs need a higher learning rate than the paper's, which has to end low: warm up, then fall along a line.
_COUNTING = {"data": "omniglot", "steps": 10_000, "lr": 1e-3, "anneal": True, "warmup": 500, "evaluate_every": 500}
_POINTS = {"data": "modelnet40", "style": "authors", "steps": 10_000, "drop_every": 3_500, "evaluate_every": 500}
_AUTHORS_ROWS = ("rFF + Pooling", "rFF + PMA", "ISAB (16) + Pooling", "ISAB (16) + PMA")
_IMAGES = {"data": "cifar100", "steps": 5_000, "lr": 5e-4, "anneal": True, "warmup": 250, "evaluate_every": 500}

CHOSEN = (
    Part("clustering", "paper", ("rFF + Pooling", "rFF + PMA", "ISAB (16) + PMA", "all")),
    Part("max_regression", "anneal", options={"anneal": True}, seeds=5),
    Part("unique_characters", "omniglot", ("SAB + PMA (1)", "rFF + Pooling", "rFF + PMA", "all"), _COUNTING),
    Part("unique_characters", "omniglot", tuple(f"ISAB ({m}) + PMA" for m in (1, 2, 4, 8, 16)), _COUNTING),
    Part("point_cloud", "modelnet40-100", _AUTHORS_ROWS, _POINTS),
    Part("vgg", "cifar100", (), {"data": "cifar100", "depth": 11, "width": 24, "steps": 24_000}),
    Part("image_clustering", "cifar100", ("rFF + Pooling", "rFF + PMA", "SAB + PMA", "ISAB (16) + PMA"), _IMAGES),
    Part("set_anomaly", "paper", ("rFF + Pooling", "SAB + PMA", "all"), {"data": "celeba"}),
    Part("clustering", "paper", ("rFF + Pooling", "ISAB (16) + PMA", "rFF + PMA"), seeds=3),
    Part("unique_characters", "omniglot-60000", ("SAB + PMA (1)", "rFF + Pooling"), _COUNTING | {"steps": 60_000}),
    Part("clustering_large", "10000", ("rFF + PMA (6)", "SAB (32) + PMA (6)"), {"steps": 10_000}),
    Part("point_cloud", "modelnet40-1000", _AUTHORS_ROWS, _POINTS | {"points": 1_000, "batch": 16}),
)


def parts() -> Iterator[Part]:
    """The chosen parts, then every row at the paper's protocol."""
    yield from CHOSEN
    for row in paper_rows():
        Config = row.experiment.config
        data = {"data": Config().real} if hasattr(Config, "real") else {}
        by = {} if row.value is None else {row.experiment.table.by: row.value}
        yield Part(row.task, "paper" if row.value is None else f"paper-{row.value}", (row.label,), data | by)


def planned(out: Path) -> Iterator[PlannedRun]:
    """All runs in their order, each once, with their folders below `out`."""
    seen: set[tuple[str, Settings]] = set()
    for part in parts():
        experiment = find_experiment(part.task)
        archs = {"arch": list(part.rows)} if part.rows else {}
        for config in configurations(experiment, "paper", {**part.options, **archs}, part.seeds):
            path = out / part.task / part.name / run_name(experiment, config)
            if (part.task, config) not in seen:
                seen.add((part.task, config))
                yield PlannedRun(RunFolder(path, experiment), "paper", config)


def same_run(one: Settings, other: Settings) -> bool:
    """Whether two runs differ in nothing that changes their results."""
    return _essence(one) == _essence(other)


def _essence(config: Settings) -> tuple:
    """The options without bookkeeping, but with the architecture, the seed and what a table has rows for."""
    kept = ("arch", "seed", "points")
    return tuple(
        getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name in kept or not (field.metadata["bookkeeping"] or field.name == "device")
    )
