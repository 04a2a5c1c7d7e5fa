"""The emulation itself: it runs CUDA as CUDA is defined, and refuses what CUDA leaves undefined."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.gpu import emulation
from tests.gpu.emulation import compiling

pytestmark = pytest.mark.needs("emulation")


def launch(text: str, *arrays: np.ndarray, threads: int = 32, blocks: int = 1, shared: int = 0) -> list[np.ndarray]:
    """Run the kernel `k` of a CUDA text on copies of the arrays, and return what it has made of them."""
    import cupy

    on_device = [cupy.asarray(array) for array in arrays]
    cupy.RawKernel(text, "k")((blocks,), (threads,), tuple(on_device), shared_mem=shared)
    return [array.get() for array in on_device]


def refused(message: str, text: str, *arrays: np.ndarray, **grid: int) -> None:
    """The launch raises an error that says this, and the next one is none the worse for it."""
    with pytest.raises(emulation.KernelError, match=message):
        launch(text, *arrays, **grid)
    (y,) = launch('extern "C" __global__ void k(float *y) { y[threadIdx.x] += 1; }', np.ones(32, "float32"))
    assert (y == 2).all()


NUMBERS = np.arange(32, dtype="float32")


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_one_element_past_the_end():
    text = 'extern "C" __global__ void k(float *y) { y[threadIdx.x + 1] = 0; }'
    refused(r"kernel k: block \(0, 0, 0\): thread \(31, 0, 0\): .*0 bytes past the end of .*128 bytes", text, NUMBERS)


def test_reading_past_the_end_is_as_bad():
    text = 'extern "C" __global__ void k(float *y) { y[0] += y[threadIdx.x * 2]; }'
    refused("CUDA_ERROR_ILLEGAL_ADDRESS", text, NUMBERS)


def test_a_write_before_the_start_is_noticed():
    import cupy

    y = cupy.zeros(3, "float32")
    write = cupy.RawKernel('extern "C" __global__ void k(unsigned *y, unsigned value) { y[-1] = value; }', "k")
    write((1,), (1,), (y, np.uint32(7)))
    with pytest.raises(emulation.KernelError, match="wrote before the start of the allocation of 12 bytes"):
        emulation.check()
    write((1,), (1,), (y, np.uint32(0xA5A5A5A5)))  # as it was, since otherwise freeing it would be refused too
    emulation.check()


def test_freed_memory_is_out_of_bounds():
    import cupy

    y = cupy.zeros(3, "float32")
    address = np.uint64(y.data.ptr)
    del y
    text = 'extern "C" __global__ void k(float *out, unsigned long long y) { *out = *(float *)y; }'
    with pytest.raises(emulation.KernelError, match="in a freed allocation of 12 bytes"):
        cupy.RawKernel(text, "k")((1,), (1,), (cupy.zeros(1, "float32"), address))


def test_memory_begins_as_nan():
    import cupy

    assert cupy.isnan(cupy.empty(100, "float32")).all() and cupy.isnan(cupy.empty(100, "float64")).all()


def test_shared_memory_begins_as_nan_in_every_block():
    text = """extern "C" __global__ void k(float *y) {
        __shared__ float s[32];
        y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
        s[threadIdx.x] = 1;
    }"""
    (y,) = launch(text, np.zeros(64, "float32"), blocks=2)
    assert np.isnan(y).all()


def test_bounds_of_shared_memory():
    fixed = (
        'extern "C" __global__ void k(float *y) { __shared__ float s[4][8]; s[threadIdx.x / 8][threadIdx.x %s] = 0; }'
    )
    launch(fixed % "% 8", NUMBERS)
    refused("an index is outside its array", fixed % "% 9", NUMBERS)
    dynamic = 'extern "C" __global__ void k(float *y) { extern __shared__ float s[]; s[threadIdx.x] = 0; }'
    launch(dynamic, NUMBERS, shared=128)
    refused("CUDA_ERROR_ILLEGAL_ADDRESS", dynamic, NUMBERS, shared=124)


def test_shared_memory_is_limited():
    text = 'extern "C" __global__ void k(double *y) { __shared__ double s[6145]; s[threadIdx.x] = 0; }'
    refused("bytes of shared memory, at most 48 KiB", text, NUMBERS)


# ---- threads --------------------------------------------------------------------------------------------------------

REVERSED = """extern "C" __global__ void k(float *y) {
    __shared__ float s[128];
    s[threadIdx.x] = y[threadIdx.x];
    BARRIER
    y[threadIdx.x] = s[127 - threadIdx.x];
}"""


@pytest.mark.parametrize("schedule", ["forward", "reverse", 0, 1])
def test_a_barrier_makes_threads_wait(schedule: str | int):
    x = np.arange(128, dtype="float32")
    with emulation.schedule(schedule):
        np.testing.assert_array_equal(
            launch(REVERSED.replace("BARRIER", "__syncthreads();"), x, threads=128)[0], x[::-1]
        )
        (without,) = launch(REVERSED.replace("BARRIER", ""), x, threads=128)
        assert np.isnan(without).any()  # some thread was too early


def test_a_warp_is_no_block():
    """__syncwarp is not enough where other warps have written: it shows when one of them is late."""
    x, late = np.arange(128, dtype="float32"), 0
    for seed in range(10):
        with emulation.schedule(seed):
            late += np.isnan(launch(REVERSED.replace("BARRIER", "__syncwarp();"), x, threads=128)[0]).any()
    assert late >= 5


def test_a_barrier_that_some_threads_never_reach():
    text = 'extern "C" __global__ void k(float *y) { if (threadIdx.x < 7) return; __syncthreads(); y[0] = 1; }'
    refused("the __syncthreads of line 1: other threads of the block have ended", text, NUMBERS)


def test_two_barriers_instead_of_one():
    text = """extern "C" __global__ void k(float *y) {
        if (threadIdx.x % 2) __syncthreads();
        else __syncthreads();
    }"""
    refused("divergent barriers: threads wait at the __syncthreads of lines (2 and 3|3 and 2)", text, NUMBERS)


def test_a_shuffle_with_its_mask():
    text = """extern "C" __global__ void k(float *y) {
        if (threadIdx.x == 5) return;
        y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, y[threadIdx.x], 1);
    }"""
    refused("line 3: its mask names a lane that has ended", text, NUMBERS)


def test_a_shuffle_whose_mask_omits_the_caller():
    text = 'extern "C" __global__ void k(float *y) { y[threadIdx.x] = __shfl_sync(0xfffffffeu, y[threadIdx.x], 1); }'
    refused("a lane's mask does not name the lane itself", text, NUMBERS)


def test_threads_that_wait_for_ever():
    text = """extern "C" __global__ void k(float *y) {
        if (threadIdx.x < 16) __syncwarp();
        else __syncthreads();
    }"""
    refused("deadlock: threads wait for ever, at ", text, NUMBERS)


def test_shuffles_and_ballots():
    text = """extern "C" __global__ void k(float *xor_, float *down, float *segment, int *odd) {
        int i = threadIdx.x; float x = i;
        xor_[i] = __shfl_xor_sync(0xffffffffu, x, 5);
        down[i] = __shfl_down_sync(0xffffffffu, x, 4);
        segment[i] = __shfl_sync(0xffffffffu, x, 3, 8);
        odd[i] = __popc(__ballot_sync(0xffffffffu, i % 2));
    }"""
    lanes = np.arange(32)
    xor, down, segment, odd = launch(text, NUMBERS, NUMBERS, NUMBERS, np.zeros(32, "int32"))
    np.testing.assert_array_equal(xor, lanes ^ 5)
    np.testing.assert_array_equal(down, np.where(lanes < 28, lanes + 4, lanes))
    np.testing.assert_array_equal(segment, lanes // 8 * 8 + 3)
    assert (odd == 16).all()


def test_limits_of_a_launch():
    text = 'extern "C" __global__ void k(float *y) {}'
    refused(r"a block of \(1025, 1, 1\) threads", text, NUMBERS, threads=1025)
    text = 'extern "C" __global__ void __launch_bounds__(64, 2) k(float *y) {}'
    launch(text, NUMBERS, threads=64)
    refused(r"a block of \(65, 1, 1\) threads, and the kernel's __launch_bounds__ allow 64", text, NUMBERS, threads=65)


def test_errors_that_last():
    import cupy

    text = 'extern "C" __global__ void k(float *y) { y[threadIdx.x + 1] = 0; }'
    with emulation.lasting_errors():
        launch(text.replace(" + 1", ""), NUMBERS)
        for _ in range(2):
            with pytest.raises(emulation.KernelError, match="ILLEGAL_ADDRESS"):
                launch(text, NUMBERS)
        with pytest.raises(emulation.KernelError, match="an illegal memory access was encountered"):
            cupy.cuda.get_current_stream().synchronize()
    launch(text.replace(" + 1", ""), NUMBERS)


def test_both_ends_of_a_grid():
    text = 'extern "C" __global__ void k(float *y) { y[blockIdx.x] = 1; }'
    with emulation.only_ends():
        (y,) = launch(text, np.zeros(10, "float32"), threads=1, blocks=10)
    assert y.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    with emulation.only_ends(skipped="k"):
        (y,) = launch(text, np.zeros(10, "float32"), threads=1, blocks=10)
    assert not y.any()


# ---- counts and schedules -------------------------------------------------------------------------------------------


def test_counts():
    import cupy

    x = cupy.asarray(np.ones((4, 4), "float32"))
    with emulation.counting() as seen:
        y = x @ x + 1
    assert (seen.launches, seen.products, seen.to_host, seen.to_device, seen.waits) == (1, 1, 0, 0, 0)
    assert seen.names[0] == "gemm" and seen.names[1].startswith("cupy_add")
    assert seen.bytes_handed == 3 * 64 + 2 * 64  # the product's three matrices, the sum's two
    with emulation.counting() as seen:
        float(y.sum())
        cupy.asarray(np.ones(3))
    assert seen.to_host == 1 and seen.to_device == 1
    with emulation.counting() as seen:
        cupy.nonzero(x)
    assert seen.to_host  # it has to know how many


def test_unknown_schedules_are_refused():
    with pytest.raises(ValueError, match="a schedule is"), emulation.schedule("backwards"):
        pass


def test_nothing_is_left_behind():
    import cupy

    before = emulation.live()
    x = cupy.ones(10)
    assert emulation.live() == before + 1
    del x
    assert emulation.live() == before


# ---- compiling and installing ---------------------------------------------------------------------------------------


def test_a_source_that_is_no_cuda():
    import cupy
    from cupy.cuda.compiler import CompileException

    with pytest.raises(CompileException, match="nonsense"):
        cupy.RawKernel('extern "C" __global__ void k(nonsense y) {}', "k").compile()


def test_shared_declarations_become_references():
    text = compiling.rewrite_shared("__shared__ T a[N], b[2][3]; extern __shared__ __align__(16) char c[];")
    assert text.count("emulated_static_shared") == 2 and "emulated_dynamic_shared" in text
    assert "__shared__" not in text


def test_comments_go_and_lines_stay():
    assert compiling.without_comments("a // b\n/* c\nd */ e").splitlines() == ["a  ", "", " e"]


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=settings)


def test_it_must_be_installed_before_cupy_is_imported():
    found = python("import cupy; from tests.gpu import emulation; emulation.install()")
    assert "CuPy has been imported already" in found.stderr


def test_without_a_compiler_it_is_unavailable():
    found = python("from tests.gpu import emulation; emulation.install()", PATH="/nowhere")
    assert "Unavailable: the emulation compiles kernels with g++, which is not installed" in found.stderr


def test_another_cupy_is_recognized():
    code = """
import sys
from tests.gpu import emulation
signatures = sys.modules["tests.gpu.emulation.install"].SIGNATURES
signatures["runtime_malloc"] = "intptr_t (size_t, size_t, int __pyx_skip_dispatch)"
emulation.install()
"""
    assert (
        "Unavailable: the emulation is for CuPy 14.2, and this CuPy has another runtime.malloc" in python(code).stderr
    )
