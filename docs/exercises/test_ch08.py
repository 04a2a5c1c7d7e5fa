"""Checks of the answers to chapter 8: python -m pytest docs/exercises/test_ch08.py"""

import numpy as np
import pytest

from autograd import Tensor
from docs.exercises import answers
from minisets import PMA, Dotprod, Pooling, testing
from minisets.nn import Linear, Module

ch08 = answers("ch08")


class Attention(Module):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.q, self.k, self.v = (Linear(2, 2, bias=False, rng=rng) for _ in range(3))

    def forward(self, X, mask=None):
        return ch08.masked_attention(X, mask, self.q, self.k, self.v)


def test_masked_attention():
    net = Attention().astype("float64")
    X = np.random.default_rng(2).normal(size=(4, 2))
    q, k, v = (X @ layer.weight.data for layer in (net.q, net.k, net.v))
    e = np.exp(q @ k.T)
    np.testing.assert_allclose(net(Tensor(X[None])).data[0], X + e / e.sum(axis=1, keepdims=True) @ v, rtol=1e-10)
    testing.check_equivariant(net, examples=10)
    testing.check_padding(net, kind="equivariant", examples=10)
    testing.check_empty_sets(net, kind="equivariant", examples=10)


def test_failures():
    def first(X):
        return X[:, 0]

    assert ch08.failures(Pooling(2), "invariant", examples=5) == []
    found = ch08.failures(first, "invariant", d_in=2, examples=10)
    assert "invariant" in found and "batch_independence" not in found


def test_knows_its_neighbors():
    f = ch08.knows_its_neighbors
    assert f(np.ones((3, 4, 2))).shape == (3, 2)
    testing.check_invariant(f, d_in=2)
    testing.check_duplicates(f, d_in=2)
    with pytest.raises(testing.PropertyError):
        testing.check_batch_independence(f, d_in=2)


def test_reference():
    net = Dotprod(3, rng=np.random.default_rng(0))
    assert ch08.reference(net, np.ones((2, 4, 3))).shape == (2, 1, 3)
    settings = {"kind": "invariant", "d_in": 3, "dtype": "float32"}
    testing.check_against(lambda X: net(X), lambda X: ch08.reference(net, X), **settings)

    class Wrong(Dotprod):
        def __init__(self):
            super().__init__(3, rng=np.random.default_rng(0))
            self.scale = 1 / 3

    wrong = Wrong()
    with pytest.raises(testing.PropertyError):
        testing.check_against(lambda X: wrong(X), lambda X: ch08.reference(wrong, X), **settings)


def test_check_doubling():
    ch08.check_doubling(lambda X: X.mean(axis=1))
    ch08.check_doubling(lambda X: X.max(axis=1))
    ch08.check_doubling(PMA(2, 2, 1, rng=np.random.default_rng(0)).astype("float64"))
    for f in (lambda X: X.sum(axis=1), lambda X: X.std(axis=1, ddof=1 if X.shape[1] > 1 else 0)):
        with pytest.raises(AssertionError):
            ch08.check_doubling(f)
