"""The files in tasks/play/weights: weights in half precision, and a line of JSON that says how good they are.

    read("clustering-isab")     the weights after each kept step, and the results on fresh sets

A file is an .npz archive of plain arrays named STEP/PARAMETER; nothing in it is pickled.  Networks compute in single
precision: half precision only makes the files smaller, and the results were measured with what the files hold.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minisets.files import DamagedFile, atomic_write, read_npz
from tasks.harness.errors import UsageError

WEIGHTS = Path(__file__).parent / "weights"
MOST = 4 * 2**20  # bytes that a file may unpack to
REMEDY = "install minisets again, or make the file with python -m tasks.play.train"
State = dict[str, np.ndarray]


@dataclass(frozen=True)
class Stored:
    """What a file holds."""

    states: dict[int, State]  # step -> weights, by name; the last step is the trained network
    about: dict[str, Any]  # "results": metric -> value on fresh sets; "seconds" and "machine" of the training


def write(name: str, stored: Stored) -> Path:
    arrays = {f"{step}/{key}": _half(array) for step, state in stored.states.items() for key, array in state.items()}
    path = WEIGHTS / f"{name}.npz"
    with atomic_write(path) as file:
        np.savez_compressed(file, allow_pickle=False, about=np.array(json.dumps(stored.about)), **arrays)
    return path


def _half(array: np.ndarray) -> np.ndarray:
    return array.astype("float16") if array.dtype.kind == "f" else array


def read(name: str) -> Stored:
    path = WEIGHTS / f"{name}.npz"
    try:
        arrays = read_npz(path, MOST)
        about = json.loads(str(arrays.pop("about")))
        states: dict[int, State] = {}
        for key, array in arrays.items():
            step, _, parameter = key.partition("/")
            states.setdefault(int(step), {})[parameter] = array
        if not states or not isinstance(about, dict):
            raise ValueError
    except OSError as error:
        raise UsageError(f"cannot read the weights {path}: {error.strerror or error}; {REMEDY}") from None
    except DamagedFile as error:
        raise UsageError(f"the weights {path} are damaged: {error}; {REMEDY}") from None
    except (KeyError, ValueError, RecursionError):
        raise UsageError(f"{path} does not hold weights of minisets play; {REMEDY}") from None
    return Stored(dict(sorted(states.items())), about)
