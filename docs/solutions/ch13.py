"""Solutions of chapter 13, runs.

1. One generator for everything: a number more in step 3 shifts all numbers of the steps after it.
7. It is not wrong.  It is another run, as one with another seed would be: the difference between the two is of the size
   of the spread over seeds.  What should be written down: that it was moved, when, and both environments.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def generators(seed: int, purposes: Iterable[str], steps: int) -> dict[tuple[str, int], np.random.Generator]:
    """Each depends on the seed, the name and the step, and on nothing else; the bytes of the name are numbers, too.

    The length keeps ("a", step 98) and ("ab", no step) apart.  hash(name) would not do: it differs from process
    to process.
    """
    return {
        (purpose, step): np.random.default_rng([seed, len(purpose.encode()), *purpose.encode(), step])
        for purpose in purposes
        for step in range(steps)
    }


def state_as_text(rng: np.random.Generator) -> str:
    """The state is a dictionary of names and integers; Python's integers have no limit, so JSON keeps all 128 bits."""
    return json.dumps(rng.bit_generator.state)


def restored(text: str) -> np.random.Generator:
    """The seed of the new bit generator does not matter, since its state is replaced."""
    bits = np.random.PCG64()
    bits.state = json.loads(text)
    return np.random.Generator(bits)


def replace_file(path: Path, content: bytes) -> None:
    """Write a second file in the same folder (a rename across file systems is a copy), push it to the disk, then
    rename it.

    A rename is atomic.  fsync comes before it: otherwise the new name may reach the disk before the content does.
    """
    temporary = path.with_name(path.name + ".new")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def rewind(log: bytes, step: int) -> list[dict[str, Any]]:
    """A line is whole if a newline ends it, so what comes after the last newline is dropped, whatever it looks
    like.

    A cut-off line can be valid JSON of another value ("12" of "123"), so trying to parse it would not do.
    """
    *complete, _ = log.split(b"\n")
    lines = [json.loads(line) for line in complete]
    return [line for line in lines if line["step"] <= step]


def standard_error(accuracy: float, sets: int) -> float:
    """Each set is right with probability p: variance p (1 − p), and the mean of N of them has 1/N of that."""
    return math.sqrt(accuracy * (1 - accuracy) / sets)


def sets_needed(accuracy: float, difference: float) -> int:
    """Variances add: the difference has the standard error √(2 p (1 − p) / N).  Twice that equals d at N = 8 p (1 −
    p) / d².

    On the *same* sets fewer are enough, as both networks fail on the same difficult ones; see McNemar's test.
    """
    return math.ceil(8 * accuracy * (1 - accuracy) / difference**2)


def footnote(options: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    """The test is `in`, not get(): None and False may be the paper's values."""
    different = {name: value for name, value in options.items() if name in paper and paper[name] != value}
    return ", ".join(f"{name} {value} (paper: {paper[name]})" for name, value in different.items())
