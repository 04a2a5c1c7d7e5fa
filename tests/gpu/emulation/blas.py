"""Stands in for `cupy_backends.cuda.libs.cublas`: matrix products computed by NumPy, with cuBLAS's checks and one more.

Matrices are in column-major order, a leading dimension apart. The additional check is that each lies in one allocation.
CuPy takes its functions and constants from here by name; one that is missing is not emulated.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from . import library
from .errors import KernelError

CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = 0, 1, 2
CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE = 0, 1
CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT_TENSOR_OP = -1, 99
CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_TF32 = 68, 69, 77
CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC = 70, 71

_DATA_TYPES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16"}  # cudaDataType_t
_LETTERS = {"s": "f4", "d": "f8", "c": "c8", "z": "c16"}  # of sgemm, dgemm ...
_pointer_mode = CUBLAS_POINTER_MODE_HOST
_sums_reversed = False


def create() -> int:
    return 1 + library.current_device()  # a handle is for the device that was current when it was made


def destroy(handle: int) -> None:
    pass


def setStream(handle: int, stream: int) -> None:
    pass


def setMathMode(handle: int, mode: int) -> None:
    pass


def getMathMode(handle: int) -> int:
    return 0


def setPointerMode(handle: int, mode: int) -> None:
    global _pointer_mode
    _pointer_mode = mode


def getPointerMode(handle: int) -> int:
    return _pointer_mode


@contextlib.contextmanager
def reversed_sums() -> Iterator[None]:
    """Sum the terms of each product from the last to the first: cuBLAS has an order of its own, too."""
    global _sums_reversed
    _sums_reversed = True
    try:
        yield
    finally:
        _sums_reversed = False


# ---- operands --------------------------------------------------------------------------------------------------------


class Matrix(NamedTuple):
    """An operand as cuBLAS is given it: `count` matrices, `stride` elements from one to the next."""

    name: str
    address: int
    dtype: np.dtype
    leading: int
    stride: int = 0
    count: int = 1

    def view(self, rows: int, columns: int) -> np.ndarray:
        """(count, rows, columns) on the memory itself."""
        if self.leading < max(1, rows):
            raise KernelError(f"CUBLAS_STATUS_INVALID_VALUE: {self.name} has {rows} rows, {self.leading} apart")
        size = self.dtype.itemsize
        elements = self.stride * (self.count - 1) + self.leading * (columns - 1) + rows
        memory = _memory(f"the matrix {self.name}", self.address, elements * size).view(self.dtype)
        shape, strides = (self.count, rows, columns), (self.stride * size, size, self.leading * size)
        return np.lib.stride_tricks.as_strided(memory, shape, strides)

    def bytes(self, rows: int, columns: int) -> int:
        return (self.count if self.stride else 1) * rows * columns * self.dtype.itemsize


def _memory(name: str, address: int, size: int, on_device: bool = True) -> np.ndarray:
    if on_device and not library.holds(address, size):
        raise KernelError(f"CUBLAS: {name}, {size} bytes at {address:#x}, is not inside one live allocation")
    if on_device and library.device_of(address) != library.current_device():
        raise KernelError(f"CUBLAS: {name} is on device {library.device_of(address)}, which is not the current one")
    return np.frombuffer((ctypes.c_char * size).from_address(address), np.uint8)


def _scalar(name: str, address: int, dtype: np.dtype) -> Any:
    on_device = _pointer_mode == CUBLAS_POINTER_MODE_DEVICE
    return _memory(name, address, dtype.itemsize, on_device).view(dtype)[0]


def _transposed(matrices: np.ndarray, operation: int) -> np.ndarray:
    if operation == CUBLAS_OP_N:
        return matrices
    transposed = matrices.transpose(0, 2, 1)
    return transposed.conj() if operation == CUBLAS_OP_C else transposed


# ---- matrix · matrix -------------------------------------------------------------------------------------------------


class Product(NamedTuple):
    """C = alpha · op(A) · op(B) + beta · C, where op(A) is (m, k) and op(B) is (k, n)."""

    handle: int
    transa: int
    transb: int
    m: int
    n: int
    k: int
    alpha: int  # these two are addresses
    beta: int
    scalar: np.dtype

    def compute(self, a: Matrix, b: Matrix, c: Matrix) -> int:
        """Do it, and return the bytes of the three."""
        m, n, k = self.m, self.n, self.k
        if min(m, n, k) < 0 or not {self.transa, self.transb} <= {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}:
            raise KernelError(f"CUBLAS_STATUS_INVALID_VALUE: m = {m}, n = {n}, k = {k}, {self.transa}, {self.transb}")
        if c.count > 1 and c.stride < c.leading * n:
            raise KernelError("CUBLAS_STATUS_INVALID_VALUE: the matrices C of the batch overlap")
        if m == 0 or n == 0 or c.count == 0:
            return 0
        a_shape = (m, k) if self.transa == CUBLAS_OP_N else (k, m)
        b_shape = (k, n) if self.transb == CUBLAS_OP_N else (n, k)
        result = c.view(m, n)
        beta = _scalar("beta", self.beta, self.scalar)
        scaled = (
            0 if beta == 0 else beta * result.astype(self.scalar)
        )  # beta = 0 means that C is not read: it may be NaN
        if k > 0:
            left = _transposed(a.view(*a_shape), self.transa).astype(self.scalar)
            right = _transposed(b.view(*b_shape), self.transb).astype(self.scalar)
            if _sums_reversed:
                left, right = left[..., ::-1].copy(), right[:, ::-1].copy()
            scaled = scaled + _scalar("alpha", self.alpha, self.scalar) * (left @ right)
        result[...] = scaled
        return a.bytes(*a_shape) + b.bytes(*b_shape) + c.bytes(m, n)

    def launch(self, *batches: Iterable[Matrix]) -> None:
        """Compute one call of cuBLAS and count it."""
        here = library.current_device()
        if self.handle != 1 + here:
            raise KernelError(f"CUBLAS_STATUS_INVALID_VALUE: a handle of another device than the current one, {here}")
        library.record_product(sum(self.compute(*matrices) for matrices in batches))


def _scalar_type(compute: int, c_type: int) -> np.dtype:
    """The type of alpha and beta, in which sums are taken as well. (Older calls name it by a type of data.)"""
    if compute in _DATA_TYPES:
        return np.dtype(_DATA_TYPES[compute])
    if _DATA_TYPES[c_type] in ("c8", "c16"):
        return np.dtype(_DATA_TYPES[c_type])
    return np.dtype("f8" if compute in (CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC) else "f4")


# The names and the order of the arguments of what follows are cuBLAS's own.
def gemmEx(
    handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, compute, algorithm
):
    operands = ((a, atype, lda), (b, btype, ldb), (c, ctype, ldc))
    matrices = [Matrix(name, p, np.dtype(_DATA_TYPES[t]), ld) for name, (p, t, ld) in zip("ABC", operands, strict=True)]
    Product(handle, transa, transb, m, n, k, alpha, beta, _scalar_type(compute, ctype)).launch(matrices)


def gemmStridedBatchedEx(
    handle, transa, transb, m, n, k, alpha, a, atype, lda, stridea, b, btype, ldb, strideb,
    beta, c, ctype, ldc, stridec, count, compute, algorithm,
):  # fmt: skip
    operands = ((a, atype, lda, stridea), (b, btype, ldb, strideb), (c, ctype, ldc, stridec))
    matrices = [
        Matrix(name, p, np.dtype(_DATA_TYPES[t]), ld, stride, count)
        for name, (p, t, ld, stride) in zip("ABC", operands, strict=True)
    ]
    Product(handle, transa, transb, m, n, k, alpha, beta, _scalar_type(compute, ctype)).launch(matrices)


def _gemm(dtype: np.dtype) -> Callable[..., None]:
    def gemm(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        matrices = Matrix("A", a, dtype, lda), Matrix("B", b, dtype, ldb), Matrix("C", c, dtype, ldc)
        Product(handle, transa, transb, m, n, k, alpha, beta, dtype).launch(matrices)

    return gemm


def _gemm_strided_batched(dtype: np.dtype) -> Callable[..., None]:
    def gemm(handle, transa, transb, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c, ldc, stridec, count):
        operands = ((a, lda, stridea), (b, ldb, strideb), (c, ldc, stridec))
        matrices = [Matrix(name, p, dtype, ld, s, count) for name, (p, ld, s) in zip("ABC", operands, strict=True)]
        Product(handle, transa, transb, m, n, k, alpha, beta, dtype).launch(matrices)

    return gemm


def _gemm_batched(dtype: np.dtype) -> Callable[..., None]:
    """The operands are arrays, on the device, of the addresses of the matrices."""

    def gemm(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count):
        product = Product(handle, transa, transb, m, n, k, alpha, beta, dtype)
        tables = [
            _memory(f"the table of {name}", p, 8 * count).view(np.uint64)
            for name, p in zip("ABC", (a, b, c), strict=True)
        ]
        batches = []
        for addresses in zip(*tables, strict=True):
            operands = zip("ABC", addresses, (lda, ldb, ldc), strict=True)
            batches.append([Matrix(name, int(address), dtype, ld) for name, address, ld in operands])
        product.launch(*batches)

    return gemm


for _letter, _dtype in _LETTERS.items():
    globals()[f"{_letter}gemm"] = _gemm(np.dtype(_dtype))
    globals()[f"{_letter}gemmStridedBatched"] = _gemm_strided_batched(np.dtype(_dtype))
    globals()[f"{_letter}gemmBatched"] = _gemm_batched(np.dtype(_dtype))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"cuBLAS's {name} is not emulated")
