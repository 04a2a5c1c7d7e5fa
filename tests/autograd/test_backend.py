"""Devices: the errors of a machine without a GPU, and, on a stand-in for CuPy, where arrays go.

The stand-in is NumPy under another name: it shows that the right calls are made, not that CuPy answers them.
"""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from autograd import DeviceError, Tensor, backend, cupy_import, relu
from minisets import SAB
from minisets.nn import Linear, Sequential
from tests.helpers import double


class Device(contextlib.nullcontext):
    """A GPU of the stand-in, by its number."""

    def __init__(self, number: int, used: list[int] | None = None) -> None:
        self.id, self.used = number, used
        super().__init__()

    def use(self) -> None:
        self.used.append(self.id)


class DeviceArray(np.ndarray):
    """An array of the stand-in: on device 0 by default."""

    device = Device(0)

    def get(self) -> np.ndarray:
        return np.array(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **settings):
        if any(type(x) is np.ndarray for x in inputs):
            raise TypeError("a host array beside a device array")  # as CuPy would
        out = settings.pop("out", None)
        raw = [x.view(np.ndarray) if isinstance(x, DeviceArray) else x for x in inputs]
        result = np.asarray(getattr(ufunc, method)(*raw, **settings)).view(DeviceArray)
        if out is None:
            return result
        out[0].view(np.ndarray)[...] = result.view(np.ndarray)
        return out[0]


