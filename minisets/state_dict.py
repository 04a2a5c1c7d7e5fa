"""Loading a saved state into existing arrays: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograd import Tensor, backend
from autograd.backend import Array


def match_state(owner: str, arrays: Mapping[str, Array], state: Mapping[str, Any]) -> list[tuple[Array, Array]]:
    """Pairs of an array and the saved one of the same name, converted to the array's dtype and device.

    Raises ValueError if names are missing or unexpected, or shapes or dtypes do not match; changes nothing itself.
    """
    state = {name: x.numpy() if isinstance(x, Tensor) else backend.to_host(x) for name, x in state.items()}
    problems = [f"missing {name!r}" for name in arrays if name not in state]
    problems += [f"unexpected {name!r}" for name in state if name not in arrays]
    for name in (name for name in arrays if name in state):
        array, saved = arrays[name], state[name]
        kinds = "iu" if array.dtype.kind in "iu" else "biuf"
        if saved.shape != array.shape:
            problems.append(f"{name!r} has shape {saved.shape} instead of {array.shape}")
        elif saved.dtype.kind not in kinds:
            problems.append(f"{name!r} has dtype {saved.dtype} instead of {array.dtype}")
    if problems:
        more = f"; and {len(problems) - 6} more" if len(problems) > 6 else ""
        raise ValueError(f"the state does not fit this {owner}: {'; '.join(problems[:6])}{more}")
    return [(array, backend.to_device_of(state[name].astype(array.dtype), array)) for name, array in arrays.items()]


def overwrite(pairs: list[tuple[Array, Array]]) -> None:
    """Copy each saved array into its counterpart in place, because others may share its memory."""
    for array, saved in pairs:
        array[...] = saved
