"""Amortized clustering of large sets: 1,000 to 5,000 points from six Gaussians; the rest is tasks/clustering.py.

python -m tasks.clustering_large --preset quick
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import ClassVar

from minisets.labels import ROWS
from tasks import clustering
from tasks.harness import paper
from tasks.harness.options import option


@dataclass(frozen=True, kw_only=True)
class Config(clustering.Config):
    arch: str = option("SAB (32) + PMA (6)")
    k: int = option(paper=6)
    n_min: int = option(paper=1_000)
    n_max: int = option(paper=5_000)

    TASK: ClassVar[str] = "clustering_large"


EXPERIMENT = replace(
    clustering.EXPERIMENT,
    name="clustering_large",
    title="Amortized clustering of large 2D sets",
    description=__doc__,
    config=Config,
    presets={
        "quick": {"steps": 1_000, "n_max": 1_500, "test_sets": 100, "em_restarts": 1, "evaluate_every": 100},
        "paper": {},
    },
    rows=ROWS["clustering_large"],
    quick_rows=("rFF + Pooling", "SAB (32) + PMA (6)"),
    table=replace(clustering.EXPERIMENT.table, printed=paper.TABLES["clustering_large"]),
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "clustering_large", *sys.argv[1:]]))
