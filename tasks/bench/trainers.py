"""What a trainer spends beside its training steps: on drawing data, on logging, on saving.

minisets bench --trainers       some steps of each trainer's paper preset, in a folder that is thrown away
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

from tasks.harness import machine
from tasks.harness.experiment import find_experiment
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder

TRAINERS = {"max_regression": ("SAB + PMA", 600), "clustering": ("ISAB (16) + PMA", 200)}  # label, steps
BESIDE = {"sample": "data", "rng_for": "data", "log": "logging", "append": "logging", "save": "saving"}


def trainers() -> list[dict[str, Any]]:
    """Print and return a row for each trainer."""
    print(f"{'trainer':16}{'network':>18}{'ms a step':>11}{'data':>8}{'logging':>9}{'saving':>8}{'together':>10}")
    machine.keep_memory()
    rows = []
    for name, (label, steps) in TRAINERS.items():
        row = measure(name, label, steps)
        shares = [row[part] for part in ("data", "logging", "saving")]
        cells = f"{shares[0]:8.1%}{shares[1]:9.1%}{shares[2]:8.1%}{sum(shares):10.1%}"
        print(f"{name:16}{label:>18}{row['ms']:11.2f}{cells}", flush=True)
        rows.append(row)
    return rows


def measure(name: str, label: str, steps: int) -> dict[str, Any]:
    """Milliseconds of a step, and which part of it is no training; evaluations are left out."""
    experiment, spent = find_experiment(name), dict.fromkeys(BESIDE.values(), 0.0)
    page = sys.modules[experiment.train.__module__]
    config = experiment.config(**experiment.presets["paper"] | {"arch": label, "steps": steps, "evaluate_every": 10**9})
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = RunFolder(Path(place), experiment)
        folder.begin("paper", config)
        run = Run(folder, config, name)
        for owner, names in ((page, ("sample", "rng_for")), (Run, ("log", "save")), (RunFolder, ("append",))):
            for function in names:
                stack.enter_context(timed(owner, function, spent))
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            experiment.train(config, run)
    return {"trainer": name, "label": label, "ms": run.seconds / steps * 1e3} | {
        part: seconds / run.seconds for part, seconds in spent.items()
    }


@contextlib.contextmanager
def timed(owner: Any, name: str, spent: dict[str, float]) -> Iterator[None]:
    """Inside, every call of the owner's function adds its seconds to what is spent."""
    function = getattr(owner, name)

    def watched(*arguments: Any, **keywords: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            spent[BESIDE[name]] += time.perf_counter() - start

    setattr(owner, name, watched)
    try:
        yield
    finally:
        setattr(owner, name, function)
