"""Is the checker awake?  Mistakes in CUDA (mutants.py), and in the Python that launches it.

A mutant is caught if, on the kernel's own cases, the emulation refuses what it does, a result is wrong, or the order of
threads changes a bit.  The few that are not caught stand there with the reason; that they are not is asserted too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import pytest
from cupy.cuda.compiler import CompileException

from autograd import backend
from autograd.kernels import attention, norm, ops, pooling, products, registry
from autograd.kernels.registry import KERNELS
from minisets.fast import optim
from minisets.optim import Adam
from tasks.selftest import kernel_cases as cases
from tests.gpu import emulation, test_assembly
from tests.gpu.huge import HUGE
from tests.gpu.mutants import INDICES, MUTANTS, Mutant
from tests.gpu.test_execution import SCHEDULES, on_device

pytestmark = [pytest.mark.needs("emulation"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def caught(mutant: Mutant) -> str:
    """How the mutant was found out; empty if it was not."""
    return caught_by_cases(mutant.kernel)


def caught_by_cases(kernel: str) -> str:
    """What the cases of a kernel find wrong with it; empty if nothing."""
    for case in cases.CASES:
        if case.kernel != kernel or "1025" in case.label:
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
            error = case.deviation(got, "float32")
            if error > cases.TOLERANCES["float32"]:
                return f"{case}: error {error}"
            bits.add(b"".join(y.tobytes() for y in got))
        if len(bits) > 1:
            return f"{case}: the order of threads matters"
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant(mutant: Mutant, monkeypatch: pytest.MonkeyPatch):
    mutant.install(monkeypatch)
    found = caught(mutant)
    assert bool(found) != bool(mutant.survives), found or "no test noticed"


@pytest.mark.parametrize("kernel", sorted({mutant.kernel for mutant in MUTANTS}))
def test_without_a_mistake_nothing_is_caught(kernel: str):
    code = next(mutant.code for mutant in MUTANTS if mutant.kernel == kernel)
    assert caught(Mutant(code, kernel, kernel, "")) == ""


@pytest.mark.parametrize("index", INDICES, ids=lambda index: f"{index[2]}: {index[4]}")
def test_an_index_of_32_bits(index: tuple, monkeypatch: pytest.MonkeyPatch):
    run, code, *change = index
    Mutant(code, "", *change).install(monkeypatch)
    with contextlib.suppress(emulation.KernelError):
        assert not HUGE[run]() <= cases.TOLERANCES["float32"]


# ---- mistakes in Python: how kernels are launched -------------------------------------------------------------------


@dataclass(frozen=True)
class Launching:
    """In a function that prepares launches, one piece of text becomes another."""

    module: ModuleType
    function: str
    before: str
    after: str
    found_by: str | Callable[[], float]  # the cases of a kernel, or what else returns an error
    users: tuple[ModuleType, ...] = ()  # other modules that have imported the function

    def __str__(self) -> str:
        return f"{self.function}: {self.before} -> {self.after or 'nothing'}"

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = inspect.getsource(getattr(self.module, self.function))
        assert source.count(self.before) >= 1
        names = dict(vars(self.module))
        exec(source.replace(self.before, self.after, 1), names)
        for module in (self.module, *self.users):
            monkeypatch.setattr(module, self.function, names[self.function])


def launching() -> Iterator[Launching]:
    rows = "x.strides[-1] == x.itemsize"
    yield Launching(attention, "_with_contiguous_rows", rows, "True", "attention_forward")
    yield Launching(attention, "_with_contiguous_rows", rows, "abs(x.strides[-1]) == x.itemsize", "attention_forward")
    yield Launching(
        attention, "_layout", "else key_mask.strides", "else (key_mask.shape[2], 0, 1)", "attention_forward"
    )
    yield Launching(
        attention, "_layout", "else pair_mask.strides", "else (*pair_mask.strides[:3], 1)", "attention_backward"
    )
    yield Launching(
        attention, "_strides", "x.strides[:3]", "(x.strides[0], x.strides[2], x.strides[1])", "attention_forward"
    )
    for module, kernel in ((norm, "norm_forward"), (pooling, "max_pool_forward")):
        yield Launching(registry, "or_null", "gpu().ascontiguousarray(x)", "x", kernel, (module,))
    yield Launching(products, "_matrix_stride", "stride < 0", "stride == -1", "matmul")
    yield Launching(products, "_matrix_stride", "stride != expected", "stride < 0", "matmul")
    yield Launching(products, "_matrix_stride", "shape != lead", "len(shape) != len(lead)", "matmul")
    yield Launching(products, "operand", "column == 1 and row >= max(columns, 1)", "column == 1", "matmul")
    yield Launching(products, "operand", "row == 1 and column >= max(rows, 1)", "row == 1", "matmul")
    yield Launching(products, "operand", "column == 1", "abs(column) == 1", "matmul")
    axes = test_assembly.attention_with_as_many_keys_as_queries
    yield Launching(ops, "_masks", "mask.any(axis=-2)", "mask.any(axis=-1)", axes)
    yield Launching(ops, "_masks", "mask.any(axis=-2)", "mask.all(axis=-2)", axes)
    decay = functools.partial(test_assembly.weight_decay, Adam)
    yield Launching(optim, "_on_gpu", "(0.0, decay) if self.decoupled", "(decay, 0.0) if self.decoupled", decay)
    yield Launching(optim, "_on_gpu", "else (decay, 0.0)", "else (0.0, decay)", decay)
    arch = '"--std=c++17", "-arch=sm_70"'
    yield Launching(registry, "_compiled", '"--std=c++17",', arch, "softmax_forward")


LAUNCHING = list(launching())


@pytest.mark.parametrize("mutant", LAUNCHING, ids=str)
def test_mistakes_in_launching(mutant: Launching, monkeypatch: pytest.MonkeyPatch):
    mutant.install(monkeypatch)
    try:
        found = caught_by_cases(mutant.found_by) if isinstance(mutant.found_by, str) else mutant.found_by() > 1e-12
    except (emulation.KernelError, CompileException, ValueError) as error:
        found = str(error)
    assert found, "no test noticed"
