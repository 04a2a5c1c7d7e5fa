"""Test inputs for the attention kernels: sizes around those of tiles, masks, strides, nan and inf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograd.kernels import attention
from tasks.selftest.case import Case


def attention_cases(
    normal: Callable, random_mask: Callable, rng: np.random.Generator, sizes: Sequence[int]
) -> Iterator[Case]:
    shapes = [(2, 3, n, 33, 5, 4) for n in sizes] + [(2, 3, 33, m, 5, 4) for m in sizes]
    shapes += [(1, 2, 35, 37, e, e) for e in (1, 15, 16, 17, 32, 33, 64, 65, 127, 128)]
    shapes += [(1, 2, 34, 36, 16, 50), (1, 2, 34, 36, 128, 1), (0, 2, 3, 4, 5, 6)]
    for B, h, n, m, e, f in shapes:
        label = f"B={B}, h={h}, n={n}, m={m}, e={e}, f={f}"
        q, k, v = normal(B, h, n, e), normal(B, h, m, e), normal(B, h, m, f)
        yield from _forward_and_backward(label, q, k, v, None, None, 0.4, normal)
    for label, scale in (("", 0.5), (", large scores", 10.0)):
        q, k, v = normal(3, 2, 40, 6), normal(3, 2, 70, 6), normal(3, 2, 70, 6)
        keys = np.broadcast_to(random_mask(3, 70)[:, None], (3, 2, 70))  # all keys of the first set are masked
        masked = np.where(keys[..., None], k, np.nan), np.where(keys[..., None], v, np.inf)
        yield from _forward_and_backward(f"keys masked{label}", q, *masked, keys, None, scale, normal)
        pairs = np.broadcast_to(rng.random((3, 1, 40, 70)) < 0.1, (3, 2, 40, 70)).copy()
        pairs[:, :, 3:9] = False  # queries that attend to no keys
        pairs[..., 50:] = False  # and keys that no query attends to
        keys = np.logical_or.reduce(pairs, axis=-2)
        q = np.where(pairs.any(axis=-1, keepdims=True), q, np.nan)
        masked = np.where(keys[..., None], k, np.nan), np.where(keys[..., None], v, np.inf)
        yield from _forward_and_backward(f"pairs masked{label}", q, *masked, keys, pairs, scale, normal)
    q = np.broadcast_to(normal(1, 2, 5, 8), (3, 2, 5, 8))
    heads = normal(3, 40, 2, 8).swapaxes(1, 2)  # non-contiguous views
    yield from _forward_and_backward("heads as views, queries broadcast", q, heads, heads, None, None, 0.3, normal)
    # As above, but every array has strides of its own, and no two heads share a mask.
    q, k = normal(2, 3, 80, 12)[:, ::-1, ::2, 2:7], normal(4, 3, 35, 5)[::-2, :, ::-1]
    v = normal(2, 3, 35, 4)[..., ::-1]
    for label, keys in (
        ("transposed", (rng.random((35, 3, 4)) < 0.6).transpose(2, 1, 0)[::2]),
        ("reversed", (rng.random((2, 6, 70)) < 0.6)[::-1, ::2, ::-2]),
    ):
        yield from _forward_and_backward(f"strided, keys masked, {label}", q, k, v, keys, None, 0.4, normal)
    v = normal(2, 4, 3, 35).transpose(0, 2, 3, 1)
    for label, pairs in (
        ("transposed", (rng.random((35, 3, 40, 2)) < 0.4).transpose(3, 1, 2, 0)),
        ("reversed", (rng.random((2, 6, 40, 70)) < 0.4)[::-1, ::-2, ::-1, ::-2]),
        ("shared by the heads", np.broadcast_to(rng.random((2, 1, 40, 35)) < 0.4, (2, 3, 40, 35))),
        ("shared by the sets", np.broadcast_to(rng.random((3, 40, 35)) < 0.4, (2, 3, 40, 35))),
    ):
        keys = np.logical_or.reduce(pairs, axis=-2)
        yield from _forward_and_backward(f"strided, pairs masked, {label}", q, k, v, keys, pairs, 0.4, normal)
    yield from _special_values(normal)


def _special_values(normal: Callable[..., np.ndarray]) -> Iterator[Case]:
    """nan and inf that are not masked, and scores of -inf, go where the formula takes them; and so do exact zeros."""
    for name, place in (("query", 0), ("key", 1), ("value", 2)):
        for value in (np.nan, np.inf):
            inputs = [normal(2, 2, 35, 6), normal(2, 2, 34, 6), normal(2, 2, 34, 5)]
            inputs[place][0, 1, 33, 2] = value
            mask = np.ones((2, 2, 34), bool)
            mask[..., 5] = False
            yield from _forward_and_backward(f"a {name} is {value}", *inputs, mask, None, 0.4, normal)
    q, k, v = np.abs(normal(1, 2, 3, 4)), np.abs(normal(1, 2, 33, 4)), normal(1, 2, 33, 4)
    q[0, 0, 1] = -1e38  # its scores are -inf in float32, and finite in float64
    yield from _forward_and_backward("all scores are -inf", np.where(q < -1, -np.inf, q), k, v, None, None, 1.0, normal)
    q, k, v = np.zeros((1, 1, 3, 4)), normal(1, 1, 40, 4), normal(1, 1, 40, 4)
    yield from _forward_and_backward("queries of zeros", q, k, v, None, None, 1.0, normal)
    q, k, v = normal(1, 1, 40, 4), normal(1, 1, 1, 4), normal(1, 1, 1, 4)
    yield from _forward_and_backward("a single key", q, k, v, None, None, 1.0, normal)


def _forward_and_backward(label: str, *arguments: Any) -> Iterator[Case]:
    """Forward, and backward from the results of the reference; g is nan where a query has no keys."""
    given, normal = arguments[:-1], arguments[-1]
    yield Case("attention_forward", given, label, exact_zeros=True)
    o, L = attention.forward_reference(*given)
    g = np.where((-np.inf == L)[..., None], np.nan, normal(*o.shape))
    o, g = (x.swapaxes(1, 2).copy().swapaxes(1, 2) for x in (o, g))  # heads side by side in memory, as in a network
    yield Case("attention_backward", (*given, o, L, g), label, exact_zeros=True)
