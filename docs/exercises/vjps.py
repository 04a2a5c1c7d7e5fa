"""What the checks of chapters 2 to 4 share: is a vjp right?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def assert_vjps(pure: Callable[..., Any], *inputs: np.ndarray, rtol: float = 1e-6) -> None:
    """pure(*inputs) is (y, vjps), and ⟨u, J v⟩ by central differences is ⟨Jᵀu, v⟩ for each input."""
    rng = np.random.default_rng(0)
    y, vjps = pure(*inputs)
    vjps = vjps if isinstance(vjps, tuple | list) else (vjps,)
    assert len(vjps) == len(inputs), f"{len(inputs)} inputs and {len(vjps)} vjps"
    u = rng.normal(size=np.shape(y))
    for i, (x, vjp) in enumerate(zip(inputs, vjps, strict=True)):
        g = vjp(u)
        assert np.shape(g) == x.shape, f"the gradient of input {i} has shape {np.shape(g)}, not {x.shape}"
        for _ in range(3):
            v, h = rng.normal(size=x.shape), 1e-5
            above, below = (pure(*inputs[:i], x + s * h * v, *inputs[i + 1 :])[0] for s in (1, -1))
            slope, computed = (u * (above - below)).sum() / (2 * h), (g * v).sum()
            error = abs(slope - computed) / max(abs(g * v).sum(), 1e-3)
            assert error <= rtol, f"input {i}: {slope:.8g} by differences, {computed:.8g} by the vjp"
