"""Book I: a small reverse-mode automatic differentiation library for NumPy and CuPy.

>>> from autograd import Tensor
>>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
array([2., 4., 6.])

Read tape.py first, then ops/arithmetic.py and the other ops; gradcheck.py checks them all.  The remaining details are
in arguments.py (what an op accepts besides Tensors), operators.py and methods.py (+ * @ [] and .sum()), backend.py
(NumPy and CuPy) and drawing.py (drawing a graph).  Everything else (forms.py, threads.py, fast/, kernels/) computes
the same results faster.
"""

from autograd.cupy_import import DeviceError
from autograd.drawing import Graph, graph
from autograd.ops.arithmetic import add, divide, maximum, minimum, multiply, negative, power, subtract, where
from autograd.ops.functions import abs, astype, clip, exp, log, sigmoid, softplus, sqrt, tanh, to_device
from autograd.ops.images import batch_norm, conv2d
from autograd.ops.linalg import einsum, matmul
from autograd.ops.loss import (
    absolute_error,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_mixture_log_likelihood,
    poisson_negative_log_likelihood,
    squared_error,
)
from autograd.ops.nn import attention, join_heads, layer_norm, linear, relu, split_heads
from autograd.ops.pooling import dropout, max_pool, mean_pool
from autograd.ops.reduce import logsumexp, max, mean, min, std, sum, var
from autograd.ops.shape import broadcast_to, concatenate, getitem, pad, reshape, split, stack, swapaxes, transpose
from autograd.ops.softmax import log_softmax, softmax
from autograd.registry import OPS, composite
from autograd.tape import Tensor, no_grad, op

__version__ = "0.3.0"

PROJECT = "minisets"  # lets minisets tell this package from the unrelated one on PyPI that is also named autograd

# What `from autograd import *` imports: everything but abs, max, min and sum, which would shadow Python's built-ins.
__all__ = [
    "OPS",
    "DeviceError",
    "Graph",
    "Tensor",
    "absolute_error",
    "add",
    "astype",
    "attention",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "broadcast_to",
    "clip",
    "composite",
    "concatenate",
    "conv2d",
    "cross_entropy",
    "divide",
    "dropout",
    "einsum",
    "exp",
    "gaussian_mixture_log_likelihood",
    "getitem",
    "graph",
    "join_heads",
    "layer_norm",
    "linear",
    "log",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max_pool",
    "maximum",
    "mean",
    "mean_pool",
    "minimum",
    "multiply",
    "negative",
    "no_grad",
    "op",
    "pad",
    "poisson_negative_log_likelihood",
    "power",
    "relu",
    "reshape",
    "sigmoid",
    "softmax",
    "softplus",
    "split",
    "split_heads",
    "sqrt",
    "squared_error",
    "stack",
    "std",
    "subtract",
    "swapaxes",
    "tanh",
    "to_device",
    "transpose",
    "var",
    "where",
]

# Attach the faster forms.  Everything above works without their folders.
for _folder in ("fast", "kernels"):
    try:
        __import__(f"autograd.{_folder}")
    except ModuleNotFoundError as _error:
        if _error.name != f"autograd.{_folder}":
            raise
