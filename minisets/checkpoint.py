"""A training run in one file: model, optimizer, random generators and step, so that it can go on as if never stopped.

The file is a NumPy .npz of plain arrays; nothing in it is pickled, and nothing is unpickled on loading.  Names begin
with "model/" or "optimizer/"; the entry "about" is a line of JSON with the rest.  Saving writes a new file beside the
old one and then takes its name, so that a crash at any moment leaves one whole checkpoint, the old or the new.

    save("run/checkpoint.npz", model=net, optimizer=adam, generators={"data": rng}, step=step)
    step = load("run/checkpoint.npz", model=net, optimizer=adam, generators={"data": rng})
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

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
) -> None:
    """Write everything to the path, atomically; generators inside the model (dropout's) are found by themselves."""
    path = Path(path)
    about = {
        "format": FORMAT,
        "step": int(step),
        "optimizer": type(optimizer).__name__ if optimizer else None,
        "generators": {name: rng.bit_generator.state for name, rng in _generators(model, generators).items()},
    }
    arrays = {f"model/{name}": array for name, array in model.state_dict().items()}
    if optimizer:
        arrays |= {f"optimizer/{name}": array for name, array in optimizer.state_dict().items()}
    text = json.dumps(about, default=lambda array: array.tolist())  # some generators keep arrays in their state
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            np.savez(file, allow_pickle=False, about=np.array(text), **arrays)
            file.flush()
            os.fsync(file.fileno())  # on the disk before it takes the name
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True) if path.parent.is_dir() else None
        raise CheckpointError(f"cannot write the checkpoint {path}: {error.strerror or error}") from error


def load(
    path: str | os.PathLike,
    *,
    model: Module,
    optimizer: Optimizer | None = None,
    generators: Generators | None = None,
) -> int:
    """Restore what save() wrote and return the step; if anything does not fit, all is left as it was."""
    path = Path(path)
    about, arrays = _read(path)
    mine = _generators(model, generators)
    saved = about["generators"]
    try:
        if optimizer and about["optimizer"] != type(optimizer).__name__:
            raise ValueError(f"it was saved with the optimizer {about['optimizer']}, not {type(optimizer).__name__}")
        if mine.keys() != saved.keys():
            raise ValueError(f"it has the random generators {sorted(saved)}, expected {sorted(mine)}")
        for name, rng in mine.items():  # tried on a generator of no importance
            type(rng.bit_generator)().state = _arrays_again(saved[name])
        model.matching(_under("model/", arrays))
        if optimizer:
            optimizer.matching(_under("optimizer/", arrays))
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"the checkpoint {path} does not belong to this run: {error}") from error

    model.load_state_dict(_under("model/", arrays))
    if optimizer:
        optimizer.load_state_dict(_under("optimizer/", arrays))
    for name, rng in mine.items():
        rng.bit_generator.state = _arrays_again(saved[name])
    return about["step"]


def _read(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The JSON and all arrays of a checkpoint; whatever is wrong with the file becomes one sentence."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint {path}") from None
    except Exception as error:  # a damaged file can trip zipfile and NumPy's parser in any of a dozen ways
        raise CheckpointError(f"{path} is damaged, or not a checkpoint: {error or type(error).__name__}") from error
    try:
        about = json.loads(str(arrays.pop("about")))
        if about["format"] != FORMAT:
            raise ValueError
        return about, arrays
    except (KeyError, ValueError, TypeError):
        raise CheckpointError(f"{path} is an .npz file, but not a checkpoint of this project") from None


def _generators(model: Module, others: Generators | None) -> dict[str, np.random.Generator]:
    inside = {f"model.{name}": rng for name, rng in model.named_generators()}
    return inside | dict(others or {})


def _arrays_again(state: dict) -> dict:
    """A generator's state as it was before JSON made lists of its arrays."""
    return {
        key: _arrays_again(value) if isinstance(value, dict) else np.array(value) if isinstance(value, list) else value
        for key, value in state.items()
    }


def _under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
