"""The end of a linear layer: a bias and optionally a ReLU, applied to a product in place; and the gradients.

    y = p + b,   or   y = max(p + b, 0)             gp = g,   or   gp = g ⊙ [y > 0]          gb = Σ gp over the rows

Threads: one per element, in CuPy's ElementwiseKernel, and CuPy's tree reduction in its ReductionKernel.

Bytes: p is read and written once, where + and maximum would do so twice and allocate a second array.  Backward reads g
and y once for gp and once for gb, and needs no array for y > 0.
"""

from __future__ import annotations

import numpy as np

from autograd.backend import Array, array_module
from autograd.kernels.registry import Elementwise, Reduction, kernel

ADD = Elementwise("bias", "T b", "T y", "y += b")
ADD_RELU = Elementwise("bias_relu", "T b", "T y", "y += b; if (y < 0) y = 0")
RELU_GRADIENT = Elementwise("relu_backward", "T g, T y", "T gp", "gp = g * T(y > 0)")
SUM = Reduction("bias_backward", "T g", "g")
SUM_RELU = Reduction("bias_relu_backward", "T g, T y", "g * T(y > 0)")


def forward_reference(p: Array, bias: Array | None, relu: bool) -> Array:
    y = p if bias is None else p + bias
    return np.maximum(y, 0) if relu else y


def backward_reference(g: Array, y: Array) -> Array:
    return g * (y > 0)


def sum_reference(g: Array, y: Array | None) -> Array:
    return (g if y is None else g * (y > 0)).sum(axis=0)


@kernel(forward_reference, ADD, ADD_RELU, sizes="any", in_place=1)
def bias_relu(p: Array, bias: Array | None, relu: bool) -> Array:
    """p (rows, d) with the bias (d,) added, in place"""
    if bias is None:
        bias = array_module(p).zeros((), dtype=p.dtype)
    (ADD_RELU if relu else ADD)(bias, p)
    return p


@kernel(backward_reference, RELU_GRADIENT, sizes="any")
def relu_backward(g: Array, y: Array) -> Array:
    return RELU_GRADIENT(g, y)


@kernel(sum_reference, SUM, SUM_RELU, sizes="any")
def bias_backward(g: Array, y: Array | None) -> Array:
    """gb (d,) from g (rows, d); y is the layer's output if it had a ReLU"""
    return SUM(g, axis=0) if y is None else SUM_RELU(g, y, axis=0)
