"""Fast ConvNorm and BatchNorm against the plain forms, and the memory layout of images."""

import contextlib

import numpy as np
import pytest

from autograd import Tensor
from autograd.forms import plain_forms
from minisets.nn import BatchNorm, ConvNorm


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("axis", [1, -1])
def test_layers_of_images(training: bool, axis: int):
    """ConvNorm and BatchNorm: values, gradients and running statistics."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 2, 5, 5) if axis == 1 else (7, 2))
    results = []
    for form in (contextlib.nullcontext(), plain_forms()):
        layer = (ConvNorm(2, 4, rng=np.random.default_rng(1)) if axis == 1 else BatchNorm(2, axis=-1)).astype("float64")
        with form:
            layer.train(training)
            leaf = Tensor(X, requires_grad=True)
            Y = layer(leaf)
            Y.backward(np.cos(np.arange(Y.size)).reshape(Y.shape))
        results.append([Y.data, leaf.grad, *(p.grad for p in layer.parameters()), *layer.state_dict().values()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_images_keep_their_channels_last_in_memory():
    """Only the data is transposed; the gradients too have the channels last in memory."""
    rng = np.random.default_rng(0)
    X = Tensor(rng.normal(size=(4, 3, 9, 9)), requires_grad=True)
    layers = [ConvNorm(3, 5, 3, stride=2, padding=1, rng=rng), ConvNorm(5, 5, 3, rng=rng)]
    Y = X
    for layer in layers:
        Y = layer.astype("float64")(Y)
        assert Y.data.transpose(0, 2, 3, 1).flags.c_contiguous
    Y.sum().backward()
    assert X.grad.transpose(0, 2, 3, 1).flags.c_contiguous
