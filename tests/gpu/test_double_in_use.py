"""The double of CuPy in use: devices, memory, training steps without waits, and the mistakes of ops that it finds."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from autograd import Tensor, backend, cupy_import, forms, op, registry
from autograd.gradcheck import gradcheck
from minisets import SAB
from minisets.optim import Adam
from tasks.harness import machine
from tests.helpers import double

host = np.arange(12, dtype="float32").reshape(3, 4) / 8


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with double.installed() as module:
        yield module


def test_installed_and_taken_away_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", ModuleType("cupy.cuda"))
    before = dict(sys.modules)
    with pytest.raises(ZeroDivisionError), double.installed() as cupy:
        assert sys.modules["cupy"] is cupy is double.module() and "cupy.cuda" not in sys.modules
        raise ZeroDivisionError
    assert sys.modules == before


def test_devices(cupy: ModuleType):
    x = backend.to_device(host, "cuda")
    assert type(x) is double.ndarray and backend.device_of(x) == "cuda:0" and backend.array_module(host, x) is cupy
    assert backend.to_device(x, "cuda:0") is x
    with pytest.raises(cupy_import.DeviceError, match=r"CuPy finds 1 GPU\(s\)"):
        backend.to_device(x, "cuda:1")
    assert cupy.get_array_module(x) is cupy and cupy.get_array_module(host) is np
    np.testing.assert_array_equal(backend.to_host(x), host)
    np.testing.assert_allclose(backend.special(x).gammaln(x + 3).get(), backend.special(host).gammaln(host + 3))
    machine.synchronize("cuda")
    assert double.waits == {"get": 2, "synchronize": 1}


def test_memory_is_measured(cupy: ModuleType):
    x = cupy.zeros(1000)
    assert machine.peak_memory(lambda: (x + 1) * 2, "cuda") == 16_000  # the sum, and then the product beside it
    assert machine.peak_memory(lambda: x[1:].reshape(27, -1).T, "cuda") == 0  # views
    assert cupy.get_default_memory_pool().used_bytes() >= 8_000


def test_wrap_and_unwrap_share_memory(cupy: ModuleType):
    memory = host.copy()
    x = double.wrap(memory)
    assert double.unwrap(x) is memory and not double.waits and not double.copies
    x *= 0
    assert not memory.any()


def test_a_training_step_does_not_wait(cupy: ModuleType):
    net = SAB(4, 8, 2, rng=np.random.default_rng(0)).to("cuda")
    optimizer, X = Adam(net.parameters()), backend.to_device(host[None], "cuda")
    double.waits.clear()
    double.copies.clear()
    for form in (forms.plain_forms(), contextlib.nullcontext()):
        with form:
            net(X).sum().backward()
            optimizer.step()
    assert not double.waits and not double.copies


# ---- mistakes of ops ------------------------------------------------------------------------------------------------


def converts(x):
    return np.exp(np.asarray(x)), lambda g: g


def adds_a_host_array(x):
    return x + np.ones(4, dtype="float32"), lambda g: g


def computes_with_numpy_where_cupy_has_nothing(x):
    return np.maximum.reduce(x, axis=0), lambda g: g


def sends_a_host_gradient(x):
    return x.sum(), lambda g: np.ones((3, 4), dtype="float32") * g


def reads_uninitialized_memory(x):
    y = backend.array_module(x).empty_like(x)
    y[1:] = x[1:]
    return y, lambda g: g


def waits_for_a_number(x):
    return x * (1 / float(x.max())), lambda g: g


@pytest.fixture
def lifted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """@op, with the table of ops restored at the end."""
    monkeypatch.setattr(registry, "OPS", dict(registry.OPS))
    return op


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        (converts, TypeError),
        (adds_a_host_array, TypeError),
        (computes_with_numpy_where_cupy_has_nothing, NotImplementedError),
        (sends_a_host_gradient, TypeError),
        (reads_uninitialized_memory, AssertionError),
    ],
)
def test_mistakes_are_noticed(mistake: Callable[..., Any], error: type[Exception], lifted: Callable, cupy: ModuleType):
    with pytest.raises(error):
        gradcheck(lifted(mistake), cupy.asarray(host))


def test_waiting_inside_an_op_is_noticed(lifted: Callable, cupy: ModuleType):
    lifted(waits_for_a_number)(Tensor(cupy.asarray(host)))
    assert double.waits == {"float": 1}
