"""Amortized clustering of large sets: 1,000 to 5,000 points from six Gaussians; the rest is tasks/clustering.py.

python -m tasks.clustering_large --preset quick
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from minisets.architectures import ROWS
from tasks import clustering
from tasks.harness.options import option


@dataclass(frozen=True, kw_only=True)
class Config(clustering.Config):
    arch: str = option("SAB (32) + PMA (6)", "architecture: a label of the paper's table, or all; may be repeated")
    k: int = option(6, "components of a mixture", paper=6, least=2)
    n_min: int = option(1_000, "points of the smallest set", paper=1_000, least=1)
    n_max: int = option(5_000, "points of the largest set", paper=5_000, least=1)

    TASK: ClassVar[str] = "clustering_large"


TITLE = "Amortized clustering of large 2D sets"
LABELS = ROWS["clustering_large"]
PRESETS = {
    "quick": {"steps": 1_000, "n_max": 1_500, "test_sets": 100, "em_restarts": 1, "evaluate_every": 100},
    "paper": {},
}
QUICK_LABELS = ("rFF + Pooling", "SAB (32) + PMA (6)")
COLUMNS, NOTES, FIGURES, train = clustering.COLUMNS, clustering.NOTES, clustering.FIGURES, clustering.train
REFERENCES, REFERENCE_OPTIONS = clustering.REFERENCES, clustering.REFERENCE_OPTIONS

if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "clustering_large", *sys.argv[1:]]))
