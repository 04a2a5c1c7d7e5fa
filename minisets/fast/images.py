"""Convolution, batch norm and ReLU: a batch's statistics computed in pieces, norm and ReLU in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Tensor
from autograd.fast import images
from autograd.fast.attach import with_one_blas_thread
from autograd.fast.backward import new_gradients
from autograd.forms import form_of
from autograd.tape import apply
from minisets.nn.images import BatchNorm, ConvNorm

_batch_norm = new_gradients(images.batch_norm)


def serves(self: ConvNorm, X: Any) -> bool:
    """Whether the images are NumPy arrays, and the norm of the ConvNorm has not been replaced."""
    data = X.data if isinstance(X, Tensor) else X
    is_numpy = type(data) is np.ndarray and type(self.norm.gamma.data) is np.ndarray
    return is_numpy and data.size > 0 and type(self.norm) is BatchNorm and self.norm.axis == 1


@form_of(ConvNorm, "forward", serves=serves)
@with_one_blas_thread
def conv_norm(self: ConvNorm, X: Any) -> Tensor:
    Z, norm = self.conv(X), self.norm
    running = norm.running_mean.data, norm.running_variance.data
    statistics = images.moments(Z.data, 1) if norm.training else running
    settings = {"statistics": statistics, "eps": norm.eps, "frozen": not norm.training, "relu": True}
    Y = apply("batch_norm", _batch_norm, (Z, norm.gamma, norm.beta), settings)
    if norm.training:
        norm.update_running(*statistics, n=Z.size // Z.shape[1])
    return Y
