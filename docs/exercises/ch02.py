"""Chapter 2, the tape: write your answers here, then run python -m pytest docs/exercises/test_ch02.py"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import Tensor

Array = np.ndarray


class Value:
    """The first class of the chapter."""

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
        """self − other"""
        raise NotImplementedError

    def __pow__(self, n: int) -> Value:
        """self to the power of a constant n ≥ 1"""
        raise NotImplementedError

    def tanh(self) -> Value:
        """The hyperbolic tangent; its derivative is 1 − tanh²."""
        raise NotImplementedError


def paths(k: int) -> int:
    """The number of calls of backward, in the first version, if y = y + y is computed k times."""
    raise NotImplementedError


def topological(root: Any) -> list[Any]:
    """The root and all that it was computed from, each before its parents; a node has a list `parents`.

    There may be 100,000 nodes in a row, and a node may be reached on many paths.
    """
    raise NotImplementedError


def unbroadcast(g: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of an input of the given shape, from the gradient g of what it was broadcast to."""
    raise NotImplementedError


def victim(a: Any, b: Any) -> Any:
    """An expression of a and b, with + and *, whose gradients are wrong on a tape that accumulates with +=.

    That tape does, in the order newest first: `if parent in gradients: gradients[parent] += gx`, otherwise
    `gradients[parent] = gx`.  The vjps are those of the chapter: + sends g to both inputs, * sends g * y and g * x.
    """
    raise NotImplementedError


def swish(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    """y = x σ(x), and its vjp; finite for large x of either sign, without warnings of NumPy."""
    raise NotImplementedError


def checkpointed(function: Callable[[Tensor], Tensor]) -> Callable[[Array], tuple[Array, Callable[[Array], Array]]]:
    """A pure function that computes function(x) without recording it, and whose vjp records it when it is needed.

    Parameters that the function uses receive their gradients, too.
    """
    raise NotImplementedError
