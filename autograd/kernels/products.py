"""Batched matrix products on a GPU without copies of transposed operands.

    C = A B for A (..., n, a) and B (..., a, m)

CuPy's matmul copies an operand that is not contiguous, and backward always has one: gA = g Bᵀ, gB = Aᵀ g.  cuBLAS
itself needs no copy: for each operand it takes a flag "transposed", the stride from one row to the next and the stride
from one matrix to the next, and with a stride of 0 the same matrix is used for the entire batch.

cuBLAS is column-major: what it calls A is our Aᵀ.  So it computes Cᵀ = Bᵀ Aᵀ, with B as its first operand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from autograd.backend import Array, array_module, gpu
from autograd.kernels.registry import kernel


class Operand(NamedTuple):
    """A batch of matrices as cuBLAS expects it."""

    array: Array  # kept alive as long as its address is in use
    transposed: bool
    row: int  # stride from one row (if transposed, column) to the next
    matrix: int  # stride from one matrix to the next


@kernel(np.matmul, sizes="any")
def matmul(a: Array, b: Array) -> Array:
    """a @ b; with three or more dimensions by cuBLAS's strided batched product"""
    xp = array_module(a)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, inner, m, count = a.shape[-2], a.shape[-1], b.shape[-1], math.prod(lead)
    if not lead or not count * n * inner * m:
        return xp.matmul(a, b)
    c = xp.empty((*lead, n, m), a.dtype)
    left, right = operand(a, lead), operand(b, lead)
    cublas, one, zero = gpu().cuda.cublas, np.ones((), a.dtype), np.zeros((), a.dtype)
    product = cublas.sgemmStridedBatched if a.dtype == np.float32 else cublas.dgemmStridedBatched
    arguments = [
        *(cublas.CUBLAS_OP_T if x.transposed else cublas.CUBLAS_OP_N for x in (right, left)),
        *(m, n, inner, one.ctypes.data),
        *(value for x in (right, left) for value in (x.array.data.ptr, x.row, x.matrix)),
        *(zero.ctypes.data, c.data.ptr, m, n * m, count),
    ]
    product(gpu().cuda.device.get_cublas_handle(), *arguments)
    return c


def operand(x: Array, lead: tuple[int, ...]) -> Operand:
    """x (..., n, a) broadcast to the leading dimensions, without a copy if its strides can be expressed in cuBLAS."""
    rows, columns = x.shape[-2:]
    *batch, row, column = (s // x.itemsize for s in x.strides)
    matrix = _matrix_stride(x.shape[:-2], batch, lead)
    if matrix is not None:
        if column == 1 and row >= max(columns, 1):
            return Operand(x, False, row, matrix)
        if row == 1 and column >= max(rows, 1):
            return Operand(x, True, column, matrix)
    copied = array_module(x).ascontiguousarray(array_module(x).broadcast_to(x, (*lead, rows, columns)))
    return Operand(copied, False, columns, rows * columns)


def _matrix_stride(shape: tuple[int, ...], strides: list[int], lead: tuple[int, ...]) -> int | None:
    """The stride from one matrix to the next, None if it is not constant; 0 if the batch shares one matrix."""
    if math.prod(shape) == 1:
        return 0
    if shape != lead:
        return None
    distance, expected = None, None
    for size, stride in zip(shape[::-1], strides[::-1], strict=True):
        if size == 1:
            continue
        if stride < 0:  # not supported by cuBLAS
            return None
        if distance is None:
            distance = stride
        elif stride != expected:
            return None
        expected = stride * size
    return distance
