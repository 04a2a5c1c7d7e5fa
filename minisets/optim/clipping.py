"""Gradient clipping by norm."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from autograd import Tensor, backend
from autograd.backend import Array
from minisets.checks import check_positive


def clip_grad_norm(parameters: Iterable[Tensor], limit: float) -> Array:
    """Scale all gradients down together, in place, to a joint norm of at most `limit`; returns the norm before.

    The norm stays on its device as a 0-d array, since reading it forces a device sync.
    """
    check_positive(limit=limit)
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        return np.zeros(())
    xp = backend.array_module(*gradients)
    with backend.device_guard(*gradients):
        norm = xp.sqrt(sum(xp.square(g, dtype="float64").sum() for g in gradients))  # 1e20² overflows float32
        scale = xp.minimum(limit / xp.maximum(norm, 1e-30), 1)  # no division by 0 if all gradients are 0
        for g in gradients:
            g *= scale
    return norm
