"""The checks of the self-test: the errors of every kernel, op and block on a device.

An error is the largest difference from the plain forms in float64 on the CPU (for kernels, from their NumPy
references), relative to the largest value of the result, or to 1 if that is smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor, backend, forms
from autograd.cases import CASES as OP_CASES
from autograd.cases import Case
from tasks.selftest import kernel_cases
from tasks.selftest.kernel_cases import is_floating, relative_error
from tasks.selftest.network_cases import D_IN, NETWORK_CASES, NetworkCase


@dataclass(frozen=True)
class Check:
    """One case of a kernel, an op or a family of blocks."""

    kind: str  # kernels, ops or blocks
    name: str
    label: str
    error: Callable[[str], float]  # dtype -> error


def checks(device: str) -> Iterator[Check]:
    """All checks on a device."""
    if device != "cpu":  # kernels are CUDA
        for case in kernel_cases.CASES:
            yield Check(
                "kernels", case.kernel, case.label, lambda dtype, c=case: c.error(dtype, lambda x: to(device, x))
            )
    for case in OP_CASES:
        yield Check("ops", case.op, case.label or "plain", lambda dtype, c=case: op_error(c, dtype, device))
    for case in NETWORK_CASES:
        family = case.name.split("-")[0].split(":")[0]
        yield Check("blocks", family, case.name, lambda dtype, c=case: block_error(c, dtype, device))


def to(device: str, x: Any) -> Any:
    """An array on the device; anything else as it is."""
    return backend.to_device(x, device) if isinstance(x, np.ndarray) else x


def op_error(case: Case, dtype: str, device: str) -> float:
    """The error of an op's values and gradients."""
    rounded = [x.astype(dtype) if is_floating(x) else x for x in case.inputs]
    actual = op_results(case, [Tensor(to(device, x), True) if is_floating(x) else x for x in rounded])
    # dropout's random mask depends on the dtype, so its reference has the same one
    exact = dtype if case.op == "dropout" else "float64"
    with forms.plain_forms():
        expected = op_results(case, [Tensor(x.astype(exact), True) if is_floating(x) else x for x in rounded])
    return max((relative_error(a, b) for a, b in zip(actual, expected, strict=True)), default=0.0)


def op_results(case: Case, inputs: list) -> list[np.ndarray]:
    """All values and gradients of a case, on the host."""
    result = case.run(*inputs)
    outputs = result if isinstance(result, list) else [result]
    rng = np.random.default_rng(0)
    for y in outputs:
        y.backward(rng.normal(size=y.shape).astype("float32"))
    gradients = [x.grad for x in inputs if isinstance(x, Tensor)]
    return [y.numpy() for y in outputs] + [backend.to_host(g) for g in gradients]


def block_error(case: NetworkCase, dtype: str, device: str) -> float:
    """The error of a block's values and gradients, without a mask and with one that leaves the first set empty."""
    rng, worst = np.random.default_rng(0), 0.0
    X, mask = rng.normal(size=(3, 37, D_IN)).astype(dtype), rng.random((3, 37)) >= 0.3
    mask[0] = False
    for given in (None, mask):
        actual = block_results(case.net(dtype=dtype).to(device), to(device, X), to(device, given))
        with forms.plain_forms():
            expected = block_results(case.net(dtype=dtype).astype("float64"), X.astype("float64"), given)
        worst = max(worst, *(relative_error(a, b) for a, b in zip(actual, expected, strict=True)))
    return worst


def block_results(net: Any, X: Any, mask: Any) -> list[np.ndarray]:
    """The output and all gradients of a network, on the host."""
    X = Tensor(X, requires_grad=True)
    y = net(X, mask)
    y.backward(np.random.default_rng(1).normal(size=y.shape).astype("float32"))
    gradients = [p.grad for p in net.parameters() if p.grad is not None]
    return [y.numpy(), *(backend.to_host(g) for g in (X.grad, *gradients))]
