"""Fitting a saved state to the arrays it belongs to: all of it, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograd import Tensor, backend
from autograd.backend import Array


def fit(owner: str, mine: Mapping[str, Array], state: Mapping[str, Any]) -> list[tuple[Array, Array]]:
    """Each of my arrays with the one of the same name in the state, in my dtype and on my device.

    A ValueError says which names are missing, unexpected or of another shape; nothing has been changed then.
    """
    state = {name: x.numpy() if isinstance(x, Tensor) else backend.to_host(x) for name, x in state.items()}
    problems = [f"missing {name!r}" for name in mine if name not in state]
    problems += [f"unexpected {name!r}" for name in state if name not in mine]
    for name in (name for name in mine if name in state):
        array, saved = mine[name], state[name]
        numbers = "iu" if array.dtype.kind in "iu" else "biuf"
        if saved.shape != array.shape:
            problems.append(f"{name!r} has shape {saved.shape} instead of {array.shape}")
        elif saved.dtype.kind not in numbers:
            problems.append(f"{name!r} holds {saved.dtype} instead of {array.dtype}")
    if problems:
        rest = f"; and {len(problems) - 6} more" if len(problems) > 6 else ""
        raise ValueError(f"the state does not fit this {owner}: {'; '.join(problems[:6])}{rest}")
    return [(array, backend.to_device_of(state[name].astype(array.dtype), array)) for name, array in mine.items()]


def overwrite(pairs: list[tuple[Array, Array]]) -> None:
    """Copy each second array into the first, whose memory others may share."""
    for mine, saved in pairs:
        mine[...] = saved
