"""Does everything compute the right numbers on this machine?  Every kernel, op and block, against float64 on the CPU.

    minisets selftest --device cuda      on a GPU: also what its kernels gain over CuPy's own operations
    minisets selftest --device cpu       the fast forms of the CPU, against the plain ones

An error is the largest difference from the plain forms in float64 (for kernels: from their NumPy references), as a part
of the largest number of the result, or of 1 if that is less.  Results are values and gradients; inputs are rounded to
the dtype first, so that what is measured is the error of computing.  The report is written as JSON.  Exit code 1 if
anything is off.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import autograd
from autograd import Tensor, backend, forms
from autograd.cases import CASES as OP_CASES
from autograd.cases import Case
from minisets import ISAB, SAB
from minisets.fast.blocks import linear, residual_norm
from minisets.optim import Adam
from tasks.harness import machine
from tasks.harness.errors import UsageError
from tasks.harness.machine import environment
from tasks.harness.parser import Parser, reader
from tasks.harness.run_folder import RunFolder
from tasks.selftest import kernel_cases as kernels
from tasks.selftest.network_cases import D_IN, SUBJECTS, Subject

DTYPES = ("float32", "float64")

Check = tuple[str, str, Callable[[str], float]]  # the name of a group, of a case in it, and its error in a dtype


# ---- what is checked ------------------------------------------------------------------------------------------------


def checks(device: str) -> Iterator[tuple[str, Check]]:
    """Everything there is to check on a device, by kind."""
    if device != "cpu":  # kernels are CUDA
        for case in kernels.CASES:
            yield "kernels", (case.kernel, case.label, lambda d, c=case: c.error(d, lambda x: to(device, x)))
    for case in OP_CASES:
        yield "ops", (case.op, case.label or "plain", lambda d, c=case: op_error(c, d, device))
    for subject in SUBJECTS:
        family = subject.name.split("-")[0].split(":")[0]
        yield "blocks", (family, subject.name, lambda d, s=subject: block_error(s, d, device))


def to(device: str, x: Any) -> Any:
    return backend.to_device(x, device) if isinstance(x, np.ndarray) else x


def op_error(case: Case, dtype: str, device: str) -> float:
    """The error of an op's values and gradients."""
    rounded = [x.astype(dtype) if _floating(x) else x for x in case.inputs]
    got = op_results(case, [Tensor(to(device, x), True) if _floating(x) else x for x in rounded])
    # Random numbers of another dtype would be other numbers.
    right = dtype if case.op == "dropout" else "float64"
    with forms.plain_forms():
        want = op_results(case, [Tensor(x.astype(right), True) if _floating(x) else x for x in rounded])
    return max((kernels.distance(a, b) for a, b in zip(got, want, strict=True)), default=0.0)


def op_results(case: Case, inputs: list) -> list[np.ndarray]:
    """All values and gradients of a case, on the host."""
    result = case.run(*inputs)
    outputs = result if isinstance(result, list) else [result]
    rng = np.random.default_rng(0)
    for y in outputs:
        y.backward(rng.normal(size=y.shape).astype("float32"))
    gradients = [x.grad for x in inputs if isinstance(x, Tensor)]
    return [y.numpy() for y in outputs] + [backend.to_host(g) for g in gradients]


def block_error(subject: Subject, dtype: str, device: str) -> float:
    """The error of a block's values and gradients, without a mask and with one that leaves one set empty."""
    rng, worst = np.random.default_rng(0), 0.0
    X, hidden = rng.normal(size=(3, 37, D_IN)).astype(dtype), rng.random((3, 37)) < 0.3
    hidden[0] = True
    for mask in (None, ~hidden):
        got = block_results(subject.net(dtype=dtype).to(device), to(device, X), to(device, mask))
        with forms.plain_forms():
            want = block_results(subject.net(dtype=dtype).astype("float64"), X.astype("float64"), mask)
        worst = max(worst, *(kernels.distance(a, b) for a, b in zip(got, want, strict=True)))
    return worst


def block_results(net: Any, X: Any, mask: Any) -> list[np.ndarray]:
    X = Tensor(X, requires_grad=True)
    y = net(X, mask)
    y.backward(np.random.default_rng(1).normal(size=y.shape).astype("float32"))
    parameters = [p.grad for p in net.parameters() if p.grad is not None]
    return [y.numpy(), *(backend.to_host(g) for g in (X.grad, *parameters))]


