"""Averaging gradients in a GPU's memory: through pinned host memory, or as it is where the MPI takes it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograd import absolute_error, backend
from minisets.distributed import World
from minisets.nn import BatchNorm, ConvNorm, Dropout, Linear, Module, Sequential
from tasks.harness.distributed import use_own_gpu

pytestmark = pytest.mark.needs("gpu")


class TwoEqual:
    """A communicator of two processes, of which the other one has always the same arrays as this one."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 2

    def Ibarrier(self) -> Any:
        return SimpleNamespace(Test=lambda: True)

    def Allreduce(self, where: Any, array: Any) -> None:
        self.seen.append("device" if backend.on_gpu(array) else "host")
        array *= 2

    def Allgather(self, array: np.ndarray, gathered: np.ndarray) -> None:
        gathered[:] = array

    def Bcast(self, array: np.ndarray, root: int) -> None:
        assert type(array) is np.ndarray


@pytest.fixture(params=["pinned host memory", "device memory"])
def two(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    module = World.__module__
    monkeypatch.setattr(f"{module}.import_mpi", lambda: SimpleNamespace(IN_PLACE=None))
    monkeypatch.setattr(f"{module}.takes_device_memory", lambda MPI: request.param == "device memory")
    return World(TwoEqual())


def network() -> Module:
    rng = np.random.default_rng(0)
    return Sequential(ConvNorm(1, 4, rng=rng), lambda X: X.reshape(len(X), 64), BatchNorm(64, axis=-1),
                      Linear(64, 1, rng=rng)).astype("float64").to("cuda")  # fmt: skip


def gradients(everybody: World, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    net = network()
    everybody.join(net)
    X, y = (backend.to_device(a, "cuda") for a in everybody.scatter(X, y))
    absolute_error(net(X), y).backward()
    (loss,) = everybody.average_gradients(net.parameters(), 3.0)
    assert loss == 3.0
    assert all(backend.on_gpu(p.grad) for p in net.parameters())
    running = {name: x for name, x in net.state_dict().items() if "running" in name}
    return running | {name: backend.to_host(p.grad) for name, p in net.named_parameters()}


def test_two_processes_with_equal_halves_are_one_with_both(two: World):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3, 1, 4, 4)), rng.normal(size=(3, 1))
    whole = np.concatenate([X, X]), np.concatenate([y, y])
    expected, found = gradients(World(), *whole), gradients(two, *whole)
    assert expected.keys() == found.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)
    kind = "device" if two.device_memory else "host"
    assert two.comm.seen[-1] == kind  # the gradients; the sums of batch norm are a few numbers on the host
    assert two.comm.seen.count("device") == int(two.device_memory)


def test_dropout_uses_its_rows_of_the_whole_batch(two: World):
    layer = Dropout(0.5, rng=np.random.default_rng(0))
    two.join(layer)
    X = np.ones((40, 3), "float32")
    found = layer(backend.to_device(X, "cuda"))
    assert backend.on_gpu(found.data)
    expected = Dropout(0.5, rng=np.random.default_rng(0))(np.concatenate([X, X])).numpy()[:40]
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.needs("emulation")
@pytest.mark.parametrize(("local_rank", "expected"), [(0, 0), (1, 1), (2, 0)])
def test_a_process_takes_the_gpu_of_its_number_on_the_machine(local_rank: int, expected: int):
    try:
        use_own_gpu(SimpleNamespace(size=3, local_rank=lambda: local_rank), "cuda")
        assert backend.gpu().cuda.Device().id == expected
    finally:
        backend.gpu().cuda.Device(0).use()
