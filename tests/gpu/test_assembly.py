"""What forms make of kernels: that they are given the right masks, decays and widths, and that nan passes through."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from autograd import Tensor, attention, backend, forms, layer_norm
from autograd.kernels import norm
from minisets import MAB, SAB
from minisets.blocks import rFF
from minisets.nn import LayerNorm, Module
from minisets.optim import SGD, Adam, Optimizer
from tasks.selftest.case import relative_error
from tests.gpu import emulation

pytestmark = [pytest.mark.needs("emulation"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]

DEVICES = ("cpu", "cuda")


def values(function, *inputs: np.ndarray, device: str) -> list[np.ndarray]:
    """The output and the gradients of the inputs, and of a Module's parameters, on the host."""
    given = [Tensor(backend.to_device(x, device), requires_grad=True) for x in inputs]
    with forms.plain_forms() if device == "cpu" else emulation.counting():
        y = function(*given)
        y.backward(np.random.default_rng(1).normal(size=y.shape))
    parameters = function.parameters() if isinstance(function, Module) else []
    return [y.numpy(), *(backend.to_host(x.grad) for x in (*given, *parameters))]


def compare(function, *inputs: np.ndarray) -> float:
    """The error of a function on the GPU, with nan in the same places as on the CPU (otherwise inf)."""
    there = function.to("cuda") if isinstance(function, Module) else function
    found = values(there, *inputs, device="cuda")
    here = function.to("cpu") if isinstance(function, Module) else function
    return max(map(relative_error, found, values(here, *inputs, device="cpu")))


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).normal(size=shape)


# ---- nan ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["input", "weight", "bias"])
@pytest.mark.parametrize("name", ["MAB", "rFF", "SAB, authors"])
def test_nan_goes_where_it_goes_on_the_cpu(name: str, place: str):
    rng, X = np.random.default_rng(0), normal(2, 5, 4)
    net = {
        "MAB": lambda: MAB(4, 4, 4, 2, rng=rng),
        "rFF": lambda: rFF(4, 6, 4, rng=rng, last="relu"),
        "SAB, authors": lambda: SAB(4, 4, 2, style="authors", rng=rng),
    }[name]().astype("float64")
    linear = (net if name == "rFF" else getattr(net, "mab", net).rff).layers[0]
    if place == "input":
        X[1, 3, 2] = np.nan
    else:
        getattr(linear, place).data[..., 1] = np.nan
    inputs = (X, normal(2, 5, 4)) if name == "MAB" else (X,)
    assert compare(net, *inputs) <= 1e-12


# ---- masks ----------------------------------------------------------------------------------------------------------


def attention_with_as_many_keys_as_queries() -> float:
    """A mask of pairs; no query attends to the third key, which is nan, and the fifth query attends to no keys."""
    q, k, v = normal(2, 3, 6, 4), normal(2, 3, 6, 4), normal(2, 3, 6, 5)
    mask = np.random.default_rng(3).random((2, 3, 6, 6)) < 0.6
    mask[..., 2], mask[..., 4, :] = False, False
    k[..., 2, :] = v[..., 2, :] = np.nan
    return compare(lambda *x: attention(*x, mask=mask), q, k, v)


def test_attention_with_as_many_keys_as_queries():
    assert attention_with_as_many_keys_as_queries() <= 1e-12


# ---- weight decay ---------------------------------------------------------------------------------------------------


def steps(optimizer: Callable[..., Optimizer], decoupled: bool, device: str) -> np.ndarray:
    """The weights of a layer after three steps with a constant gradient and much weight decay."""
    p = Tensor(backend.to_device(normal(7), device), requires_grad=True)
    stepper = optimizer([p], lr=0.1, weight_decay=0.5, decoupled=decoupled)
    for _ in range(3):
        p.grad = backend.to_device(normal(8)[:7] + 1, device)
        stepper.step()
    return p.numpy()


def weight_decay(optimizer: Callable[..., Optimizer]) -> float:
    """The difference from the CPU; inf if coupled and decoupled decay make none, since then nothing would be shown."""
    with forms.plain_forms():
        coupled, decoupled = (steps(optimizer, way, "cpu") for way in (False, True))
    if relative_error(coupled, decoupled) < 1e-3:
        return np.inf
    found = (steps(optimizer, way, "cuda") for way in (False, True))
    return max(map(relative_error, found, (coupled, decoupled)))


@pytest.mark.parametrize("optimizer", [Adam, functools.partial(SGD, momentum=0.9)], ids=["Adam", "SGD"])
def test_weight_decay(optimizer: Callable[..., Optimizer]):
    assert weight_decay(optimizer) <= 1e-12


# ---- the widest rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1024, 1025])
def test_the_widest_norm(d: int):
    """1024 features have a kernel, in both dtypes; of 1025, backward would need too much shared memory."""
    for dtype in ("float32", "float64"):
        x, gamma, beta = (normal(*shape).astype(dtype) for shape in ((3, d), (d,), (d,)))
        with emulation.counting() as seen:
            error = compare(layer_norm, x, gamma, beta)
        assert error <= {"float32": 2e-5, "float64": 1e-12}[dtype]
        assert any(name.startswith("norm_backward") for name in seen.names) == (d <= 1024)


def test_the_widest_block():
    for d, fused in ((1024, True), (1032, False)):
        mab = MAB(4, 4, d, 8, rng=np.random.default_rng(0)).astype("float64")
        assert isinstance(mab.norm_h, LayerNorm)
        with emulation.counting() as seen:
            assert compare(mab, normal(1, 3, 4), normal(1, 2, 4)) <= 1e-12
        assert any(name.startswith("norm_backward") for name in seen.names) == fused


# ---- the architecture -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_kernels_are_compiled_for_the_gpu_they_run_on(device: str, monkeypatch: pytest.MonkeyPatch):
    """With the options that test_compile.py compiles with; the emulation refuses others."""
    from cupy.cuda import compiler

    seen, compile_ = [], compiler._compile_using_nvrtc_no_warning

    def record(source: str, options: tuple[str, ...], arch: str, *rest: object, **more: object):
        if "norm_forward" in source:
            seen.append((arch, [option for option in options if not option.startswith("-I")]))
        return compile_(source, options, arch, *rest, **more)

    monkeypatch.setattr(compiler, "_compile_using_nvrtc_no_warning", record)
    monkeypatch.setitem(norm.CODE.__dict__, "source", f"{norm.CODE.source}\n// {device}")  # which is not compiled yet
    x = Tensor(backend.to_device(normal(3, 4), device))
    layer_norm(x, None, None)
    backend.gpu().cuda.Device(0).use()
    assert [arch for arch, _ in seen] == [{"cuda:0": "80", "cuda:1": "90"}[device]]
    assert "--std=c++17" in seen[0][1] and "-ftz=true" in seen[0][1]


def test_another_architecture_is_refused():
    import cupy
    from cupy.cuda.compiler import CompileException

    text = 'extern "C" __global__ void k(float *y) { y[0] = 70; }'
    with pytest.raises(CompileException, match="for another architecture"):
        cupy.RawKernel(text, "k", options=("-arch=sm_70",)).compile()
