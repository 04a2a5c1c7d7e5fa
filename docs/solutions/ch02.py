"""Solutions of chapter 2, the tape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import Tensor, no_grad

Array = np.ndarray


class Value:
    """The first class, completed: each operator knows its own slope."""

    def __init__(self, data: float, inputs: Any = ()) -> None:
        self.data, self.inputs, self.grad = data, inputs, 0.0

    def __add__(self, other: Value) -> Value:
        return Value(self.data + other.data, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other: Value) -> Value:
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])

    def backward(self, g: float = 1.0) -> None:
        self.grad += g
        for x, slope in self.inputs:
            x.backward(g * slope)

    def __sub__(self, other: Value) -> Value:
        return Value(self.data - other.data, [(self, 1.0), (other, -1.0)])

    def __pow__(self, n: int) -> Value:
        return Value(self.data**n, [(self, n * self.data ** (n - 1))])

    def tanh(self) -> Value:
        y = math.tanh(self.data)
        return Value(y, [(self, 1 - y * y)])


def paths(k: int) -> int:
    """1 call for y, 2 for the value below, 4, …, 2ᵏ for the first: 1 + 2 + … + 2ᵏ = 2ᵏ⁺¹ − 1."""
    return 2 ** (k + 1) - 1


def topological(root: Any) -> list[Any]:
    """Depth first: a node is finished after all of its parents, and the order is the reverse of finishing.

    A stack of (node, its parents still to be visited) takes the place of the recursion.
    """
    finished, seen, stack = [], {id(root)}, [(root, iter(root.parents))]
    while stack:
        node, parents = stack[-1]
        for parent in parents:
            if id(parent) not in seen:
                seen.add(id(parent))
                stack.append((parent, iter(parent.parents)))
                break
        else:
            finished.append(node)
            stack.pop()
    return finished[::-1]


def unbroadcast(g: Array, shape: tuple[int, ...]) -> Array:
    """Axes that were added in front and axes of length 1 hold copies, and copies are summed."""
    added = g.ndim - len(shape)
    copied = tuple(i for i in range(g.ndim) if i < added or shape[i - added] == 1)
    return g.sum(axis=copied).reshape(shape)


def victim(a: Any, b: Any) -> Any:
    """The outer + sends its g to a and to the inner +: one array, with two owners.

    The inner + sends the same array on: a has one already, so `+=` adds it to itself, and it is 2 everywhere.  For a
    that is right.  But b gets this array, too, and its gradient should be 1.
    """
    return (a + b) + a


def swish(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    """y' = σ + x σ (1 − σ) = σ (1 + x (1 − σ)); with e^−|x| no exponential overflows, and 1 − σ(x) is σ(−x)."""
    e = np.exp(-np.abs(x))
    s, t = np.where(x >= 0, 1, e) / (1 + e), np.where(x >= 0, e, 1) / (1 + e)
    return x * s, lambda g: g * s * (1 + x * t)


def checkpointed(function: Callable[[Tensor], Tensor]) -> Callable[[Array], tuple[Array, Callable[[Array], Array]]]:
    """Only x is kept.  The vjp runs a small forward and backward of its own.

    Parameters are leaves of that inner graph, so its backward adds to their .grad.  A network of L such pieces keeps L
    arrays, and the inside of one piece at a time, for one more forward pass.
    """

    def pure(x: Array) -> tuple[Array, Callable[[Array], Array]]:
        with no_grad():
            y = function(Tensor(x)).data

        def vjp(g: Array) -> Array:
            leaf = Tensor(x, requires_grad=True)
            function(leaf).backward(g)
            assert leaf.grad is not None
            return leaf.grad

        return y, vjp

    return pure
