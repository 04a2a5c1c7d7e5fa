"""Book I: a tiny reverse-mode automatic differentiation over NumPy and CuPy.

>>> from autograd import Tensor
>>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
array([2., 4., 6.])

Read tape.py first, then ops/elementwise.py and its neighbours; gradcheck.py checks them all.  The rest is for when you
want to know how: arguments.py (what may stand beside a Tensor), operators.py (+ * @ []), backend.py (NumPy and CuPy);
and for speed forms.py (which form of an op runs), fast/ (the fast ones) and threads.py.
"""

from autograd import operators  # gives Tensor its + * @ [] and methods
from autograd.backend import DeviceError
from autograd.ops.attention import attention, summed_attention
from autograd.ops.conv import conv2d
from autograd.ops.elementwise import (
    abs,
    add,
    astype,
    clip,
    disregard,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    relu,
    sigmoid,
    softplus,
    sqrt,
    subtract,
    tanh,
    to_device,
    where,
)
from autograd.ops.linalg import einsum, linear, matmul
from autograd.ops.loss import (
    absolute_error,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_mixture_log_likelihood,
    poisson_negative_log_likelihood,
    squared_error,
)
from autograd.ops.nn import batch_norm, dropout, layer_norm, log_softmax, max_pool, mean_pool, residual_norm, softmax
from autograd.ops.reduce import logsumexp, max, mean, min, sum, var
from autograd.ops.shape import (
    broadcast_to,
    concatenate,
    getitem,
    pad,
    reshape,
    split,
    stack,
    swapaxes,
    transpose,
)
from autograd.tape import OPS, Tensor, composite, no_grad, op

# What `from autograd import *` gives: all but those that would stand in for Python's own.
__all__ = [name for name in dir() if not name.startswith("_") and name not in ("abs", "max", "min", "sum")]

PROJECT = "minisets"  # how minisets tells this package from the other one that is named autograd
