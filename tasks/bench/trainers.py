"""How much of a trainer's time goes into sampling data, logging and saving.

minisets bench --trainers       a few hundred steps of each trainer's paper preset, in a temporary folder
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.bench.tables import trainers_line
from tasks.harness import machine
from tasks.harness.experiment import find_experiment
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder

TRAINERS = {"max_regression": ("SAB + PMA", 600), "clustering": ("ISAB (16) + PMA", 200)}  # architecture, steps
OVERHEAD = {"sample": "data", "rng_for": "data", "log": "logging", "append": "logging", "save": "saving"}  # by function


def measure_trainers() -> list[dict[str, Any]]:
    """Print and return a row for each trainer."""
    print(trainers_line(None))
    machine.keep_memory()
    rows = []
    for name, (label, steps) in TRAINERS.items():
        rows.append(measure(name, label, steps))
        print(trainers_line(rows[-1]), flush=True)
    return rows


def measure(name: str, label: str, steps: int) -> dict[str, Any]:
    """Milliseconds per step, and the fractions spent on data, logging and saving.

    There is one small evaluation, at the last step; the tests after the training loop are not counted.
    """
    experiment = find_experiment(name)
    page = sys.modules[experiment.train.__module__]
    changes = {"arch": label, "steps": steps, "evaluate_every": 10**9, "validation_sets": 1, "test_sets": 1}
    config = experiment.config(**experiment.presets["paper"] | changes)
    spent = dict.fromkeys(OVERHEAD.values(), 0.0)
    with tempfile.TemporaryDirectory() as path, contextlib.ExitStack() as stack:
        folder = RunFolder(Path(path), experiment)
        folder.begin("paper", config)
        run = Run(folder, config, name)
        for owner, functions in ((page, ("sample", "rng_for")), (Run, ("log", "save")), (RunFolder, ("append",))):
            for function in functions:
                stack.enter_context(timed(owner, function, spent))
        null = stack.enter_context(open(os.devnull, "w"))
        with contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
            experiment.train(config, run)
    fractions = {part: seconds / run.seconds for part, seconds in spent.items()}
    return {"trainer": name, "label": label, "ms": run.seconds / steps * 1e3} | fractions


@contextlib.contextmanager
def timed(owner: Any, name: str, spent: dict[str, float]) -> Iterator[None]:
    """Within the block, every call of owner.name adds its seconds to `spent`."""
    function = getattr(owner, name)

    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            spent[OVERHEAD[name]] += time.perf_counter() - start

    setattr(owner, name, wrapper)
    try:
        yield
    finally:
        setattr(owner, name, function)
