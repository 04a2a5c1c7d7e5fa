"""Layers of images (N, C, H, W): convolution, batch normalisation, and the two with a ReLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, batch_norm, conv2d, relu
from autograd.ops.images import moments, pair
from minisets.checks import positive_int
from minisets.nn import init
from minisets.nn.module import Module, tensor_like


class BatchNorm(Module):
    """Each channel brought to mean 0 and variance 1 over the batch, then scaled by γ and shifted by β.

    The channels lie along an axis: 1 for images (N, C, H, W), −1 for the features of a set.  In training the batch's
    own statistics are used, and running ones follow them, r ← (1 − momentum) r + momentum · batch, the variance being
    the unbiased one; in evaluation the running ones are used.
    """

    def __init__(self, channels: int, *, axis: int = 1, momentum: float = 0.1, eps: float = 1e-5) -> None:
        channels = positive_int("channels", channels)
        self.gamma, self.beta = init.constant((channels,), 1.0), init.constant((channels,), 0.0)
        self.running_mean = Tensor(np.zeros(channels, dtype="float32"))
        self.running_variance = Tensor(np.ones(channels, dtype="float32"))
        self.axis, self.momentum, self.eps, self.notation = axis, momentum, eps, f"BatchNorm({channels})"

    def forward(self, X: Any) -> Tensor:
        X = tensor_like(X, self.gamma)
        if self.training:
            statistics = moments(X.data, self.axis)
        else:
            statistics = self.running_mean.data, self.running_variance.data
        Y = batch_norm(
            X, self.gamma, self.beta, axis=self.axis, eps=self.eps, statistics=statistics, frozen=not self.training
        )
        if self.training:
            self.follow(*statistics, n=X.size // X.shape[self.axis])
        return Y

    def follow(self, mean: Any, variance: Any, n: int) -> None:
        """Move the running statistics towards those of a batch of n numbers a channel."""
        for running, batch in ((self.running_mean, mean), (self.running_variance, variance * (n / max(n - 1, 1)))):
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
        height, width = pair(size)
        fan_in = c_in * height * width
        self.weight = init.fan_in_uniform(rng, (c_out, c_in, height, width), fan_in)
        self.bias = init.fan_in_uniform(rng, (c_out,), fan_in) if bias else None
        self.stride, self.padding, self.notation = stride, padding, f"Conv({c_out}, {size}, {stride})"

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
        return relu(self.norm(self.conv(X)))
