"""Check every kernel, op and block on this machine, against float64 on the CPU.

    minisets selftest --device cuda      on a GPU: also how much faster its kernels are than CuPy's own operations
    minisets selftest --device cpu       the fast forms of the CPU, against the plain ones

An error is the largest difference from the plain forms in float64 (for kernels, from their NumPy references), relative
to the largest value of the result, or to 1 if that is smaller.  Values and gradients are compared; inputs are rounded
to the dtype first, so that only the error of the computation counts.  The report is written as JSON.  The exit code is
1 if a check fails.  An illegal memory access ends the use of a GPU by a process: what follows is not run, and said so.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from autograd import backend, cupy_import
from tasks.harness import machine
from tasks.harness.errors import UsageError
from tasks.harness.machine import responds
from tasks.harness.parser import Parser, hint, reader
from tasks.harness.run_folder import RunFolder
from tasks.selftest.checks import Check, checks
from tasks.selftest.kernel_cases import TOLERANCES
from tasks.selftest.timing import time_all

DTYPES = ("float32", "float64")

Groups = dict[tuple[str, str], list[Check]]  # (kind, name) -> its cases


def main(argv: list[str]) -> int:
    given = parse(argv)
    selected = select(given.device, given.only)
    out = given.out or Path("runs/selftest") / f"{given.device.replace(':', '')}.json"
    RunFolder(out.parent).make()  # if it cannot be written, report it now rather than after the checks
    about = machine.describe(given.device)
    for name, value in about.items():
        print(f"{name}: {value}")
    groups = run_checks(selected, given.device)
    failures = [text for group in groups for text in group["failures"]]
    count = len(DTYPES) * sum(map(len, selected.values()))
    skipped = count - sum(group["checks"] for group in groups)
    times = [] if given.only or not given.repeat or skipped else time_all(given.device, given.repeat)
    report = {"device": given.device, "about": about, "groups": groups, "times": times, "tolerances": TOLERANCES}
    report["not_run"] = skipped
    RunFolder(out.parent).write(out, report | {"passed": not failures, **machine.environment()})
    for text in failures:
        print(f"FAILED  {text}")
    if skipped:
        print(
            f"{given.device} no longer responds after the last of these, as after an illegal memory access, so "
            f"{skipped} checks were not run; run them in new processes, with --only NAME"
        )
    print(f"{len(failures)} of {count} checks failed" if failures else f"all {count} checks passed", f"-> {out}")
    return 1 if failures else 0


def parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="minisets selftest", description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1 (default: cpu)")
    text = "only kernels, ops and blocks whose name contains this; no timing"
    parser.add_argument("--only", metavar="TEXT", help=text)
    text = "runs to take the median time of; 0: no timing (default: 20)"
    parser.add_argument("--repeat", type=reader(int), default=20, metavar="COUNT", help=text)
    parser.add_argument("--out", type=Path, metavar="FILE", help="the report (default: runs/selftest/DEVICE.json)")
    given = parser.parse_args(argv)
    if given.repeat < 0:
        raise UsageError(f"--repeat must be at least 0, given {given.repeat}")
    try:
        backend.to_device(0.0, given.device)
    except (cupy_import.DeviceError, ValueError) as error:
        raise UsageError(f"--device {given.device}: {error}") from None
    return given


def select(device: str, only: str | None) -> Groups:
    """The checks to run, grouped by kernel, op and family of blocks."""
    groups: Groups = {}
    names = set()
    for check in checks(device):
        names.add(check.name)
        if only is None or only in check.name or only in check.label:
            groups.setdefault((check.kind, check.name), []).append(check)
    if not groups:
        suggestion = hint(only, sorted(names))
        raise UsageError(f"no kernel, op or block has {only!r} in its name" + (f"; {suggestion}" if suggestion else ""))
    return groups


def run_checks(selected: Groups, device: str) -> list[dict[str, Any]]:
    """Run the checks, and print a line for each group; stop if the device can do nothing more."""
    groups, total = [], len(DTYPES) * sum(map(len, selected.values()))
    print(f"{'':8}{'':34}{'cases':>6}{'float32':>10}{'float64':>10}")
    with tqdm(total=total, unit=" cases", disable=not sys.stderr.isatty(), leave=False) as bar:
        for (kind, name), cases in selected.items():
            group = _run_group(kind, name, cases, device, bar)
            groups.append(group)
            errors = "".join(f"{error:10.1e}" for error in group["errors"].values())
            state = "FAILED" if group["failures"] else "ok"
            tqdm.write(f"{kind[:-1]:8}{name:34}{len(cases):6}{errors}  {state}", file=sys.stdout)
            if group["checks"] < len(DTYPES) * len(cases):
                break
    return groups


def _run_group(kind: str, name: str, cases: list[Check], device: str, bar: tqdm) -> dict[str, Any]:
    """The largest error of the cases in each dtype, -1 if a case raises an exception, and what failed."""
    errors, failures, checks = dict.fromkeys(DTYPES, 0.0), [], 0
    for case, dtype in itertools.product(cases, DTYPES):
        exception, error = "", -1.0
        try:
            with np.errstate(all="ignore"):
                error = case.error(dtype)
        except Exception as raised:  # whatever CUDA, CuPy or an op may raise belongs in the report
            exception = f"{type(raised).__name__}: {raised}".splitlines()[0]
        if exception or not error <= TOLERANCES[dtype]:
            failures.append(f"{name}, {case.label}, {dtype}: {exception or f'error {error:.1e}'}")
        raised_before = errors[dtype] < 0
        errors[dtype] = -1.0 if exception or raised_before else max(errors[dtype], min(error, sys.float_info.max))
        checks += 1
        bar.update()
        if exception and not responds(device):
            break
    return {"kind": kind, "name": name, "cases": len(cases), "checks": checks, "errors": errors, "failures": failures}


if __name__ == "__main__":
    from tasks.harness.cli import main as command

    sys.exit(command(["selftest", *sys.argv[1:]]))
