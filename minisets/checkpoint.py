"""Checkpoints: model, optimizer, random generators and step in one file, so that a run resumes as if never stopped.

The file is a NumPy .npz of plain arrays; nothing in it is pickled, and nothing is unpickled on loading.  Names begin
with "model/" or "optimizer/"; the entry "about" is a line of JSON with everything else.  Saving is atomic: a crash at
any moment leaves one complete checkpoint, the old or the new.

    save("run/checkpoint.npz", model=net, optimizer=adam, generators={"data": rng}, step=step)
    step = load("run/checkpoint.npz", model=net, optimizer=adam, generators={"data": rng})
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minisets.files import DamagedFile, atomic_write, read_npz
from minisets.nn.module import Module
from minisets.optim import Optimizer

FORMAT = "minisets checkpoint 1"
Generators = Mapping[str, np.random.Generator]
Note = float | int | str


class CheckpointError(Exception):
    """A checkpoint that cannot be written, read, or used here."""


def save(
    path: str | os.PathLike,
    *,
    model: Module,
    optimizer: Optimizer | None = None,
    generators: Generators | None = None,
    step: int = 0,
    notes: Mapping[str, Note] | None = None,
) -> None:
    """Write everything to the path, atomically; generators inside the model (Dropout's) are included automatically.

    notes are values of the caller's to be restored with the rest, such as a running sum.
    """
    path = Path(path)
    about = {
        "format": FORMAT,
        "step": int(step),
        "optimizer": type(optimizer).__name__ if optimizer else None,
        "notes": dict(notes or {}),
        "generators": {name: rng.bit_generator.state for name, rng in _generators(model, generators).items()},
    }
    arrays = {f"model/{name}": array for name, array in model.state_dict().items()}
    if optimizer:
        arrays |= {f"optimizer/{name}": array for name, array in optimizer.state_dict().items()}
    text = json.dumps(about, default=array_as_json)
    try:
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, about=np.array(text), **arrays)
    except ValueError:
        raise CheckpointError(f"cannot write a checkpoint to {os.fspath(path)!r}: not a valid file name") from None
    except OSError as error:
        raise CheckpointError(f"cannot write the checkpoint {path}: {error.strerror or error}") from error


def load(
    path: str | os.PathLike,
    *,
    model: Module,
    optimizer: Optimizer | None = None,
    generators: Generators | None = None,
    notes: dict[str, Note] | None = None,
) -> int:
    """Restore what save() wrote and return the step; if anything does not match, nothing is changed.

    Entries that are not asked for are ignored: a model alone can be loaded from the checkpoint of a full run.  Saved
    notes are added to the dictionary `notes`.
    """
    saved = read(path, model)
    saved.restore(model=model, optimizer=optimizer, generators=generators)
    if notes is not None:
        notes.update(saved.notes)
    return saved.step


# ---- in two parts: reading the file, and restoring what it holds -----------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint.  Nothing is restored yet, so that a caller may look at it first."""

    path: Path
    step: int
    notes: dict[str, Note]
    optimizer: str | None  # the name of its class
    generators: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def restore(
        self, *, model: Module, optimizer: Optimizer | None = None, generators: Generators | None = None
    ) -> None:
        """Restore model, optimizer and generators; if anything does not match, nothing is changed."""
        self.match(model=model, optimizer=optimizer, generators=generators)
        model.load_state_dict(self._part("model/"))
        if optimizer:
            optimizer.load_state_dict(self._part("optimizer/"))
        for name, rng in _generators(model, generators).items():
            rng.bit_generator.state = self.generators[name]

    def match(self, *, model: Module, optimizer: Optimizer | None = None, generators: Generators | None = None) -> None:
        """Raise a CheckpointError if restore() would."""
        rngs, saved = _generators(model, generators), self.generators
        if generators is None:
            saved = {name: state for name, state in saved.items() if name in rngs or name.startswith("model.")}
        try:
            if optimizer and self.optimizer != type(optimizer).__name__:
                raise ValueError(f"it was saved with the optimizer {self.optimizer}, not {type(optimizer).__name__}")
            if rngs.keys() != saved.keys():
                raise ValueError(f"it has the random generators {sorted(saved)}, expected {sorted(rngs)}")
            for name, rng in rngs.items():  # tried on a throwaway generator first
                type(rng.bit_generator)().state = saved[name]
            model.match_state_dict(self._part("model/"))
            if optimizer:
                optimizer.match_state_dict(self._part("optimizer/"))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint {self.path} does not belong to this run: {error}") from error

    def _part(self, prefix: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}


def read(path: str | os.PathLike, model: Module) -> Checkpoint:
    """The content of a checkpoint; the model says how large the file may be.  Any problem raises CheckpointError."""
    path = Path(path)
    weights = sum(array.nbytes for array in model.state_dict().values())
    try:
        arrays = read_npz(path, most=8 * weights + 2**26)  # an optimizer has a few arrays for each of the model's
        about = json.loads(str(arrays.pop("about", "")), object_hook=json_as_array)
        return Checkpoint(path=path, arrays=arrays, **_checked(about))
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint {path}") from None
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error.strerror or error}") from None
    except DamagedFile as error:
        raise CheckpointError(f"{path} is damaged, or not a checkpoint: {error}") from None
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise CheckpointError(f"{path} is an .npz file but not a minisets checkpoint") from None


def _checked(about: dict[str, Any]) -> dict[str, Any]:
    """The entries of "about" but for the format; ValueError if one is not what save() writes."""
    names = ("step", "notes", "optimizer", "generators")
    step, notes, optimizer, generators = (about[name] for name in names)
    valid = about["format"] == FORMAT and type(step) is int and 0 <= step < 2**63
    valid &= isinstance(notes, dict) and all(type(value) in (int, float, str) for value in notes.values())
    valid &= isinstance(optimizer, str | None) and isinstance(generators, dict)
    if not valid:
        raise ValueError
    return {name: about[name] for name in names}


def _generators(model: Module, others: Generators | None) -> dict[str, np.random.Generator]:
    inside = {f"model.{name}": rng for name, rng in model.named_generators()}
    return inside | dict(others or {})


def array_as_json(array: np.ndarray) -> dict:
    """Some generators have arrays in their state; without the dtype, large integers would be restored as floats."""
    return {"dtype": str(array.dtype), "values": array.tolist()}


def json_as_array(value: dict) -> dict | np.ndarray:
    """The other way: an object_hook for json.loads."""
    if value.keys() != {"dtype", "values"}:
        return value
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in "iuf":  # a text of gigabytes is a dtype, too
        raise ValueError
    return np.array(value["values"], dtype)
