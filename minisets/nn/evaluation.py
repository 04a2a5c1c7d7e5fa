"""Using a network without training it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from autograd import no_grad
from minisets.nn.module import Module


@contextlib.contextmanager
def evaluating(net: Module) -> Iterator[None]:
    """Within the block, evaluation mode and no gradients; every module's mode is restored at the end, come what may."""
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
