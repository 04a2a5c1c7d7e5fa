"""Sorting, which CuPy has from Thrust as compiled device code: NumPy sorts the same memory."""

import ctypes

import numpy as np


def _array(address: int, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)


def sort(dtype: np.dtype, data: int, keys: int, shape: tuple[int, ...]) -> None:
    """In place, along the last axis. (`keys` is room that Thrust works in.)"""
    _array(data, dtype, shape).sort(axis=-1)


def argsort(dtype: np.dtype, indices: int, data: int, keys: int, shape: tuple[int, ...]) -> None:
    """The stable order of the data along the last axis. The data are sorted too."""
    values = _array(data, dtype, shape)
    _array(indices, np.intp, shape)[...] = np.argsort(values, axis=-1, kind="stable")
    values.sort(axis=-1)


def lexsort(dtype: np.dtype, indices: int, keys: int, count: int, length: int) -> None:
    _array(indices, np.intp, (length,))[...] = np.lexsort(_array(keys, dtype, (count, length)))
