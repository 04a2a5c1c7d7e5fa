"""The layers that networks are made of.  Each takes an explicit `rng` where it draws numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import Tensor, batch_norm, conv2d, dropout, layer_norm, linear, where
from autograd.backend import Array
from autograd.ops.nn import moments
from minisets.nn import init
from minisets.nn.module import Module, tensor_like


class Linear(Module):
    """Y = X W + b for X (..., d_in), with W (d_in, d_out) as the paper writes it (PyTorch keeps the transpose)."""

    def __init__(self, d_in: int, d_out: int, *, bias: bool = True, rng: np.random.Generator) -> None:
        self.weight = init.fan_in_uniform(rng, (d_in, d_out), fan_in=d_in)
        self.bias = init.fan_in_uniform(rng, (d_out,), fan_in=d_in) if bias else None
        self.notation = f"FC({d_out}, –)"  # as the paper's tables write it

    def forward(self, X: Any, relu: bool = False) -> Tensor:
        return linear(X, self.weight, self.bias, relu=relu)


class LayerNorm(Module):
    """Each row of X, or of X + plus, brought to mean 0 and variance 1, then scaled by γ and shifted by β."""

    def __init__(self, d: int, *, eps: float = 1e-5) -> None:
        self.gamma, self.beta = init.constant((d,), 1.0), init.constant((d,), 0.0)
        self.eps = eps

    def forward(self, X: Any, plus: Any = None) -> Tensor:
        return layer_norm(X, self.gamma, self.beta, plus, eps=self.eps)


class SetNorm(Module):
    """Each set brought to mean 0 and variance 1 over all of its elements and features at once, then γ ⊙ X + β.

    X is (..., n, d), the mask (..., n); only elements present count.  Unlike LayerNorm it keeps what tells the elements
    of a set apart by size (Zhang et al., 2022).
    """

    def __init__(self, d: int, *, eps: float = 1e-5) -> None:
        self.gamma, self.beta = init.constant((d,), 1.0), init.constant((d,), 0.0)
        self.eps = eps

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        *batch, n, d = X.shape
        if mask is None and n > 0:
            normal = layer_norm(X.reshape(*batch, n * d), eps=self.eps).reshape(X.shape)
        else:
            present = np.ones((*batch, n, 1), dtype=bool) if mask is None else mask[..., None]
            count = np.maximum(present.sum(axis=(-2, -1), keepdims=True), 1) * d
            centred = X - where(present, X, 0).sum(axis=(-2, -1), keepdims=True) / count
            centred = where(present, centred, 0)
            variance = (centred * centred).sum(axis=(-2, -1), keepdims=True) / count
            normal = centred / (variance + self.eps).sqrt()
        return normal * self.gamma + self.beta


class BatchNorm(Module):
    """Each channel brought to mean 0 and variance 1 over the batch, then scaled by γ and shifted by β.

    The channels lie along an axis: 1 for images (N, C, H, W), −1 for the features of a set.  In training the batch's
    own statistics are used, and running ones follow them, r ← (1 − momentum) r + momentum · batch, the variance being
    the unbiased one; in evaluation the running ones are used.
    """

    def __init__(self, channels: int, *, axis: int = 1, momentum: float = 0.1, eps: float = 1e-5) -> None:
        self.gamma, self.beta = init.constant((channels,), 1.0), init.constant((channels,), 0.0)
        self.running_mean = Tensor(np.zeros(channels, dtype="float32"))
        self.running_variance = Tensor(np.ones(channels, dtype="float32"))
        self.axis, self.momentum, self.eps = axis, momentum, eps

    def forward(self, X: Any, relu: bool = False) -> Tensor:
        X = tensor_like(X, self.gamma)
        settings = {"axis": self.axis, "eps": self.eps, "frozen": not self.training, "relu": relu}
        if not self.training:
            statistics = self.running_mean.data, self.running_variance.data
            return batch_norm(X, self.gamma, self.beta, statistics=statistics, **settings)
        mean, variance = moments(X.data, self.axis)
        Y = batch_norm(X, self.gamma, self.beta, statistics=(mean, variance), **settings)
        n = X.size // X.shape[self.axis]
        self._follow(self.running_mean, mean)
        self._follow(self.running_variance, variance * (n / max(n - 1, 1)))
        return Y

    def _follow(self, running: Tensor, batch: Any) -> None:
        running.data *= 1 - self.momentum
        running.data += self.momentum * batch


class Conv2d(Module):
    """Images (N, C_in, H, W) to (N, C_out, H', W') by a kernel of the given size, at every stride-th place."""

    def __init__(
        self,
        c_in: int,
        c_out: int,
        size: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        bias: bool = True,
        rng: np.random.Generator,
    ) -> None:
        height, width = (size, size) if isinstance(size, int) else size
        fan_in = c_in * height * width
        self.weight = init.fan_in_uniform(rng, (c_out, c_in, height, width), fan_in)
        self.bias = init.fan_in_uniform(rng, (c_out,), fan_in) if bias else None
        self.stride, self.padding = stride, padding

    def forward(self, X: Any) -> Tensor:
        return conv2d(X, self.weight, self.bias, stride=self.stride, padding=self.padding)


class ConvNorm(Module):
    """max(BatchNorm(Conv2d(X)), 0), in the paper's tables Conv(c_out, size, stride, BN, ReLU).

    The convolution has no bias: the normalisation would take it away again.
    """

    def __init__(
        self, c_in: int, c_out: int, size: int = 3, *, stride: int = 1, padding: int = 1, rng: np.random.Generator
    ) -> None:
        self.conv = Conv2d(c_in, c_out, size, stride=stride, padding=padding, bias=False, rng=rng)
        self.norm = BatchNorm(c_out)
        self.notation = f"Conv({c_out}, {size}, {stride}, BN, ReLU)"

    def forward(self, X: Any) -> Tensor:
        return self.norm(self.conv(X), relu=True)


class Dropout(Module):
    """In training each element is zeroed with probability p and the others grow by 1/(1 − p); otherwise nothing."""

    def __init__(self, p: float, *, rng: np.random.Generator) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"the probability p of dropping an element must lie in [0, 1), given {p}")
        self.p, self.rng = p, init.require_generator(rng)
        self.notation = f"Dropout({p})"

    def forward(self, X: Any) -> Tensor:
        return dropout(X, p=self.p if self.training else 0.0, rng=self.rng)


class Sequential(Module):
    """One layer after another; a layer is a Module or any function of a Tensor, such as relu."""

    def __init__(self, *layers: Callable[[Any], Any]) -> None:
        self.layers = list(layers)

    def forward(self, X: Any) -> Any:
        if not isinstance(X, Tensor):  # a relu that comes first would make a float64 Tensor of an array
            parameter = next((x for _, x in self.named_tensors() if x.requires_grad), None)
            X = X if parameter is None else tensor_like(X, parameter)
        for layer in self.layers:
            X = layer(X)
        return X
