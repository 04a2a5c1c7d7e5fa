"""Walking the indices of arrays: broadcasting, groups of cells along axes, and ops made from functions of scalars."""

import itertools

import numpy as np


def broadcast_shape(*shapes):
    """Right-aligned shapes; each output extent is the one extent that is not 1."""
    rank = max(len(shape) for shape in shapes)
    result = []
    for extents in zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes], strict=True):
        others = {extent for extent in extents if extent != 1}
        if len(others) > 1:
            raise ValueError(f"shapes {shapes} do not broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)


def pick(x, cell):
    """x at a cell of a shape it broadcasts to: drop leading indices, stay at 0 along extents of 1."""
    own = cell[len(cell) - x.ndim :]
    return float(x[tuple(0 if extent == 1 else index for index, extent in zip(own, x.shape, strict=True))])


def from_front(axis, rank):
    """An axis counted from the front."""
    return axis + rank if axis < 0 else axis


def axes_of(axis, rank):
    """The axes meant by None (all), an int or a tuple, counted from the front."""
    if axis is None:
        return list(range(rank))
    return [from_front(a, rank) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]


def groups(shape, axes):
    """For each cell of `shape` with extent 1 along `axes`: the list of cells of `shape` it gathers."""
    for kept in np.ndindex(*[1 if a in axes else extent for a, extent in enumerate(shape)]):
        ranges = [range(extent) if a in axes else [kept[a]] for a, extent in enumerate(shape)]
        yield list(itertools.product(*ranges))


def reduce_cells(x, function, axes, keepdims=False, present=lambda cell: True):
    """function(list of the present values) for each group of cells along the axes."""
    shape = [1 if a in axes else extent for a, extent in enumerate(x.shape) if keepdims or a not in axes]
    present_cells = ([cell for cell in cells if present(cell)] for cells in groups(x.shape, axes))
    return filled(shape, (function([float(x[cell]) for cell in cells]) for cells in present_cells))


def map_cells(x, function, axes, present=lambda cell: True):
    """function(list of the present values) -> list, for each group of cells along the axes; 0 if absent."""
    result = np.zeros(x.shape, dtype=np.float64)
    for group in groups(x.shape, axes):
        cells = [cell for cell in group if present(cell)]
        for cell, value in zip(cells, function([float(x[cell]) for cell in cells]), strict=True):
            result[cell] = value
    return result


def filled(shape, values):
    """An array of the shape holding the values in row-major order."""
    result = np.empty(tuple(shape), dtype=np.float64)
    for cell, value in zip(np.ndindex(*result.shape), values, strict=True):
        result[cell] = value
    return result


def elementwise(equation, function):
    """An operation on arrays that broadcast, from a function of scalars."""

    def apply(*arrays, **settings):
        arrays = [np.asarray(array) for array in arrays]
        shape = broadcast_shape(*[array.shape for array in arrays])
        cells = np.ndindex(*shape)
        return filled(shape, (function(*[pick(x, cell) for x in arrays], **settings) for cell in cells))

    apply.__doc__ = equation
    return apply


def reducing(equation, function):
    """A reduction over axes, from a function of a list of scalars."""

    def apply(x, *, axis=None, keepdims=False, **settings):
        return reduce_cells(x, lambda values: function(values, **settings), axes_of(axis, x.ndim), keepdims)

    apply.__doc__ = equation
    return apply