def _floating(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


# ---- what is timed --------------------------------------------------------------------------------------------------


def timed(device: str, B: int = 10, n: int = 512, d: int = 128, h: int = 4) -> Iterator[tuple[str, Callable[[], None]]]:
    """Forward and backward of what networks are made of, in float32, for B sets of n elements with d features."""
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> Tensor:
        return Tensor(to(device, rng.normal(size=shape).astype("float32")), requires_grad=True)

    def step(function: Callable[..., Tensor], *inputs: Tensor) -> Callable[[], None]:
        seed = to(device, np.ones(function(*inputs).shape, "float32"))

        def run() -> None:
            for x in inputs:
                x.grad = None
            function(*inputs).backward(seed)

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
    yield f"Adam, {sum(p.size for p in net.parameters()):,} numbers", Adam(net.parameters()).step


def seconds(run: Callable[[], None], device: str, repeat: int) -> float:
    """The median of so many runs, after two that are not counted."""
    spans = []
    for _ in range(2 + repeat):
        machine.synchronize(device)
        before = time.perf_counter()
        run()
        machine.synchronize(device)
        spans.append(time.perf_counter() - before)
    return statistics.median(spans[2:])


# ---- the command ----------------------------------------------------------------------------------------------------


def main(argv: list[str]) -> int:
    look = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = Parser(prog="minisets selftest", **look)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1 (default: cpu)")
    parser.add_argument("--only", metavar="TEXT", help="only kernels, ops and blocks whose name has this in it")
    count = "runs to take the median time of; 0: no timing (default: 20)"
    parser.add_argument("--repeat", type=reader(int), default=20, metavar="COUNT", help=count)
    parser.add_argument("--out", type=Path, metavar="FILE", help="the report (default: runs/selftest/DEVICE.json)")
    given = parser.parse_args(argv)
    if given.repeat < 0:
        raise UsageError(f"--repeat must be at least 0, given {given.repeat}")
    try:
        backend.to_device(0.0, given.device)
    except (backend.DeviceError, ValueError) as error:
        raise UsageError(f"--device {given.device}: {error}") from None
    found = select(given.device, given.only)
    out = given.out or Path("runs/selftest") / f"{given.device.replace(':', '')}.json"
    RunFolder(out.parent).make()  # better refused now than after minutes
    about = machine.describe(given.device)
    for name, value in about.items():
        print(f"{name}: {value}")
    groups = check(found)
    times = [] if given.only or not given.repeat else clock(given.device, given.repeat)
    wrong = [text for group in groups for text in group["wrong"]]
    report = {
        "device": given.device,
        "about": about,
        "groups": groups,
        "times": times,
        "tolerances": kernels.TOLERANCES,
    }
    RunFolder(out.parent).write(out, report | {"passed": not wrong, **environment()})
    for text in wrong:
        print(f"WRONG  {text}")
    count = len(DTYPES) * sum(group["cases"] for group in groups)
    print(f"{len(wrong)} of {count} checks are off" if wrong else f"all {count} checks are right", f"-> {out}")
    return 1 if wrong else 0


def select(device: str, only: str | None) -> dict[tuple[str, str], list[Check]]:
    """The checks to run, by kind and name."""
    found: dict[tuple[str, str], list[Check]] = {}
    for kind, one in checks(device):
        if only is None or only in one[0] or only in one[1]:
            found.setdefault((kind, one[0]), []).append(one)
    if not found:
        raise UsageError(f"no kernel, op or block has {only!r} in its name")
    return found


def check(found: dict[tuple[str, str], list[Check]]) -> list[dict[str, Any]]:
    """Run the checks, and print a line for each kernel, op and family of blocks."""
    groups, total = [], len(DTYPES) * sum(map(len, found.values()))
    print(f"{'':8}{'':34}{'cases':>6}{'float32':>10}{'float64':>10}")
    with tqdm(total=total, unit=" cases", disable=not sys.stderr.isatty(), leave=False) as bar:
        for (kind, name), members in found.items():
            groups.append(_group(kind, name, members, bar))
            errors = "".join(f"{error:10.1e}" for error in groups[-1]["errors"].values())
            state = "WRONG" if groups[-1]["wrong"] else "ok"
            tqdm.write(f"{kind[:-1]:8}{name:34}{len(members):6}{errors}  {state}", file=sys.stdout)
    return groups


def _group(kind: str, name: str, members: list[Check], bar: tqdm) -> dict[str, Any]:
    """The largest errors of some cases; a case that cannot run at all is wrong too, and its error -1."""
    errors, wrong = dict.fromkeys(DTYPES, 0.0), []
    for _, label, error in members:
        for dtype in DTYPES:
            said, value = "", -1.0
            try:
                with np.errstate(all="ignore"):
                    value = error(dtype)
            except Exception as failure:  # whatever CUDA, CuPy or an op may raise: it belongs in the report
                said = f"{type(failure).__name__}: {failure}".splitlines()[0]
            if said or not value <= kernels.TOLERANCES[dtype]:
                wrong.append(f"{name}, {label}, {dtype}: {said or f'error {value:.1e}'}")
            errors[dtype] = -1.0 if said or errors[dtype] < 0 else max(errors[dtype], min(value, sys.float_info.max))
            bar.update()
    return {"kind": kind, "name": name, "cases": len(members), "errors": errors, "wrong": wrong}


def clock(device: str, repeat: int) -> list[dict[str, Any]]:
    """Print and return how long things take, in the forms that run and in plain ones."""
    rows = []
    print(f"{'forward and backward, float32':42}{'fast ms':>10}{'plain ms':>10}{'ratio':>8}")
    for name, run in timed(device):
        fast = seconds(run, device, repeat)
        with forms.plain_forms():
            plain = seconds(run, device, repeat)
        rows.append({"name": name, "fast_ms": fast * 1e3, "plain_ms": plain * 1e3})
        print(f"{name:42}{fast * 1e3:10.3f}{plain * 1e3:10.3f}{plain / fast:8.2f}", flush=True)
    return rows


if __name__ == "__main__":
    from tasks.harness.cli import main as command

    sys.exit(command(["selftest", *sys.argv[1:]]))
