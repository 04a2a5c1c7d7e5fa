"""What belongs to a Module: everything that is found in its attributes, by its dotted name."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograd import Tensor


def is_module(value: Any) -> bool:
    return hasattr(value, "named_tensors") and not isinstance(value, type)


def is_member(value: Any) -> bool:
    return isinstance(value, Tensor | np.random.Generator) or is_module(value)


def named_members(root: Any) -> Iterator[tuple[str, Any]]:
    """Every value inside, with its dotted name, depth first and in order; what occurs twice is given once."""
    seen: set[int] = set()
    waiting = [("", root)]
    while waiting:
        name, value = waiting.pop()
        if is_member(value):
            if id(value) in seen:
                continue
            seen.add(id(value))
            yield name, value
        inside: Mapping[Any, Any] = {}
        if is_module(value):
            inside = vars(value)
        elif isinstance(value, dict):
            inside = value
        elif isinstance(value, list | tuple):
            inside = dict(enumerate(value))
        elif isinstance(value, set | frozenset | deque) or (isinstance(value, np.ndarray) and value.dtype == object):
            _refuse_hidden(name, value)
        prefix = f"{name}." if name else ""
        waiting += [(f"{prefix}{key}", part) for key, part in reversed(list(inside.items()))]


def _refuse_hidden(name: str, value: Any) -> None:
    """A container that gives its parts no lasting names: parameters in it would neither be trained nor saved."""
    parts = value.flat if isinstance(value, np.ndarray) else value
    if any(is_member(part) for part in parts):
        kind = "an object array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise TypeError(f"{name!r} is {kind}, in which parameters would be lost; keep them in a list or a dictionary")
