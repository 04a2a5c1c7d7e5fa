"""Exercises, one file per chapter, and the tests that check your answers.

Write your answers into docs/exercises/ch05.py, then

    python -m pytest docs/exercises/test_ch05.py

runs the checks.  docs/solutions/ch05.py has solutions; EXERCISES=solutions runs the same checks on them.
"""

import importlib
import os
from types import ModuleType


def answers(chapter: str) -> ModuleType:
    """The module with the answers to a chapter ("ch05"): yours, or the solutions if EXERCISES=solutions."""
    chosen = os.environ.get("EXERCISES", "exercises")
    if chosen not in ("exercises", "solutions"):
        raise ValueError(f"EXERCISES is 'exercises' (the default) or 'solutions', given {chosen!r}")
    return importlib.import_module(f"docs.{chosen}.{chapter}")
