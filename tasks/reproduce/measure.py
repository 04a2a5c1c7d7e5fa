"""Measure what costs.json holds: a few steps of every kind of run in the plan, one after the other, on one core.

    python -m tasks.reproduce.measure        takes about a quarter of an hour

Counted are the seconds of a core, so other work on the machine does not matter much.
Steps are timed on the stand-ins, whose sets and images have the sizes of the real ones.  Where a batch has very many
elements, an eighth of it is measured, times eight.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from tasks.harness.machine import environment
from tasks.harness.options import SYNTHETIC, Settings
from tasks.harness.progress import report
from tasks.reproduce import costs
from tasks.reproduce.plan import planned
from tasks.sweep.grid import words_for
from tasks.sweep.worker import run_child

LARGEST, PART = 50_000, 8  # elements in a batch; what larger batches are divided by


def measure(task: str, config: Settings) -> dict[str, float]:
    """The seconds of a step, and the gigabytes that the process needed."""
    share = PART if config.batch * getattr(config, "points", getattr(config, "n_max", 1)) > LARGEST else 1
    config = dataclasses.replace(config, batch=config.batch // share)
    if hasattr(config, "data"):
        config = dataclasses.replace(config, data=SYNTHETIC)
    code, text = run_child(["rehearse", task, *words_for("paper", config)], threads=1, slot=0, seconds=None)
    if code:
        raise RuntimeError(f"{task}, {config}: {text}")
    _, seconds, gigabytes = map(float, text.split())
    return {"seconds": round(share * seconds, 6), "gigabytes": round(share * gigabytes, 3)}


def main() -> int:
    found: dict[str, Any] = {"yardstick": costs.time_yardstick(), **environment(), "kinds": {}}
    for plan in planned(Path("nowhere")):
        task = plan.folder.experiment.name
        key = costs.kind(task, plan.config)
        if key not in found["kinds"] and hasattr(plan.config, "batch"):
            found["kinds"][key] = measure(task, plan.config)
            report(f"{key}: {found['kinds'][key]}")
    costs.FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
