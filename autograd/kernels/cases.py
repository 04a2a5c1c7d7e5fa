"""Inputs for every kernel, at sizes around those of warps, tiles and blocks, and how far a result is from right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.backend import Array, array_module, to_host
from autograd.kernels import adam, attention, ops, products  # noqa: F401  (they enter their kernels in the list)
from autograd.kernels.registry import KERNELS

SIZES = (0, 1, 31, 32, 33, 127, 1025)
TOLERANCES = {"float32": 2e-5, "float64": 1e-12}  # of what error() returns


@dataclass(frozen=True)
class Case:
    """A kernel and what to call it with; floating arrays take the dtype that is asked for."""

    kernel: str
    arguments: tuple[Any, ...]
    label: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.label}"

    def on(self, dtype: str, move: Callable[[np.ndarray], Array]) -> list[Any]:
        """The arguments in a dtype on the device that move() brings an array to."""
        given = [x.astype(dtype) if _floating(x) else x for x in self.arguments]
        return [
            laid_out_like(old, new, move) if isinstance(new, np.ndarray) else new
            for old, new in zip(self.arguments, given, strict=True)
        ]

    def right(self, dtype: str) -> list[np.ndarray]:
        """What the reference makes in float64 of the arguments, which were rounded to the dtype first."""
        rounded = [x.astype(dtype).astype("float64") if _floating(x) else x for x in self.arguments]
        return results(KERNELS[self.kernel].reference(*rounded))

    def error(self, dtype: str, move: Callable[[np.ndarray], Array]) -> float:
        """How wrong the kernel is on the device that move() brings an array to."""
        got = results(KERNELS[self.kernel].launch(*self.on(dtype, move)))
        wrong = [z.dtype for z in got if z.dtype.kind == "f" and z.dtype != dtype]
        if wrong:
            raise TypeError(f"{self}: a result is {wrong[0]} instead of {dtype}")
        return max((distance(to_host(a), b) for a, b in zip(got, self.right(dtype), strict=True)), default=0.0)


def distance(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference, as a part of the largest number (or of 1); infinite if nan, inf or the shape is wrong."""
    got, want = np.asarray(got, "float64"), np.asarray(want, "float64")
    finite = np.isfinite(want)
    if got.shape != want.shape or not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return np.inf
    got, want = got[finite], want[finite]
    if not np.isfinite(got).all():
        return np.inf
    return float(np.abs(got - want).max(initial=0) / max(np.abs(want).max(initial=0), 1))


def laid_out_like(old: np.ndarray, new: np.ndarray, move: Callable[[np.ndarray], Array]) -> Array:
    """new on the device, its axes in memory in the order of old's, and what old repeats there only once.

    To move an array is to copy it, and a copy has no gaps: a kernel would never see the views that a network gives it.
    """
    repeated = tuple(slice(None, 1) if stride == 0 else slice(None) for stride in old.strides)
    order = sorted(range(old.ndim), key=lambda axis: -abs(old.strides[axis]))
    moved = move(np.ascontiguousarray(new[repeated].transpose(order))).transpose(
        [order.index(i) for i in range(old.ndim)]
    )
    return moved if moved.shape == old.shape else array_module(moved).broadcast_to(moved, old.shape)


def results(result: Any) -> list[Any]:
    """What a kernel returns as a list, without what it left out."""
    return [x for x in (result if isinstance(result, tuple) else (result,)) if x is not None]


