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
from pathlib import Path

import numpy as np

from minisets.files import atomic_write
from minisets.nn.module import Module
from minisets.optim import Optimizer

FORMAT = "minisets checkpoint 1"
Generators = Mapping[str, np.random.Generator]


class CheckpointError(Exception):
    """A checkpoint that cannot be written, read, or used here."""


def save(
    path: str | os.PathLike,
    *,
    model: Module,
    optimizer: Optimizer | None = None,
    generators: Generators | None = None,
    step: int = 0,
    notes: Mapping[str, float] | None = None,
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
    text = json.dumps(about, default=_array_as_json)
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
    notes: dict[str, float] | None = None,
) -> int:
    """Restore what save() wrote and return the step; if anything does not match, nothing is changed.

    Entries that are not asked for are ignored: a model alone can be loaded from the checkpoint of a full run.  Saved
    notes are added to the dictionary `notes`.
    """
    path = Path(path)
    about, arrays = _read(path)
    rngs = _generators(model, generators)
    saved = about["generators"]
    if generators is None:
        saved = {name: state for name, state in saved.items() if name in rngs or name.startswith("model.")}
    try:
        if optimizer and about["optimizer"] != type(optimizer).__name__:
            raise ValueError(f"it was saved with the optimizer {about['optimizer']}, not {type(optimizer).__name__}")
        if rngs.keys() != saved.keys():
            raise ValueError(f"it has the random generators {sorted(saved)}, expected {sorted(rngs)}")
        for name, rng in rngs.items():  # tried on a throwaway generator first
            type(rng.bit_generator)().state = saved[name]
        model.match_state_dict(_strip_prefix("model/", arrays))
        if optimizer:
            optimizer.match_state_dict(_strip_prefix("optimizer/", arrays))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint {path} does not belong to this run: {error}") from error

    model.load_state_dict(_strip_prefix("model/", arrays))
    if optimizer:
        optimizer.load_state_dict(_strip_prefix("optimizer/", arrays))
    for name, rng in rngs.items():
        rng.bit_generator.state = saved[name]
    if notes is not None:
        notes.update(about.get("notes", {}))
    return about["step"]


def _read(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The JSON and all arrays of a checkpoint; any problem with the file raises CheckpointError."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint {path}") from None
    except Exception as error:  # a damaged file can break zipfile and NumPy's parser in a dozen ways
        raise CheckpointError(f"{path} is damaged, or not a checkpoint") from error
    try:
        about = json.loads(str(arrays.pop("about")), object_hook=_json_as_array)
        complete = isinstance(about["step"], int) and isinstance(about["generators"], dict) and "optimizer" in about
        if about["format"] != FORMAT or not complete:
            raise ValueError
        return about, arrays
    except (KeyError, ValueError, TypeError):
        raise CheckpointError(f"{path} is an .npz file but not a minisets checkpoint") from None


def _generators(model: Module, others: Generators | None) -> dict[str, np.random.Generator]:
    inside = {f"model.{name}": rng for name, rng in model.named_generators()}
    return inside | dict(others or {})


def _array_as_json(array: np.ndarray) -> dict:
    """Some generators have arrays in their state; without the dtype, large integers would be restored as floats."""
    return {"dtype": str(array.dtype), "values": array.tolist()}


def _json_as_array(value: dict) -> dict | np.ndarray:
    return np.array(value["values"], value["dtype"]) if value.keys() == {"dtype", "values"} else value


def _strip_prefix(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
