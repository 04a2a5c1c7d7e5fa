"""A look inside: the weights of every block in a network that attends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import Tensor, no_grad
from minisets.nn import Module


@contextlib.contextmanager
def record_attention(net: Module) -> Iterator[dict[str, list[np.ndarray]]]:
    """The weights of every block that attends, by name, one array for each call.

    with record_attention(net) as seen:
        net(X, mask)
    seen["encoder.0.mab.attention"][0]      # (B, h, n, m), or (h, n, m) for a single set

    (Dotprod has one head and one query, and gives (B, 1, n).)  A block that attends has a method weights() of the same
    arguments as its forward.  While it is watched, a function of its own stands before its forward, which calls both.
    """
    found = {name: module for name, module in net.named_modules() if hasattr(module, "weights")}
    if not found:
        raise ValueError(f"nothing in this {type(net).__name__} attends, so there are no weights to record")
    seen: dict[str, list[np.ndarray]] = {name: [] for name in found}
    before: dict[str, Any] = {name: vars(module).get("forward") for name, module in found.items()}
    for name, module in found.items():
        module.forward = _watched(module, seen[name])  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        for name, module in found.items():
            if before[name] is None:
                del module.forward
            else:
                module.forward = before[name]  # type: ignore[method-assign]


def _watched(module: Any, seen: list[np.ndarray]) -> Callable[..., Tensor]:
    forward = module.forward

    def watched(*inputs: Any) -> Tensor:
        with no_grad():
            seen.append(module.weights(*inputs).numpy())
        return forward(*inputs)

    return watched
