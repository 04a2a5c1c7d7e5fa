"""Is the checker awake?  Raw kernels with one mistake each: a barrier less, off by one, a mask or a scale forgotten.

A mutant is caught if, on the kernel's own cases, the emulation refuses what it does, a result is wrong, or the order of
threads changes a bit.  The few that are not caught stand below with the reason; that they are not is asserted too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from autograd import backend
from autograd.kernels import attention, norm, pooling, softmax
from autograd.kernels.registry import KERNELS, Raw
from tasks.selftest import kernel_cases as cases
from tests.gpu import emulation
from tests.gpu.test_execution import SCHEDULES, on_device

pytestmark = [pytest.mark.needs("emulation"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@dataclass(frozen=True)
class Mutant:
    """In the n-th place of the CUDA text after the start of a function, one piece of text becomes another."""

    code: Raw
    kernel: str  # whose cases are run
    function: str  # in which the mistake is made
    before: str
    after: str = ""
    place: int = 1
    survives: str = ""  # why it is not caught, if it is not

    def __str__(self) -> str:
        which = f" ({self.place})" if self.place > 1 else ""
        return f"{self.function}: {self.before}{which} -> {self.after or 'nothing'}"

    def text(self) -> str:
        where = self.code.source.index(f" {self.function}(")
        for _ in range(self.place):
            where = self.code.source.index(self.before, where + 1)
        return self.code.source[:where] + self.after + self.code.source[where + len(self.before) :]


def softmax_mutants() -> Iterator[Mutant]:
    def mutant(kernel: str, *change: str, **more: object) -> Mutant:
        return Mutant(softmax.CODE, kernel, more.pop("function", kernel), *change, **more)

    yield mutant("softmax_forward", "row >= rows", "row > rows")
    yield mutant("softmax_forward", "j < width", "j <= width")
    yield mutant("softmax_forward", "j < width", "j + 1 < width")
    yield mutant("softmax_forward", "j < width", "j + 1 < width", place=2)
    yield mutant("softmax_forward", "(!mask || mask[j]) && ")
    yield mutant("softmax_forward", " && (!mask || mask[j])")
    yield mutant("softmax_forward", "step = 16", "step = 8")
    yield mutant("softmax_forward", "exp(x[j] - t) / s", "exp(x[j] - t)")
    yield mutant("softmax_forward", "s != 0 && ")
    yield mutant("softmax_forward", " && x[j] != -T(CUDART_INF)")
    yield mutant("softmax_forward", "  if (other_s == 0) return;", function="combine")
    yield mutant("softmax_forward", "s * exp(t - u)", "s", function="combine")
    yield mutant("softmax_backward", "row >= rows", "row > rows")
    yield mutant("softmax_backward", "j < width", "j <= width")
    yield mutant("softmax_backward", "dot = sum_of_warp(dot)", "dot = dot")
    yield mutant("softmax_backward", "step = 16", "step = 8", function="sum_of_warp")
    yield mutant("softmax_backward", "y[j] * (g[j] - dot)", "y[j] * g[j] - dot")


def norm_mutants() -> Iterator[Mutant]:
    def mutant(kernel: str, *change: str, **more: object) -> Mutant:
        return Mutant(norm.CODE, kernel, kernel, *change, **more)

    yield mutant("norm_forward", "row >= rows", "row > rows")
    yield mutant("norm_forward", "j < d", "j <= d")
    yield mutant("norm_forward", "+ warp * d", "+ warp * (d - 1)")
    yield mutant("norm_forward", "if (r < 0) r = 0;")
    yield mutant("norm_forward", "r > 0", "r >= 1")
    yield mutant("norm_forward", "/ T(d)", "/ T(d - 1)", place=2)
    yield mutant("norm_forward", "s[j] -= mean;")
    yield mutant("norm_forward", " + T(eps)")
    yield mutant("norm_backward", "__syncthreads();")
    yield mutant("norm_backward", "__syncthreads();", "__syncwarp();")
    yield mutant("norm_backward", "__syncwarp();")
    yield mutant("norm_backward", "j < 3 * d", "j < 2 * d")
    yield mutant("norm_backward", "row += gridDim.x * (long long)warps", "row += gridDim.x")
    yield mutant("norm_backward", "row < rows", "row <= rows")
    yield mutant("norm_backward", "relu_mask[start + j] ? value : T(0)", "value")
    yield mutant("norm_backward", " * scale;", ";")
    yield mutant("norm_backward", "- z[j] * mean_projection", "")
    yield mutant("norm_backward", "w < warps", "w < warps - 1")


def attention_mutants() -> Iterator[Mutant]:
    def mutant(part: str, *change: str, **more: object) -> Mutant:
        kernel = part if part == "attention_forward" else "attention_backward"
        return Mutant(attention.CODE, kernel, more.pop("function", part), *change, **more)

    for part in ("attention_forward", "attention_queries", "attention_keys"):
        for place in range(1, 4 if part == "attention_queries" else 3):
            yield mutant(part, "__syncthreads();", place=place)
            yield mutant(part, "__syncthreads();", "__syncwarp();", place=place)
        if part != "attention_forward":
            for place in range(1, 4 if part == "attention_keys" else 2):
                yield mutant(part, "__syncwarp();", place=place)
        yield mutant(part, "j < at.m", "j <= at.m")
        yield mutant(part, "&& visible(i, j)", "")
        yield mutant(part, "T(scale)", "T(1)")
    waited = (
        "the shuffles before it make the lanes wait too; that their writes are seen, the emulation takes for granted"
    )
    yield mutant("attention_forward", "__syncwarp();", survives=waited)
    yield mutant("attention_forward", "return visible.key(j);", "return true;")
    yield mutant("attention_forward", "output[r][c] *= decay")
    yield mutant("attention_forward", "s[r] * decay", "s[r]")
    yield mutant("attention_forward", "output[r][c] *= share")
    yield mutant("attention_forward", "top == -T(CUDART_INF) ? T(0) : top", "top")
    yield mutant("attention_forward", "T top = t[r]", "T top = -T(CUDART_INF)")
    yield mutant("attention_forward", "t[r] + log(s[r])", "log(s[r])")
    yield mutant("attention_forward", "LANES / 2", "LANES / 4", function="largest")
    yield mutant("attention_forward", "column < width", "column <= width", function="load")
    yield mutant("attention_forward", "first + row < rows", "first + row <= rows", function="load")
    yield mutant("attention_forward", "row < rows && column", "row <= rows && column", function="store")
    yield mutant("attention_queries", "return visible.key(j);", "return true;")
    yield mutant("attention_queries", "(gP[r][c] - d[r])", "gP[r][c]")
    yield mutant("attention_queries", "T(scale)", "T(1)", place=2)
    yield mutant("attention_keys", "L[i] != -T(CUDART_INF)", "true")
    yield mutant("attention_keys", "i < at.n &&", "")
    yield mutant("attention_keys", "query += TILE", "query += TILE + 1")
    yield mutant("attention_keys", "(gP[r][c] - delta[i])", "gP[r][c]")


def pooling_mutants() -> Iterator[Mutant]:
    def mutant(*change: str, **more: object) -> Mutant:
        return Mutant(pooling.FORWARD, "max_pool_forward", "max_pool_forward", *change, **more)

    yield mutant("set >= sets", "set > sets")
    yield mutant("element < n", "element <= n")
    yield mutant("element = 0", "element = 1")
    yield mutant("if (mask && !mask[element]) continue;")
    yield mutant("equal = 0;", "equal = equal;", place=2)
    yield mutant(" || (value != value && best == best)")
    yield mutant("where < 0 || ")


MUTANTS = [*softmax_mutants(), *norm_mutants(), *attention_mutants(), *pooling_mutants()]


def caught(mutant: Mutant) -> str:
    """How the mutant was found out; empty if it was not."""
    for case in cases.CASES:
        if case.kernel != mutant.kernel or "1025" in case.label:
            continue
        bits = set()
        for schedule in SCHEDULES:
            arguments = case.on_device("float32", on_device)
            try:
                with emulation.schedule(schedule):
                    got = [backend.to_host(y) for y in cases.results(KERNELS[case.kernel].launch(*arguments))]
                emulation.check()
            except emulation.KernelError as error:
                return f"{case}: {error}"
            error = max(map(cases.relative_error, got, case.expected("float32")), default=0.0)
            if error > cases.TOLERANCES["float32"]:
                return f"{case}: error {error}"
            bits.add(b"".join(y.tobytes() for y in got))
        if len(bits) > 1:
            return f"{case}: the order of threads matters"
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant(mutant: Mutant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(mutant.code.__dict__, "source", mutant.text())
    found = caught(mutant)
    assert bool(found) != bool(mutant.survives), found or "no test noticed"


@pytest.mark.parametrize("kernel", sorted({mutant.kernel for mutant in MUTANTS}))
def test_without_a_mistake_nothing_is_caught(kernel: str):
    code = next(mutant.code for mutant in MUTANTS if mutant.kernel == kernel)
    assert caught(Mutant(code, kernel, kernel, "")) == ""
