"""Oracles of autograd/ops/shape.py."""

import math

import numpy as np

from tests.helpers.oracles.cells import axes_of, filled, from_front, pick


def reshape(x, *, shape):
    """The same values in row-major order under another shape."""
    shape = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if -1 in shape:
        shape[shape.index(-1)] = x.size // math.prod(extent for extent in shape if extent != -1)
    return filled(shape, (x[cell] for cell in np.ndindex(*x.shape)))


def transpose(x, *, axes=None):
    """y[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...], axes reversed by default"""
    axes = list(range(x.ndim))[::-1] if axes is None else axes_of(tuple(axes), x.ndim)
    result = np.empty(tuple(x.shape[a] for a in axes), dtype=np.float64)
    for cell in np.ndindex(*x.shape):
        result[tuple(cell[a] for a in axes)] = x[cell]
    return result


def swapaxes(x, *, axis1, axis2):
    """y[.., j, .., i, ..] = x[.., i, .., j, ..]"""
    axis1, axis2 = axes_of((axis1, axis2), x.ndim)
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axis2, axis1
    return transpose(x, axes=axes)


def broadcast_to(x, *, shape):
    """y[..., i, j] = x[i, j], and x[0, j] along an extent of 1"""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return filled(shape, (pick(x, cell) for cell in np.ndindex(*shape)))


def concatenate(*xs, axis=0):
    """y[.., offset_k + i, ..] = x_k[.., i, ..]"""
    axis = from_front(axis, xs[0].ndim)
    shape = list(xs[0].shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    result = np.empty(tuple(shape), dtype=np.float64)
    offset = 0
    for x in xs:
        for cell in np.ndindex(*x.shape):
            result[(*cell[:axis], offset + cell[axis], *cell[axis + 1 :])] = x[cell]
        offset += x.shape[axis]
    return result


def stack(*xs, axis=0):
    """y[.., k, ..] = x_k[.., ..]"""
    axis = from_front(axis, xs[0].ndim + 1)
    shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
    return concatenate(*[reshape(x, shape=shape) for x in xs], axis=axis)


def split(x, *, sections, axis=0):
    """part_k[.., i, ..] = x[.., cut_k + i, ..]"""
    axis = from_front(axis, x.ndim)
    extent = x.shape[axis]
    if isinstance(sections, (int, np.integer)):
        if extent % sections:
            raise ValueError(f"{extent} does not split into {sections} equal parts")
        cuts = [k * (extent // sections) for k in range(1, sections)]
    else:
        cuts = [int(cut) for cut in sections]
    parts = []
    for start, stop in zip([0, *cuts], [*cuts, extent], strict=True):
        positions = range(extent)[start:stop]
        part = np.empty((*x.shape[:axis], len(positions), *x.shape[axis + 1 :]), dtype=np.float64)
        for cell in np.ndindex(*part.shape):
            part[cell] = x[(*cell[:axis], positions[cell[axis]], *cell[axis + 1 :])]
        parts.append(part)
    return parts


def getitem(x, *, index):
    """y[cell] = x at the flat position that the index leaves in that cell"""
    values = [float(x[cell]) for cell in np.ndindex(*x.shape)]
    positions = np.asarray(np.arange(x.size).reshape(x.shape)[index])
    return filled(positions.shape, (values[positions[cell]] for cell in np.ndindex(*positions.shape)))


def pad(x, *, widths, value=0.0):
    """y[before + i] = x[i] along each axis, the value elsewhere"""
    shape = [before + extent + after for extent, (before, after) in zip(x.shape, widths, strict=True)]
    result = np.full(tuple(shape), value, dtype=np.float64)
    for cell in np.ndindex(*x.shape):
        result[tuple(before + i for i, (before, _) in zip(cell, widths, strict=True))] = x[cell]
    return result
