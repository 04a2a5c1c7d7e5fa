"""The times of the self-test: forward and backward of the parts of a network, in fast and in plain forms."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autograd
from autograd import Tensor, forms
from minisets import ISAB, SAB
from minisets.fast.blocks import linear, residual_norm
from minisets.optim import Adam
from tasks.harness import machine
from tasks.selftest.checks import to


def time_all(device: str, repeat: int) -> list[dict[str, Any]]:
    """Print and return the times of all workloads, with fast forms and with plain ones."""
    rows = []
    print(f"{'forward and backward, float32':42}{'fast ms':>10}{'plain ms':>10}{'ratio':>8}")
    for name, run in workloads(device):
        fast = median_seconds(run, device, repeat)
        with forms.plain_forms():
            plain = median_seconds(run, device, repeat)
        rows.append({"name": name, "fast_ms": fast * 1e3, "plain_ms": plain * 1e3})
        print(f"{name:42}{fast * 1e3:10.3f}{plain * 1e3:10.3f}{plain / fast:8.2f}", flush=True)
    return rows


def median_seconds(run: Callable[[], None], device: str, repeat: int) -> float:
    """The median time of `repeat` runs, after two warm-up runs."""
    times = []
    for _ in range(2 + repeat):
        machine.synchronize(device)
        start = time.perf_counter()
        run()
        machine.synchronize(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def workloads(
    device: str, B: int = 10, n: int = 512, d: int = 128, h: int = 4
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Names and functions that run forward and backward, for B sets of n elements with d features."""
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> Tensor:
        return Tensor(to(device, rng.normal(size=shape).astype("float32")), requires_grad=True)

    def step(function: Callable[..., Tensor], *inputs: Tensor) -> Callable[[], None]:
        upstream = to(device, np.ones(function(*inputs).shape, "float32"))

        def run() -> None:
            for x in inputs:
                x.grad = None
            function(*inputs).backward(upstream)

        return run

    q, k, v = (tensor(B, h, n, d // h) for _ in range(3))
    x, z, w, vector = tensor(B, n, d), tensor(B, n, d), tensor(d, d), tensor(d)
    yield f"attention ({B}, {h}, {n}, {d // h})", step(autograd.attention, q, k, v)
    yield f"softmax ({B * n}, {n})", step(autograd.softmax, tensor(B * n, n))
    yield f"layer_norm ({B * n}, {d})", step(autograd.layer_norm, x, vector, vector)
    half = functools.partial(residual_norm, relu=True, eps=1e-5)
    yield f"half of a MAB ({B * n}, {d})", step(half, x, z, w, vector, vector, vector)
    yield f"linear + ReLU ({B * n}, {d})", step(functools.partial(linear, relu=True), x, w, vector)
    yield f"max_pool ({B}, {n}, {d})", step(autograd.max_pool, x)
    parts = tensor(B, 4), tensor(B, 4, 2), Tensor(to(device, np.ones((B, 4, 2), "float32")), requires_grad=True)
    likelihood = autograd.gaussian_mixture_log_likelihood
    yield f"mixture ({B}, {n}, 4, 2)", step(likelihood, tensor(B, n, 2), *parts)
    for name, block in (("SAB", SAB(d, d, h, rng=rng)), ("ISAB", ISAB(d, d, h, 16, rng=rng))):
        yield f"{name}({d}, {h}) on ({B}, {n})", step(block.to(device), x)
    net = SAB(d, d, h, rng=rng).to(device)
    for p in net.parameters():
        p.grad = to(device, np.ones(p.shape, "float32"))
    yield f"Adam, {sum(p.size for p in net.parameters()):,} parameters", Adam(net.parameters()).step
