"""Chapter 24, several processes: solutions.

7. If each process draws its dropout from a stream of its own, the masks depend on how many processes there are, and
neither the weights of one process nor a resume with another number can be reproduced.  Every process therefore draws
the numbers of the whole batch, and uses its own.  The price is work that does not become less with P: part of `whole`.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray


def shares(B: int, P: int) -> list[slice]:
    """Rounding the borders r B / P down gives sizes ⌊B/P⌋ and ⌈B/P⌉ only; World.rows does the same."""
    return [slice(B * r // P, B * (r + 1) // P) for r in range(P)]


def average(gradients: list[Array], sizes: list[int]) -> Array:
    """Σ nᵣ gᵣ / Σ nᵣ.  The plain mean is wrong as soon as P does not divide B."""
    weights = np.array(sizes) / sum(sizes)
    return np.tensordot(weights, np.stack(gradients), axes=1)


def statistics(parts: list[tuple[int, Array, Array]]) -> tuple[Array, Array]:
    """The variance of the whole is the mean of the variances plus the variance of the means.

    E(x²) − E(x)² would be the same on paper, and lose all digits when the mean is large.
    """
    n = np.array([size for size, _, _ in parts]) / sum(size for size, _, _ in parts)
    means, variances = np.stack([mean for _, mean, _ in parts]), np.stack([variance for _, _, variance in parts])
    mean = np.tensordot(n, means, axes=1)
    return mean, np.tensordot(n, variances + (means - mean) ** 2, axes=1)


def ring_allreduce(arrays: list[Array]) -> tuple[list[Array], list[int]]:
    """After P − 1 steps process r has the finished piece r + 1, because that piece has visited everybody.

    The number sent tends to 2 n, however many processes there are: this is why the bandwidth's part of an exchange
    hardly grows with P, while that of the latency, 2 (P − 1) messages, does.
    """
    P = len(arrays)
    pieces = [np.array_split(array, P) for array in arrays]
    sent = [0] * P
    for phase in ("add", "copy"):
        for step in range(P - 1):
            first = 0 if phase == "add" else 1
            moving = [((r + first - step) % P, pieces[r][(r + first - step) % P]) for r in range(P)]  # all at once
            for r, (i, piece) in enumerate(moving):
                to = (r + 1) % P
                pieces[to][i] = pieces[to][i] + piece if phase == "add" else piece
                sent[r] += len(piece)
    return [np.concatenate(own) for own in pieces], sent


def step_time(P: int, B: int, fixed: float, whole: float, work: float) -> float:
    """The largest share decides: ⌈B / P⌉ sets."""
    return fixed + whole * B + work * math.ceil(B / P)


def smallest_batch(P: int, fixed: float, whole: float, work: float) -> int | None:
    """With B = P b:  fixed + whole P b + work P b  ≥  P / 2 · (fixed + whole P b + work b).

    Collected:  b · (whole P + work P / 2 − whole P² / 2)  ≥  fixed · (P / 2 − 1).  If the bracket is not positive, no
    b is large enough (for P > 2): the sampling of the whole batch costs more than a share of the work.
    """
    gain = P * (whole + work / 2 - whole * P / 2)
    need = fixed * (P / 2 - 1)
    if need <= 0:
        return P if gain * 1 >= need else None
    return None if gain <= 0 else P * max(1, math.ceil(need / gain))
