"""PyTorch modules and JAX functions as functions of Tensors: where these are installed."""

import numpy as np
import pytest

from autograd import Tensor, foreign
from autograd.gradcheck import GradientError, gradcheck
from minisets import testing

rng = np.random.default_rng(0)


def test_other_functions_are_left_alone():
    for function in (len, np.exp, Tensor.exp, lambda x: x):
        assert foreign.wrap(function) is function


@pytest.mark.needs("torch")
def test_gradcheck_of_a_pytorch_module():
    from torch import nn

    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.3), nn.BatchNorm1d(4), nn.Linear(4, 2))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    net[0].bias.grad = grad = net[0].bias.detach() + 1
    errors = gradcheck(net, rng.normal(size=(5, 3)))
    assert set(errors) == {"input 0"} | {name for name, _ in net.named_parameters()} and max(errors.values()) < 1e-6
    assert net[0].bias.grad is grad and net[4].weight.grad is None and net.training
    assert all(
        (value == before[name]).all() and value.dtype == before[name].dtype for name, value in net.state_dict().items()
    )


@pytest.mark.needs("torch")
def test_a_wrong_derivative_in_pytorch_is_caught():
    import torch

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3.001 * g * ctx.saved_tensors[0] ** 2

    class Net(torch.nn.Module):
        def forward(self, x):
            return Cube.apply(x), None  # of several outputs the first is checked

    with pytest.raises(GradientError, match="a derivative is wrong"):
        gradcheck(Net(), rng.normal(size=(5, 3)))


@pytest.mark.needs("torch")
def test_a_maximum_with_ties_in_pytorch_is_named():
    import torch

    class Largest(torch.nn.Module):
        def forward(self, x):
            return x.max(dim=-1).values

    with pytest.raises(GradientError, match=r"as a maximum with ties has: elements \[0\], \[2\] = 2"):
        gradcheck(Largest(), np.array([2.0, 1.0, 2.0]))


@pytest.mark.needs("torch")
def test_a_pytorch_module_is_checked_and_left_as_it_was():
    import torch
    from torch import nn

    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)  # has a mask of elements and one of pairs
    before, state = {name: value.clone() for name, value in net.state_dict().items()}, torch.get_rng_state()
    testing.check_set_function(net, "equivariant", examples=4, finite=True, sizes=(1, 4))
    with pytest.raises(testing.PropertyError, match="nan passes through"):
        testing.check_padding(net, "equivariant")
    assert net.training and all((value == before[name]).all() for name, value in net.state_dict().items())
    assert all(p.grad is None and p.dtype == torch.float32 for p in net.parameters())
    assert torch.get_num_threads() >= 1 and len(state)


@pytest.mark.needs("torch")
def test_what_does_not_fit_a_pytorch_module_is_said():
    from torch import nn

    with pytest.raises(testing.CannotCheck, match=r"sets of shape \(2, 3, 5\).*pass d_in"):
        testing.check_invariant(nn.Linear(3, 2), d_in=5)
    testing.check_equivariant(nn.Linear(7, 2), examples=2)  # the width is that of its first layer


@pytest.mark.needs("jax")
def test_gradcheck_of_a_jax_function():
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(lambda x, y: (jnp.tanh(x) @ y, None))
    with pytest.raises(TypeError, match="jax_enable_x64"):
        gradcheck(compiled, rng.normal(size=(2, 3)), rng.normal(size=3))
    with jax.enable_x64(True):
        assert max(gradcheck(compiled, rng.normal(size=(2, 3)), rng.normal(size=3)).values()) < 1e-6


@pytest.mark.needs("jax")
def test_a_jax_function_is_recognized_by_what_it_returns():
    import jax.numpy as jnp

    assert testing.Subject(lambda X: jnp.sum(X, axis=1)).differentiable
    testing.check_invariant(lambda X: jnp.sum(X, axis=1), examples=3, sizes=(1, 3))
