"""Arrays of more than 2³¹ elements, for which 32 bits are not enough to count: that kernels count with 64.

Their memory is reserved and only what is touched exists; only the first and the last block of a grid are run.  Each
function returns the error of the last rows, those beyond 2³¹.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograd.backend import Array, as_strided, gpu, to_device, to_host
from autograd.kernels.registry import KERNELS
from tasks.selftest.case import relative_error, results
from tests.gpu import emulation

LIMIT = 2**31
RNG = np.random.default_rng(0)


def sparse(shape: tuple[int, ...], last: np.ndarray) -> Array:
    """An array that ends with these rows, and for the rest is zeros that take no memory."""
    x = gpu().empty(shape, last.dtype)
    x[-len(last) :] = to_device(last, "cuda")
    return x


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def run(kernel: str, *arguments: object, skipped: str = "") -> list[Array]:
    with emulation.only_ends(skipped):
        return results(KERNELS[kernel].launch(*arguments))


def error(actual: list[Array], expected: object) -> float:
    """Of the last rows of the results, as many as are expected."""
    pairs = zip(actual, results(expected), strict=False)
    return max(relative_error(to_host(a[-len(b) :]), b) for a, b in pairs)


def softmax_forward() -> float:
    x, mask, shape = normal(2, 64), RNG.random((2, 64)) < 0.7, (LIMIT // 64 + 8, 64)
    y = run("softmax_forward", sparse(shape, x), sparse(shape, mask))
    return error(y, KERNELS["softmax_forward"].reference(x, mask))


def softmax_backward() -> float:
    y, g, shape = np.abs(normal(2, 64)), normal(2, 64), (LIMIT // 64 + 8, 64)
    gx = run("softmax_backward", sparse(shape, y), sparse(shape, g))
    return error(gx, KERNELS["softmax_backward"].reference(y, g))


def norm_forward() -> float:
    x, p, b, shape = normal(2, 64), normal(2, 64), normal(64), (LIMIT // 64 + 8, 64)
    found = run("norm_forward", sparse(shape, x), sparse(shape, p), to_device(b, "cuda"), None, None, True, 1e-5)
    return error(found, KERNELS["norm_forward"].reference(x, p, b, None, None, True, 1e-5))


def norm_backward() -> float:
    """The last block takes every 256th pair of rows, the last one among them."""
    g, normalized, inverse, shape = normal(1, 1024), normal(1, 1024), np.ones(1, "float32"), (LIMIT // 1024 + 512, 1024)
    relu_mask = RNG.random((1, 1024)) < 0.5
    arrays = [sparse(shape, g), sparse(shape, normalized), sparse(shape[:1], inverse), None, sparse(shape, relu_mask)]
    gs, gp, _ = KERNELS["norm_backward"].reference(g, normalized, inverse, None, relu_mask)
    return error(run("norm_backward", *arrays), (gs, gp))


def max_pool_forward() -> float:
    x, mask = normal(2, 2, 64), np.array([[True, False], [True, True]])
    sets = LIMIT // 64 + 8
    found = run("max_pool_forward", sparse((sets, 2, 64), x), sparse((sets, 2), mask))
    return error(found, KERNELS["max_pool_forward"].reference(x, mask))


def max_pool_backward() -> float:
    """Elements that tie, so that x is read."""
    x, g = np.ones((2, 2, 64), "float32"), normal(2, 64)
    saved = KERNELS["max_pool_forward"].reference(x, None)
    sets = LIMIT // 128 + 8
    arrays = [sparse((sets, 64), g), sparse((sets, 2, 64), x), *(sparse((sets, 64), a) for a in saved), None]
    found = run("max_pool_backward", *arrays)
    return error([a[-1:] for a in found], KERNELS["max_pool_backward"].reference(g, x, *saved, None)[-1:])


def mixture_forward() -> float:
    n, k = LIMIT // 4 + 8, 4
    x, mu, sigma, log_pi = normal(1, 1), normal(k, 1), np.ones((k, 1), "float32"), np.full(k, np.log(0.25), "float32")
    found = run("mixture_forward", sparse((n, 1), x), *(to_device(z, "cuda") for z in (log_pi, mu, sigma)))
    return error(found, KERNELS["mixture_forward"].reference(x, log_pi, mu, sigma))


# ---- attention, with heads of one feature ---------------------------------------------------------------------------


def attention(sets: int, n: int, m: int, skipped: str = "") -> float:
    """Two heads of many sets, or of one with many queries, or with many keys; compared at their end.

    Only the last 40 keys are not masked; blocks that would loop over too many rows are skipped, and what they compute.
    """
    q, g, k, v = (normal(1, 2, min(rows, 40), 1) for rows in (n, n, m, m))
    mask = RNG.random((1, 2, min(m, 40))) < 0.7

    def at_the_end(x: np.ndarray, rows: int) -> Array:
        whole = gpu().empty((sets, 2, rows, *x.shape[3:]), x.dtype)
        whole[-1:, :, rows - x.shape[2] :] = to_device(x, "cuda")
        return whole

    def worst(actual: list[Array], expected: list[np.ndarray]) -> float:
        pairs = zip(actual, expected, strict=True)
        return max(relative_error(to_host(a[-1:, 1, -6:]), b[:, 1, -6:]) for a, b in pairs)

    small, arrays = (q, k, v, mask, None, 0.4), [at_the_end(*x) for x in ((q, n), (k, m), (v, m), (mask, m))]
    o, L = KERNELS["attention_forward"].reference(*small)
    forward = 0.0
    if "queries" not in skipped:
        forward = worst(run("attention_forward", *arrays, None, 0.4), [o, L])
    expected = KERNELS["attention_backward"].reference(*small, o, L, g)
    arrays += [None, 0.4, *(at_the_end(x, n) for x in (o, L, g))]
    found = run("attention_backward", *arrays, skipped=skipped)
    # gQ is of the one launch; gV, and but for δ gK, of the other
    parts = {"attention_keys": slice(0, 1), "attention_queries": slice(2, 3), "": slice(None)}[skipped]
    return max(forward, worst(found[parts], expected[parts]))


def attention_sets() -> float:
    return attention(LIMIT // 64 + 8, 32, 70)


def attention_queries() -> float:
    return attention(1, LIMIT + 40, 3, skipped="attention_keys")


def attention_keys() -> float:
    return attention(1, 3, LIMIT + 40, skipped="attention_queries")


def attention_rows() -> float:
    """Few rows, but far apart: as of a view of a huge array."""
    distance = LIMIT // 32

    def apart(x: np.ndarray) -> Array:
        memory = gpu().empty(x.shape[2] * distance, x.dtype)
        strides = (0, 0, distance * x.itemsize, x.itemsize)[: x.ndim]
        view = as_strided(memory, x.shape, strides)
        view[...] = to_device(x, "cuda")
        return view

    q, k, v, g = (normal(1, 1, 40, 4) for _ in range(4))
    pairs = RNG.random((1, 1, 40, 40)) < 0.5
    keys = np.logical_or.reduce(pairs, axis=-2)
    worst = 0.0
    for masks in ((keys, pairs), (keys & (np.arange(40) > 3), None)):
        small = (q, k, v, *masks, 0.4)
        arrays = [x if x is None else apart(x) for x in small[:5]]
        o, L = KERNELS["attention_forward"].reference(*small)
        worst = max(worst, error(run("attention_forward", *arrays, 0.4), (o, L)))
        more = (apart(o), to_device(L, "cuda"), apart(g))
        expected = KERNELS["attention_backward"].reference(*small, o, L, g)
        worst = max(worst, error(run("attention_backward", *arrays, 0.4, *more), expected))
    return worst


HUGE: dict[str, Callable[[], float]] = {
    function.__name__: function
    for function in (
        softmax_forward,
        softmax_backward,
        norm_forward,
        norm_backward,
        max_pool_forward,
        max_pool_backward,
        mixture_forward,
        attention_sets,
        attention_queries,
        attention_keys,
        attention_rows,
    )
}
