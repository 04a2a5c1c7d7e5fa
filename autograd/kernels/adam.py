"""A step of Adam for all parameters of a network at once: they are concatenated in one array, and so are m and v.

    g ← g + λ p,     m ← β₁ m + (1 − β₁) g,     v ← β₂ v + (1 − β₂) g²,     p ← p − lr · (m̂ / (√v̂ + ε) + λ' p)

    m̂ = m / (1 − β₁ᵗ),     v̂ = v / (1 − β₂ᵗ);     λ is weight decay, λ' decoupled weight decay

Threads: one per element, in CuPy's ElementwiseKernel; p, m and v are updated in place.

Bytes: p, m, v and g are read once and p, m and v written once, 28 bytes per element in float32.  Separate CuPy
operations take twelve launches and 130 bytes, or twelve launches for each parameter if they are not concatenated.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array
from autograd.kernels.registry import Elementwise, kernel

# c1 = 1 − β₁ and correction1 = 1 − β₁ᵗ, computed on the host: in float32 1 − 0.999 would be off by 1e-5.
SCALARS = ("lr", "b1", "b2", "c1", "c2", "correction1", "correction2", "eps", "decay", "decoupled")

CODE = Elementwise(
    "adam",
    "T grad, " + ", ".join(f"T {name}" for name in SCALARS),
    "T p, T m, T v",
    """
    const T g = grad + decay * p;
    m = b1 * m + c1 * g;
    v = b2 * v + c2 * g * g;
    p -= lr * (m / correction1 / (sqrt(v / correction2) + eps) + decoupled * p);
    """,
    scalars=SCALARS,
)


def reference(p: Array, m: Array, v: Array, g: Array, *scalars: float) -> tuple[Array, Array, Array]:
    lr, b1, b2, c1, c2, correction1, correction2, eps, decay, decoupled = scalars
    g = g + decay * p
    m = b1 * m + c1 * g
    v = b2 * v + c2 * g * g
    return p - lr * (m / correction1 / (np.sqrt(v / correction2) + eps) + decoupled * p), m, v


@kernel(reference, CODE, sizes="any", in_place=3)
def adam(p: Array, m: Array, v: Array, g: Array, *scalars: float) -> tuple[Array, Array, Array]:
    """p, m and v (size,), updated in place; the scalars are those in SCALARS"""
    CODE(g, *scalars, p, m, v)
    return p, m, v