def _floating(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def make_cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape)

    def some(*shape: int) -> np.ndarray:
        """A mask that hides about a third, and of the first row everything."""
        mask = rng.random(shape) < 0.7
        mask[:1] = False
        return mask

    for m in SIZES:
        x, mask = normal(5, m), some(5, m)
        yield Case("softmax_forward", (x * 10, None), f"5 rows of {m}")
        yield Case("softmax_forward", (np.where(mask, x, np.nan), mask), f"5 rows of {m}, nan hidden by a mask")
        yield Case("softmax_backward", (np.abs(x), normal(5, m)), f"5 rows of {m}")
        yield Case("bias_relu", (normal(33, m), normal(m), True), f"(33, {m})")
        yield Case("bias_relu", (normal(m, 33), normal(33), False), f"({m}, 33), no ReLU")
        yield Case("relu_backward", (normal(m, 5), normal(m, 5)), f"({m}, 5)")
        yield Case("bias_backward", (normal(m, 33), normal(m, 33)), f"({m}, 33)")
        yield Case("bias_backward", (normal(33, m), None), f"(33, {m}), no ReLU")
        p, moment, v, g = normal(m), normal(m), np.square(normal(m)), normal(m)
        scalars = dict(zip(adam.SCALARS, (1e-3, 0.9, 0.999, 0.1, 0.001, 0.19, 0.002, 1e-8, 0.1, 0.0), strict=True))
        yield Case("adam", (p, moment, v, g, *scalars.values()), f"{m} numbers")
        yield Case("adam", (p, moment, v, g, *(scalars | {"decay": 0.0, "decoupled": 0.1}).values()), f"{m}, decoupled")
    yield Case("softmax_forward", (normal(2, 3, 40), np.array([True] * 39 + [False])), "a mask that broadcasts")
    yield Case("softmax_forward", (np.array([[np.nan, 1.0], [-np.inf, 0.0], [-np.inf, -np.inf]]), None), "nan and inf")
    yield Case("bias_relu", (normal(7, 5), None, True), "no bias")
    yield from _norms(normal, rng)
    yield from _attentions(normal, some, rng)
    yield from _pools(normal, some)
    yield from _mixtures(normal, rng)
    for n in SIZES[:-1]:
        yield Case("matmul", (normal(2, 3, n, 5), normal(2, 3, 5, 33)), f"(2, 3, {n}, 5) @ (2, 3, 5, 33)")
    a, b = normal(2, 3, 7, 5), normal(2, 3, 7, 9)
    yield Case("matmul", (a.swapaxes(-1, -2), b), "left transposed")
    yield Case("matmul", (b, normal(2, 3, 4, 9).swapaxes(-1, -2)), "right transposed")
    yield Case("matmul", (a, normal(5, 4)), "one matrix for all")
    yield Case("matmul", (normal(2, 7, 3, 5).swapaxes(1, 2), normal(3, 5, 4)), "heads")
    yield Case("matmul", (normal(3, 1, 5), normal(3, 5, 1)), "single rows and columns")
    yield Case("matmul", (np.broadcast_to(normal(1, 3, 7, 5), (2, 3, 7, 5)), normal(2, 3, 5, 4)), "sets that share")


def _norms(normal: Callable[..., np.ndarray], rng: np.random.Generator) -> Iterator[Case]:
    sizes = [(rows, 17) for rows in SIZES] + [(9, d) for d in SIZES if 0 < d <= 1024] + [(3, 1024)]
    for rows, d in sizes:
        x, p, b, gamma, beta, g = normal(rows, d), normal(rows, d), *normal(3, d), normal(rows, d)
        label = f"({rows}, {d})"
        yield Case("norm_forward", (x, p, b, gamma, beta, True, 1e-5), f"{label}, all")
        yield Case("norm_forward", (x, None, None, None, None, False, 1e-5), f"{label}, bare")
        inverse, opened = np.abs(normal(rows)) + 0.5, rng.random((rows, d)) < 0.5
        yield Case("norm_backward", (g, x, inverse, gamma, opened), f"{label}, all")
        yield Case("norm_backward", (g, x, inverse, None, None), f"{label}, bare")
    yield Case("norm_forward", (normal(5, 40), normal(5, 40), None, normal(40), None, False, 0.1), "no bias, no beta")
    yield Case("norm_forward", (1e2 + normal(5, 40), None, None, None, None, False, 1e-5), "far from zero")


