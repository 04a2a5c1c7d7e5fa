"""Two GPUs: what is on one of them works whichever is the current one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from autograd import Tensor, backend, cupy_import, forms, matmul
from autograd.kernels.registry import KERNELS
from minisets import SAB
from minisets.nn import BatchNorm, Module
from minisets.optim import SGD, Adam, Optimizer, clip_grad_norm
from tasks.harness.cli import main
from tasks.selftest import kernel_cases as cases
from tests.gpu import emulation
from tests.helpers.commandline import TINY

pytestmark = pytest.mark.needs("emulation")  # few machines have two GPUs


@pytest.fixture(autouse=True)
def first_gpu_in_the_end() -> Iterator[None]:
    yield
    backend.gpu().cuda.Device(0).use()


@pytest.fixture(params=["kernels", "plain forms"])
def form(request: pytest.FixtureRequest) -> Iterator[None]:
    with forms.plain_forms() if request.param == "plain forms" else contextlib.nullcontext():
        yield


def sets(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def trained(net: Module, optimizer: type[Optimizer], X: np.ndarray, device: str, disturb: bool) -> list[np.ndarray]:
    """The weights after two steps; with the other GPU made the current one before each of their parts."""
    net = net.to(device)
    x = backend.to_device(X, device)

    def other_gpu() -> None:
        if disturb:
            backend.to_device(np.ones(3), "cuda:0")

    other_gpu()
    stepper = optimizer(net.parameters(), lr=1e-2)
    for _ in range(2):
        other_gpu()
        loss = (net(Tensor(x)) ** 2).sum()
        other_gpu()
        loss.backward()
        other_gpu()
        clip_grad_norm(net.parameters(), 1.0)
        other_gpu()
        stepper.step()
        assert {p.device for p in net.parameters()} == {backend.device_of(p.grad) for p in net.parameters()} == {device}
        stepper.zero_grad()
    return list(net.state_dict().values())


@pytest.mark.parametrize("optimizer", [Adam, SGD])
@pytest.mark.parametrize("block", ["SAB", "BatchNorm"])
def test_a_network_trains_on_the_gpu_that_is_not_the_current_one(form: None, optimizer: type[Optimizer], block: str):
    def net() -> Module:
        return SAB(4, 8, 2, rng=np.random.default_rng(0)) if block == "SAB" else BatchNorm(4)

    X = sets(2, 5, 4) if block == "SAB" else sets(6, 4)
    here, there = (trained(net(), optimizer, X, device, device == "cuda:1") for device in ("cuda:0", "cuda:1"))
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "case", {case.kernel: case for case in cases.CASES if "1025" not in case.label}.values(), ids=str
)
def test_each_kernel_on_the_other_gpu(case: cases.Case):
    """After it was compiled for, and loaded on, the first one."""
    for device in ("cuda:0", "cuda:1"):
        arguments = case.on_device("float32", lambda x, device=device: backend.to_device(x, device))
        backend.gpu().cuda.Device(0).use()
        results = cases.results(KERNELS[case.kernel].run(*arguments))
        assert {backend.device_of(y) for y in results} == {device}


def test_a_batch_of_products_on_the_other_gpu(form: None):
    a, b = (Tensor(backend.to_device(sets(2, 3, 3), "cuda:1"), requires_grad=True) for _ in range(2))
    backend.gpu().cuda.Device(0).use()
    y = matmul(a, b)
    y.backward(np.ones(y.shape))
    assert {y.device, backend.device_of(a.grad), backend.device_of(b.grad)} == {"cuda:1"}


def test_a_graph_on_both_gpus(form: None):
    """The gradients of x arrive from the second GPU twice, and are added on the first."""
    x = Tensor(backend.to_device(sets(3, 4), "cuda:0"), requires_grad=True)
    (x.to("cuda:1") * x.to("cuda:1")).sum().backward()
    assert backend.device_of(x.grad) == "cuda:0"
    np.testing.assert_allclose(backend.to_host(x.grad), 2 * sets(3, 4), rtol=1e-6)


# ---- before and after training --------------------------------------------------------------------------------------


def train(folder: Path, *options: str) -> int:
    task = ["max_regression", "--arch", "rFF + Pooling (max)", *TINY["max_regression"].split()]
    return main(["train", *task, "--steps", "2", *options, "--out", str(folder)])


def test_a_missing_library_is_found_before_anything_is_written(tmp_path: Path, monkeypatch, capsys):
    def missing(*arguments: object) -> None:
        raise ImportError("libcublas.so.12: cannot open shared object file")

    for product in ("sgemm", "gemmEx"):
        monkeypatch.setattr(emulation.blas, product, missing)
    cupy_import._probe.cache_clear()
    assert train(tmp_path / "run", "--device", "cuda:1") == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "device 'cuda:1' was requested, but CuPy cannot compute on it (libcublas.so.12: cannot open" in error
    assert f"install the CUDA libraries with {cupy_import.INSTALL}, check the driver with nvidia-smi" in error
    assert not (tmp_path / "run").exists()


def test_a_run_records_the_gpu(tmp_path: Path, capsys: pytest.CaptureFixture):
    assert train(tmp_path, "--device", "cuda:1") == 0
    for name in ("config.json", "result.json"):
        about = json.loads((tmp_path / name).read_text())
        assert about["machine"]["GPU"] and about["machine"]["compute capability"] == "9.0"
        assert about["versions"].keys() >= {"cupy", "CUDA", "driver"}


# ---- the emulation notices what CUDA would refuse --------------------------------------------------------------------


def test_memory_of_another_device_is_out_of_bounds():
    import cupy

    with cupy.cuda.Device(1):
        y = cupy.zeros(32, "float32")
    kernel = cupy.RawKernel('extern "C" __global__ void k(float *y) { y[threadIdx.x] = 1; }', "k")
    with pytest.raises(
        emulation.KernelError, match="ILLEGAL_ADDRESS: argument 0 is on device 1, the kernel on device 0"
    ):
        kernel((1,), (32,), (y,))


def test_elementwise_operations_find_no_peer_access():
    import cupy

    with cupy.cuda.Device(1):
        y = cupy.zeros(32, "float32")
    with pytest.raises(ValueError, match="Peer access is unavailable"):
        y + 1


def test_products_of_another_device():
    import cupy

    with cupy.cuda.Device(1):
        y = cupy.zeros((3, 3), "float32")
    with pytest.raises(emulation.KernelError, match="is on device 1, which is not the current one"):
        y @ y


def test_there_are_two():
    import cupy

    with pytest.raises(emulation.KernelError, match="cudaErrorInvalidDevice"):
        cupy.cuda.Device(2).use()
    with pytest.raises(cupy_import.DeviceError, match=r"CuPy finds 2 GPU\(s\), numbered from cuda:0"):
        backend.to_device(np.ones(1), "cuda:2")
