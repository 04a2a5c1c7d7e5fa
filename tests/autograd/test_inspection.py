"""keep_values and keep_gradients: what every Node of a graph computed and received."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from autograd import Tensor
from autograd.inspection import keep_gradients, keep_values
from autograd.tape import Node


def test_values_and_gradients_of_nodes():
    x = Tensor(np.array([1.0, -2.0]), requires_grad=True)
    with keep_values() as values:
        y = (x * 3).exp().sum()
    assert [node.op for node in values] == ["multiply", "exp", "sum"]
    for kept, expected in zip(values.values(), ([3, -6], np.exp([3, -6]), np.exp(3) + np.exp(-6)), strict=True):
        np.testing.assert_allclose(kept, expected)
    with keep_gradients([x, *values]) as gradients:
        y.backward()
    expected = (1, [1, 1], np.exp([3, -6]))
    for node, g in zip(reversed(list(values)), expected, strict=True):
        np.testing.assert_allclose(gradients[node], g)
    np.testing.assert_allclose(x.grad, 3 * np.exp([3, -6]))


def test_only_this_thread_is_recorded_and_only_within_the_block():
    x = Tensor(np.ones(2), requires_grad=True)
    record = Node.__init__
    with pytest.raises(ZeroDivisionError), keep_values() as values:
        other = threading.Thread(target=lambda: x * 2)
        other.start()
        other.join()
        _ = x + 1
        raise ZeroDivisionError
    _ = x * 5
    assert [node.op for node in values] == ["add"] and Node.__init__ is record


def test_one_at_a_time():
    inside, seen = threading.Event(), []
    x = Tensor(np.ones(2), requires_grad=True)

    def second() -> None:
        inside.wait(10)
        with keep_values() as values:
            _ = x * 2
        seen.append([node.op for node in values])

    other = threading.Thread(target=second)
    other.start()
    with keep_values() as values:
        inside.set()
        other.join(0.1)
        assert other.is_alive()  # it waits
        _ = x + 1
    other.join(10)
    assert [node.op for node in values] == ["add"] and seen == [["multiply"]]
