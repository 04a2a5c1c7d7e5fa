"""Layers for images (N, C, H, W): convolution, batch normalization, and both followed by a ReLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor, backend, batch_norm, conv2d, relu
from autograd.ops.images import moments, pair
from minisets.checks import positive_int
from minisets.nn import init
from minisets.nn.module import Module, tensor_like


class BatchNorm(Module):
    """Each channel normalized to mean 0 and variance 1 over the batch, then scaled by γ and shifted by β.

    `axis` is that of the channels: 1 for images (N, C, H, W), −1 for the features of a set.  Training uses the batch's
    own statistics and updates the running ones, r ← (1 − momentum) r + momentum · batch, with the unbiased variance;
    evaluation uses the running ones.
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
            with backend.device_guard(X.data):
                statistics = moments(X.data, self.axis)
        else:
            statistics = self.running_mean.data, self.running_variance.data
        Y = batch_norm(
            X, self.gamma, self.beta, axis=self.axis, eps=self.eps, statistics=statistics, frozen=not self.training
        )
        if self.training:
            self.update_running(*statistics, n=X.size // X.shape[self.axis])
        return Y

    def update_running(self, mean: Any, variance: Any, n: int) -> None:
        """Move the running statistics toward those of a batch with n values per channel."""
        with backend.device_guard(mean):
            for running, batch in ((self.running_mean, mean), (self.running_variance, variance * (n / max(n - 1, 1)))):
                running.data *= 1 - self.momentum
                running.data += self.momentum * batch


class Conv2d(Module):
    """Convolution of images (N, C_in, H, W) to (N, C_out, H', W') with a kernel of this size.  gain: as in Linear."""

    def __init__(
        self,
        c_in: int,
        c_out: int,
        size: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        bias: bool = True,
        gain: float | None = None,
        rng: np.random.Generator,
    ) -> None:
        height, width = pair(size)
        fan_in = c_in * height * width
        self.weight, self.bias = init.layer(rng, (c_out, c_in, height, width), c_out, fan_in, bias, gain)
        self.stride, self.padding, self.notation = stride, padding, f"Conv({c_out}, {size}, {stride})"

    def forward(self, X: Any) -> Tensor:
        return conv2d(X, self.weight, self.bias, stride=self.stride, padding=self.padding)


class ConvNorm(Module):
    """max(BatchNorm(Conv2d(X)), 0), in the paper's tables Conv(c_out, size, stride, BN, ReLU).

    The convolution has no bias, since the normalization would cancel it.
    """

    def __init__(
        self, c_in: int, c_out: int, size: int = 3, *, stride: int = 1, padding: int = 1, rng: np.random.Generator
    ) -> None:
        self.conv = Conv2d(c_in, c_out, size, stride=stride, padding=padding, bias=False, rng=rng)
        self.norm = BatchNorm(c_out)
        self.notation = f"Conv({c_out}, {size}, {stride}, BN, ReLU)"

    def forward(self, X: Any) -> Tensor:
        return relu(self.norm(self.conv(X)))
