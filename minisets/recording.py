"""Recording the attention weights of a network."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import Tensor, no_grad
from minisets.nn import Module


@contextlib.contextmanager
def record_attention(net: Module) -> Iterator[dict[str, list[np.ndarray]]]:
    """Record the weights of every attention block, by name, one array for each call.

    with record_attention(net) as recorded:
        net(X, mask)
    recorded["encoder.0.mab.attention"][0]      # (B, h, n, m), or (h, n, m) for a single set

    (Dotprod has one query and no heads: (B, 1, n).)  An attention block is one with a method weights() that takes the
    same arguments as its forward.  During recording, the instance's forward is a function that calls both.
    """
    blocks = {name: module for name, module in net.named_modules() if hasattr(module, "weights")}
    if not blocks:
        raise ValueError(f"this {type(net).__name__} has no attention blocks, so there are no weights to record")
    recorded: dict[str, list[np.ndarray]] = {name: [] for name in blocks}
    original: dict[str, Any] = {name: vars(module).get("forward") for name, module in blocks.items()}
    for name, module in blocks.items():
        module.forward = _recording_forward(module, recorded[name])  # type: ignore[method-assign]
    try:
        yield recorded
    finally:
        for name, module in blocks.items():
            if original[name] is None:
                del module.forward
            else:
                module.forward = original[name]  # type: ignore[method-assign]


def _recording_forward(module: Any, recorded: list[np.ndarray]) -> Callable[..., Tensor]:
    forward = module.forward

    def recording_forward(*inputs: Any) -> Tensor:
        with no_grad():
            recorded.append(module.weights(*inputs).numpy())
        return forward(*inputs)

    return recording_forward