def on_device(value):
    """NumPy's function, made to return arrays of the stand-in; what is no plain function stays as it is."""
    if not callable(value) or isinstance(value, np.ufunc | type):
        return value

    def function(*arguments, **settings):
        if any(isinstance(x, DeviceArray) for x in arguments) and any(type(x) is np.ndarray for x in arguments):
            raise TypeError("a host array beside a device array")
        result = value(*arguments, **settings)
        return result.view(DeviceArray) if type(result) is np.ndarray else result

    return function


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module `cupy` with two GPUs."""
    cupy = ModuleType("cupy")
    cupy.__getattr__ = lambda name: on_device(getattr(np, name))
    cupy.ndarray = DeviceArray
    cupy.used = []

    def array(values):
        result = np.array(values).view(DeviceArray)
        result.device = Device(cupy.used[-1] if cupy.used else 0)
        return result

    cupy.array = array
    cupy.asarray = lambda values: values if isinstance(values, DeviceArray) else array(values)
    cupy.cuda = SimpleNamespace(
        is_available=lambda: True,
        runtime=SimpleNamespace(getDeviceCount=lambda: 2),
        Device=lambda index=0: Device(index, cupy.used),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


@pytest.fixture
def strict_double() -> Iterator[ModuleType]:
    with double.installed() as module:
        yield module


def test_importing_the_project_does_not_import_cupy():
    code = "import sys, autograd, minisets, minisets.nn, minisets.optim; sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_cupy_a_gpu_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # what `import cupy` meets where it is not installed
    for ask in (lambda: Tensor([1.0]).to("cuda"), lambda: Linear(1, 1, rng=np.random.default_rng(0)).to("cuda:1")):
        with pytest.raises(
            DeviceError, match="CuPy is not installed; install it and the CUDA libraries with pip"
        ) as error:
            ask()
        assert cupy_import.INSTALL in str(error.value)


@pytest.mark.parametrize("missing", ["matmul", "ones"])
def test_a_gpu_without_cuda_libraries_is_one_sentence(stand_in, missing):
    """CuPy loads NVRTC when it first compiles a kernel, and cuBLAS when it first multiplies."""

    def fail(*arguments, **settings):
        raise RuntimeError(f"CuPy failed to load lib{missing}.so.12: OSError: no such file.\nIt is needed for ...")

    setattr(stand_in, missing, fail)
    if missing == "matmul":
        stand_in.ones = type("WithoutProducts", (), {"__init__": lambda *arguments: None, "__matmul__": fail})
    with pytest.raises(DeviceError) as error:
        Tensor([1.0]).to("cuda")
    assert str(error.value) == (
        f"device 'cuda' was requested, but CuPy cannot compute on it (CuPy failed to load lib{missing}.so.12: OSError: "
        f"no such file); install the CUDA libraries with {cupy_import.INSTALL}, check the driver with nvidia-smi, or "
        "use device 'cpu'"
    )


def test_a_gpu_that_computes_wrong_numbers_is_refused(stand_in):
    stand_in.ones = lambda *arguments: stand_in.array(np.full((2, 2), 3.0))
    with pytest.raises(DeviceError, match=r"cannot compute on it \(ones\(\(2, 2\)\) @"):
        Tensor([1.0]).to("cuda")


def test_the_hint_to_install_cupy_is_the_same_everywhere():
    root = Path(__file__).resolve().parents[2]
    for name in ("README.md", "docs/23-gpu.md"):
        text = (root / name).read_text(encoding="utf-8")
        assert cupy_import.INSTALL in text and "gpu]'" not in text and "[gpu" not in text, name
    (package,) = re.findall(r"'(.*)'", cupy_import.INSTALL)
    assert f'gpu = ["{package}>=' in (root / "pyproject.toml").read_text(encoding="utf-8")


def test_without_a_gpu_it_is_one_sentence(stand_in):
    stand_in.cuda.is_available = lambda: False
    with pytest.raises(DeviceError, match=r"device 'cuda' was requested, but CuPy finds no CUDA GPU.*nvidia-smi"):
        Tensor([1.0]).to("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CPU", "cuda:-1", None, 0])
def test_unknown_devices(name):
    with pytest.raises(ValueError, match="unknown device"):
        backend.to_device(np.ones(1), name)


def test_cpu_to_cpu_is_the_same_array():
    x = Tensor([1.0], requires_grad=True)
    assert x.to("cpu") is x and x.device == "cpu"


def test_gradients_travel_back_between_devices(stand_in):
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x.to("cuda")
    assert y.device == "cuda:0" and isinstance(y.data, DeviceArray) and x.device == "cpu"
    (y * np.array([3.0, 4.0])).sum().backward()  # a constant follows the Tensor to its device
    np.testing.assert_array_equal(x.grad, [3.0, 4.0])
    assert type(x.grad) is np.ndarray
    assert type(y.numpy()) is np.ndarray


def test_a_numbered_gpu_becomes_the_current_one(stand_in):
    x = Tensor([1.0]).to("cuda:1")
    assert x.device == "cuda:1" and stand_in.used == [1]
    assert backend.to_device(x.data, "cuda:1") is x.data
    with pytest.raises(DeviceError, match=r"device 'cuda:2' was requested, but CuPy finds 2 GPU\(s\)"):
        Tensor([1.0]).to("cuda:2")


def test_tensors_on_two_devices_are_refused(stand_in):
    with pytest.raises(TypeError, match=r"add of a Tensor on cpu and one on cuda:0: move one of them with \.to"):
        Tensor([1.0]) + Tensor([1.0]).to("cuda")


def test_a_module_moves_as_a_whole(strict_double):
    net = Linear(2, 3, rng=np.random.default_rng(0)).to("cuda")
    assert {x.device for x in net.parameters()} == {"cuda:0"}
    assert all(type(array) is np.ndarray for array in net.state_dict().values())
    assert net(np.ones((4, 2))).device == "cuda:0"
    for whole in (Sequential(relu, net), SAB(2, 4, 2, rng=np.random.default_rng(0)).to("cuda")):
        assert whole(np.ones((4, 2))).device == "cuda:0"  # an array follows the parameters
    assert whole(np.ones((1, 4, 2)), np.ones((1, 4), dtype=bool)).device == "cuda:0"  # and so does a mask
    assert net.to("cpu").weight.device == "cpu"


def test_special_functions_are_taken_from_the_arrays_own_library(stand_in, monkeypatch):
    special = ModuleType("cupyx.scipy.special")
    special.gammaln = lambda array: "from cupyx"
    for name, module in {"cupyx": ModuleType("cupyx"), "cupyx.scipy": ModuleType("cupyx.scipy")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.special", special)
    sys.modules["cupyx"].scipy, sys.modules["cupyx.scipy"].special = sys.modules["cupyx.scipy"], special
    assert backend.special(stand_in.array([1.0])).gammaln(1.0) == "from cupyx"