def _attentions(normal: Callable, some: Callable, rng: np.random.Generator) -> Iterator[Case]:
    shapes = [(2, 3, n, 33, 5, 4) for n in SIZES] + [(2, 3, 33, m, 5, 4) for m in SIZES]
    shapes += [(1, 2, 35, 37, e, e) for e in (1, 15, 16, 17, 32, 33, 64, 65, 127, 128)]
    shapes += [(1, 2, 34, 36, 16, 50), (1, 2, 34, 36, 128, 1), (0, 2, 3, 4, 5, 6)]
    for B, h, n, m, e, f in shapes:
        label = f"B={B}, h={h}, n={n}, m={m}, e={e}, f={f}"
        q, k, v = normal(B, h, n, e), normal(B, h, m, e), normal(B, h, m, f)
        yield from _both(f"{label}", q, k, v, None, None, 0.4, normal)
    for label, scale in (("", 0.5), (", large scores", 10.0)):
        q, k, v = normal(3, 2, 40, 6), normal(3, 2, 70, 6), normal(3, 2, 70, 6)
        seen = np.broadcast_to(some(3, 70)[:, None], (3, 2, 70))  # of the first set nobody
        hidden = np.where(seen[..., None], k, np.nan), np.where(seen[..., None], v, np.inf)
        yield from _both(f"keys hidden{label}", q, *hidden, seen, None, scale, normal)
        pairs = np.broadcast_to(rng.random((3, 1, 40, 70)) < 0.1, (3, 2, 40, 70)).copy()
        pairs[:, :, 3:9] = False  # queries that see nobody
        pairs[..., 50:] = False  # and keys that nobody sees
        seen = pairs.any(axis=-2)
        q = np.where(pairs.any(axis=-1)[..., None], q, np.nan)
        hidden = np.where(seen[..., None], k, np.nan), np.where(seen[..., None], v, np.inf)
        yield from _both(f"pairs hidden{label}", q, *hidden, seen, pairs, scale, normal)
    q = np.broadcast_to(normal(1, 2, 5, 8), (3, 2, 5, 8))
    heads = normal(3, 40, 2, 8).swapaxes(1, 2)  # views, as they come from a reshape
    yield from _both("heads as views, queries shared", q, heads, heads, None, None, 0.3, normal)


def _both(label: str, q: np.ndarray, k: np.ndarray, v: np.ndarray, *rest: Any) -> Iterator[Case]:
    """Forward, and backward from what the reference's forward returns; g is nan where a query sees nobody."""
    *given, normal = q, k, v, *rest
    yield Case("attention_forward", tuple(given), label)
    o, L = attention.forward_reference(*given)
    g = np.where((-np.inf == L)[..., None], np.nan, normal(*o.shape))
    yield Case("attention_backward", (*given, o, L, g), label)


def _pools(normal: Callable[..., np.ndarray], some: Callable[..., np.ndarray]) -> Iterator[Case]:
    for n in SIZES:
        for x, mask, label in (
            (normal(3, n, 5), None, f"n={n}"),
            (np.round(normal(3, n, 45)), some(3, n), f"n={n}, ties and a mask"),
        ):
            yield Case("max_pool_forward", (x, mask), label)
            made = KERNELS["max_pool_forward"].reference(x, mask)
            yield Case("max_pool_backward", (normal(*made[0].shape), x, *made, mask), label)
    x = np.array([[[1.0], [np.nan], [2.0]], [[-np.inf], [-np.inf], [-3]]])
    yield Case("max_pool_forward", (x, None), "nan")
    yield Case("max_pool_backward", (np.ones((2, 1)), x, *KERNELS["max_pool_forward"].reference(x, None), None), "nan")


def _mixtures(normal: Callable[..., np.ndarray], rng: np.random.Generator) -> Iterator[Case]:
    shapes = (
        [((2,), n, 4, 2) for n in SIZES] + [((2,), 33, k, 3) for k in (1, 7)] + [((), 9, 3, 128), ((2, 2), 5, 2, 2)]
    )
    for lead, n, k, D in shapes:
        x, mu, sigma = normal(*lead, n, D), normal(*lead, k, D), np.abs(normal(*lead, k, D)) + 0.5
        log_pi = np.log(rng.dirichlet(np.ones(k), size=lead))
        label = f"n={n}, k={k}, D={D}"
        yield Case("mixture_forward", (x, log_pi, mu, sigma), label)
        r = rng.dirichlet(np.ones(k), size=(*lead, n))
        yield Case("mixture_backward", (normal(*lead, n), r, x, mu, sigma, (True,) * 4), label)
        yield Case(
            "mixture_backward", (normal(*lead, n), r, x, mu, sigma, (False, True, True, False)), f"{label}, some"
        )


CASES = tuple(make_cases())
