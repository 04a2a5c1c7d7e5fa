"""Checks of the answers to chapter 11: python -m pytest docs/exercises/test_ch11.py"""

import numpy as np

from autograd import Tensor, max_pool
from docs.exercises import answers
from minisets import Dotprod, build, rFFp
from minisets.masks import SetModule
from minisets.nn.summary import count_parameters
from minisets.testing import check_set_function

ch11 = answers("ch11")
rng = np.random.default_rng(0)


def test_masked_max():
    X, mask = -rng.uniform(1, 2, size=(4, 5, 3)), np.arange(5) < np.array([[5], [2], [1], [0]])
    np.testing.assert_array_equal(ch11.masked_max(X, mask), max_pool(X, axis=-2, mask=mask).data)


def test_dotprod():
    layer = Dotprod(3, rng=rng).astype("float64")
    Z = rng.normal(size=(6, 3))
    np.testing.assert_allclose(ch11.dotprod(Z, layer.s.data[0]), layer(Z).data[0], rtol=1e-10)


def rffp(Gamma, Lambda):
    layer = rFFp(len(Gamma), Gamma.shape[1], last=None, rng=rng).astype("float64")
    layer.own[0].weight.data[...], layer.own[0].bias.data[...] = Gamma, 0
    layer.others[0].weight.data[...] = Lambda
    return layer


def test_centering():
    X = rng.normal(size=(5, 3))
    np.testing.assert_allclose(rffp(*ch11.centering(3))(X).data, X - X.mean(axis=0), atol=1e-12)


def test_as_matrices():
    X, W = rng.normal(size=(5, 3)), rng.normal(size=(3, 4))
    Y = X @ W
    want = 0.7 * Y - 1.3 * Y.mean(axis=0)
    np.testing.assert_allclose(rffp(*ch11.as_matrices(0.7, -1.3, W))(X).data, want, rtol=1e-10)


def test_parameters_of_deep_sets():
    for d_in, d, d_out in ((2, 128, 5), (3, 16, 7)):
        net = build("rFF + Pooling", d_in=d_in, d=d, d_out=d_out, rng=rng)
        assert ch11.parameters_of_deep_sets(d_in, d, d_out) == count_parameters(net)


class Spread(SetModule):
    pools = True

    def __init__(self):
        self.d_in = 2

    def forward(self, Z, mask=None):
        return ch11.spread(Z, mask)


def test_spread():
    X = rng.normal(size=(2, 5, 2))
    np.testing.assert_allclose(ch11.spread(Tensor(X), None).data[:, 0], np.ptp(X, axis=1), rtol=1e-12)
    check_set_function(Spread(), "invariant", d_in=2, examples=10)
