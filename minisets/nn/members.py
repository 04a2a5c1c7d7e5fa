"""The members of a Module: the Tensors, generators and Modules in its attributes, by dotted name."""

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
    """Every member of root, with its dotted name, depth first and in order; duplicates once."""
    seen: set[int] = set()
    stack = [("", root)]
    while stack:
        name, value = stack.pop()
        if is_member(value):
            if id(value) in seen:
                continue
            seen.add(id(value))
            yield name, value
        children: Mapping[Any, Any] = {}
        if is_module(value):
            children = vars(value)
        elif isinstance(value, dict):
            children = value
        elif isinstance(value, list | tuple):
            children = dict(enumerate(value))
        elif isinstance(value, set | frozenset | deque) or (isinstance(value, np.ndarray) and value.dtype == object):
            _check_no_members(name, value)
        prefix = f"{name}." if name else ""
        stack += [(f"{prefix}{key}", child) for key, child in reversed(list(children.items()))]


def _check_no_members(name: str, value: Any) -> None:
    """Raise TypeError if a container without lasting names has members: they would be neither trained nor saved."""
    items = value.flat if isinstance(value, np.ndarray) else value
    if any(is_member(item) for item in items):
        kind = "an object array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise TypeError(f"{name!r} is {kind}, in which parameters would be lost; keep them in a list or a dictionary")
