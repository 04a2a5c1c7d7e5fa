"""Fitting a saved state to the arrays it belongs to: all of it, or none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autograd import backend
from autograd.backend import Array


def fit(owner: str, mine: Mapping[str, Array], state: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """Each of my arrays with the one of the same name in the state, in my dtype and on my device.

    A ValueError says which names are missing, unexpected or of another shape; nothing has been changed then.
    """
    problems = [f"missing {name!r}" for name in mine if name not in state]
    problems += [f"unexpected {name!r}" for name in state if name not in mine]
    problems += [
        f"{name!r} has shape {np.shape(state[name])} instead of {array.shape}"
        for name, array in mine.items()
        if name in state and np.shape(state[name]) != array.shape
    ]
    if problems:
        raise ValueError(f"the state does not fit this {owner}: {'; '.join(problems)}")
    return [(array, backend.beside(state[name], array).astype(array.dtype)) for name, array in mine.items()]


def overwrite(pairs: list[tuple[Array, Array]]) -> None:
    """Copy each second array into the first, whose memory others may share."""
    for mine, saved in pairs:
        mine[...] = saved
