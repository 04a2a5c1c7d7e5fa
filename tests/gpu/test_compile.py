"""Rung 2: every kernel compiles for every architecture, within its means; what is broken is refused."""

import dataclasses

import pytest
from cupy.cuda.compiler import CompileException

from autograd.kernels import adam, attention, norm, pooling, softmax
from autograd.kernels.registry import DTYPES, KERNELS, Elementwise, Raw
from tasks.selftest import kernel_cases as cases
from tests.gpu.nvrtc import ARCHITECTURES, compiled

CODE = {code for kernel in KERNELS.values() for code in kernel.code}
RAW = {"/".join(code.files): code for code in CODE if isinstance(code, Raw)}
OTHERS = {code.name: code for code in CODE if not isinstance(code, Raw)}
every_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES)


def test_the_list_is_complete():
    """Every kernel has code, sizes and a case, and all three forms that CuPy has are there."""
    assert {case.kernel for case in cases.CASES} == set(KERNELS)
    assert {name for name, kernel in KERNELS.items() if not kernel.code} == {"matmul"}  # which is cuBLAS's
    assert all(kernel.sizes for kernel in KERNELS.values())
    assert {type(code).__name__ for code in CODE} == {"Elementwise", "Reduction", "Raw"}


@every_architecture
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(RAW))
def test_raw_kernels(name: str, dtype: str, architecture: str):
    """All functions compile, none spills registers into memory, and static shared memory fits into 48 KiB."""
    found = compiled(RAW[name], dtype, architecture)
    assert len(found) == len(RAW[name].instances(dtype))
    assert {what.spilled for what in found.values()} == {0}
    assert max(what.shared for what in found.values()) <= 48 * 1024


@every_architecture
@pytest.mark.parametrize("name", sorted(OTHERS))
def test_elementwise_and_reduction_kernels(name: str, architecture: str):
    for dtype in DTYPES:
        assert compiled(OTHERS[name], dtype, architecture)


def test_attention_has_room_for_two_blocks():
    """So that a multiprocessor of 64 Ki registers computes one block while the other waits for memory."""
    for dtype in DTYPES:
        for what in compiled(attention.CODE, dtype, "80").values():
            assert what.registers * 128 * 2 <= 64 * 1024


MORE = " __shared__ T more[16384]; more[threadIdx.x] = at.n; __syncthreads(); if (more[at.m] < 0) return;"
BROKEN = {
    "a missing semicolon": (softmax.CODE, "T dot = 0;", "T dot = 0"),
    "a shuffle without its mask": (
        norm.CODE,
        "__shfl_xor_sync(0xffffffffu, value, step)",
        "__shfl_xor_sync(value, step)",
    ),
    "a function of the host": (softmax.CODE, "-T(CUDART_INF)", "-T(INFINITY)"),
    "a pointer as a number": (pooling.FORWARD, "where = element", "where = x"),
    "too much shared memory": (
        attention.CODE,
        "const Task task(at, at.n, TILE);",
        f"const Task task(at, at.n, TILE);{MORE}",
    ),
    "an undefined name": (attention.CODE, "using Tile = Tiling<TILE>;", "using Tile = Tilings<TILE>;"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_kernels_are_refused(what: str):
    code, before, after = BROKEN[what]
    assert before in code.source
    broken = Raw(code.files, code.instances)
    broken.__dict__["source"] = code.source.replace(before, after)
    with pytest.raises(CompileException):
        compiled(broken, "float32", "80")


def test_a_broken_elementwise_kernel_is_refused():
    broken = dataclasses.replace(adam.CODE, operation=adam.CODE.operation.replace("sqrt(", "square_root("))
    assert isinstance(broken, Elementwise)
    with pytest.raises(CompileException, match="square_root"):
        compiled(broken, "float32", "80")
