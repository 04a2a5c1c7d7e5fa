"""The experiments, by name: each a module of the same few parts."""

from __future__ import annotations

import difflib
import importlib
from types import ModuleType

from tasks.harness.options import UsageError

# A task's module has Config (a frozen dataclass of options), PRESETS, train(config, run) -> metrics, TITLE, LABELS (the
# rows of the paper's table), QUICK_LABELS (those that preset quick trains), COLUMNS and REFERENCES (metrics and their
# headings), REFERENCE_OPTIONS (what the references depend on), NOTES for below its table, and FIGURES (functions of a
# list of runs, None where they do not apply).  Where the paper's columns are values of an option, TABLE_BY names it.
TASKS = (
    "max_regression",
    "clustering",
    "clustering_large",
    "unique_characters",
    "vgg",
    "image_clustering",
    "set_anomaly",
    "point_cloud",
    "runtime",
)


def task_name(text: str) -> str:
    """The name of a task, however it is written, or a sentence with the nearest one."""
    plain = text.replace("-", "_").lower()
    if plain not in TASKS:
        near = difflib.get_close_matches(plain, TASKS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the tasks are {', '.join(TASKS)}"
        raise UsageError(f"there is no task {text!r}; {hint}")
    return plain


def find_task(name: str) -> ModuleType:
    """The module of a task."""
    return importlib.import_module(f"tasks.{task_name(name)}")
