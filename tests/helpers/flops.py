"""Multiplications and additions in the matrix products of what runs in plain forms, from the shapes that go through."""

import contextlib
import math
from collections.abc import Iterator
from unittest import mock

import numpy as np

import autograd
from autograd.forms import plain_forms


@contextlib.contextmanager
def counted() -> Iterator[list[tuple[int, int]]]:
    """Pairs of numbers, one pair for each op: FLOPs forward, and those of the gradients that are needed."""
    found: list[tuple[int, int]] = []

    def watch(op, flops):
        plain = op.compute

        def compute(needs_grad, *arrays, **settings):
            y, pull = plain(needs_grad, *arrays, **settings)
            found.append(flops(y, needs_grad, *arrays))
            return y, pull

        return mock.patch.object(op, "compute", compute)

    def linear(y, needs_grad, x, w, bias):
        product = 2 * math.prod(x.shape[:-1]) * w.size
        return product, product * (needs_grad[0] + needs_grad[1])

    def conv2d(y, needs_grad, x, w, bias):
        product = 2 * y.size // y.shape[1] * w.size
        return product, product * (needs_grad[0] + needs_grad[1])

    def attention(y, needs_grad, q, k, v):
        batch = math.prod(np.broadcast_shapes(q.shape[:-2], k.shape[:-2]))
        forward = 2 * batch * q.shape[-2] * k.shape[-2] * (q.shape[-1] + v.shape[-1])
        return forward, 2 * forward

    with plain_forms(), contextlib.ExitStack() as patches:
        for op, flops in ((autograd.linear, linear), (autograd.conv2d, conv2d), (autograd.attention, attention)):
            patches.enter_context(watch(op, flops))
        yield found
