"""Checks of the answers to chapter 2: python -m pytest docs/exercises/test_ch02.py"""

import itertools
import math

import numpy as np
import pytest

from autograd import Tensor, op
from autograd.registry import OPS
from docs.exercises import answers
from docs.exercises.vjps import assert_vjps

ch02 = answers("ch02")
rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("expression", "value", "slopes"),
    [
        (lambda x, y: x - y * x, -1.5, (-1.0, -1.5)),
        (lambda x, y: x**3 * y, 6.75, (13.5, 3.375)),
        (lambda x, y: (x * y).tanh(), math.tanh(3), (2 / math.cosh(3) ** 2, 1.5 / math.cosh(3) ** 2)),
        (lambda x, y: (x - x) + (y**2 - y) ** 2, 4.0, (0.0, 12.0)),
    ],
    ids=["sub", "pow", "tanh", "sub and pow"],
)
def test_value(expression, value, slopes):
    x, y = ch02.Value(1.5), ch02.Value(2.0)
    result = expression(x, y)
    result.backward()
    assert result.data == pytest.approx(value)
    assert (x.grad, y.grad) == pytest.approx(slopes)


def test_paths():
    def count(value):
        return 1 + sum(count(x) for x, _ in value.inputs)

    for k in (0, 1, 2, 10):
        y = ch02.Value(1.0)
        for _ in range(k):
            y = y + y
        assert ch02.paths(k) == count(y)
    assert ch02.paths(15) == 65535


class Node:
    def __init__(self, *parents):
        self.parents = list(parents)


def assert_order(order, nodes):
    place = {id(node): i for i, node in enumerate(order)}
    assert len(order) == len(place) == len(nodes)
    assert all(place[id(node)] < place[id(parent)] for node in nodes for parent in node.parents)


def test_topological():
    a = Node()
    b = Node(a, a)
    c = Node(b)
    d = Node(b, c)
    assert_order(ch02.topological(d), [a, b, c, d])
    e = Node(c, b, a)
    assert_order(ch02.topological(e), [a, b, c, e])
    nodes = [Node()]
    for _ in range(60):
        nodes.append(Node(*rng.choice(nodes, size=min(3, len(nodes)))))
    last = Node(*nodes)
    assert_order(ch02.topological(last), [*nodes, last])


def test_topological_of_deep_and_wide_graphs():
    chain = [Node()]
    for _ in range(100_000):
        chain.append(Node(chain[-1]))
    assert_order(ch02.topological(chain[-1]), chain)
    doubled = [Node()]
    for _ in range(60):  # 2⁶⁰ paths
        doubled.append(Node(doubled[-1], doubled[-1]))
    assert_order(ch02.topological(doubled[-1]), doubled)


SHAPES = [shape for n in range(4) for shape in itertools.product((1, 2, 3), repeat=n)]


def test_unbroadcast():
    tried = 0
    for full, shape in itertools.product(SHAPES, repeat=2):
        try:
            fits = np.broadcast_shapes(full, shape) == full
        except ValueError:
            fits = False
        if fits:
            tried += 1
            g = rng.normal(size=full)
            found = ch02.unbroadcast(g, shape)
            assert np.shape(found) == shape
            x = rng.normal(size=shape)  # ⟨g, copies of x⟩ = ⟨the sums over copies, x⟩
            assert (found * x).sum() == pytest.approx((g * np.broadcast_to(x, full)).sum())
    assert tried > 100


class Recorded:
    """The chapter's tape, with = or += in backward."""

    clock = itertools.count()

    def __init__(self, data, parents=(), vjps=()):
        self.data, self.parents, self.vjps, self.order = data, parents, vjps, next(Recorded.clock)

    def __add__(self, other):
        return Recorded(self.data + other.data, (self, other), (lambda g: g, lambda g: g))

    def __mul__(self, other):
        x, y = self.data, other.data
        return Recorded(x * y, (self, other), (lambda g: g * y, lambda g: g * x))

    def backward(self, in_place):
        found, pending = {self}, [self]
        while pending:
            new = set(pending.pop().parents) - found
            found |= new
            pending += new
        gradients = {self: np.ones_like(self.data)}
        for node in sorted(found, key=lambda node: node.order, reverse=True):
            for parent, vjp in zip(node.parents, node.vjps, strict=True):
                gx = vjp(gradients[node])
                if parent in gradients and in_place:
                    gradients[parent] += gx
                else:
                    gradients[parent] = gradients[parent] + gx if parent in gradients else gx
        return gradients


def test_victim():
    def gradients(in_place):
        a, b = Recorded(np.array([2.0, 3.0])), Recorded(np.array([5.0, 7.0]))
        found = ch02.victim(a, b).backward(in_place)
        return [found.get(x, np.zeros(2)) for x in (a, b)]

    right, wrong = gradients(False), gradients(True)
    assert not np.allclose(right, wrong), f"both tapes give {right}"


def test_swish():
    x = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(ch02.swish(x)[0], x / (1 + np.exp(-x)), rtol=1e-12)
    assert_vjps(ch02.swish, rng.normal(size=(3, 4)))
    y, vjp = ch02.swish(np.array([1000.0, -1000.0]))
    np.testing.assert_allclose(y, [1000, 0], atol=1e-12)
    np.testing.assert_allclose(vjp(np.ones(2)), [1, 0], atol=1e-12)


def test_checkpointed():
    recorded = []

    def function(x):
        y = (x @ W).tanh() * x.sum()
        recorded.append(y.requires_grad)
        return y

    W = Tensor(rng.normal(size=(3, 2)), requires_grad=True)
    X = rng.normal(size=(4, 3))
    g = rng.normal(size=(4, 2))
    x = Tensor(X, requires_grad=True)
    function(x).backward(g)
    expected, W.grad = (x.grad, W.grad), None
    recorded.clear()
    known = set(OPS)

    try:
        x = Tensor(X, requires_grad=True)
        y = op(ch02.checkpointed(function))(x)
        assert recorded == [False], "the forward pass recorded what is inside"
        assert y.node.parents == [x]
        y.backward(g)
    finally:
        for name in set(OPS) - known:
            del OPS[name]
    assert recorded == [False, True]
    np.testing.assert_allclose(x.grad, expected[0])
    np.testing.assert_allclose(W.grad, expected[1])
