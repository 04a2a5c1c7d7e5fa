"""Checks of the answers to chapter 6: python -m pytest docs/exercises/test_ch06.py"""

import numpy as np

from autograd import layer_norm
from docs.exercises import answers
from minisets import ISAB, MAB, PMA, record_attention
from minisets.nn.summary import count_parameters
from minisets.testing import check_set_function

ch06 = answers("ch06")


def generator():
    return np.random.default_rng(0)


def test_layer_norm():
    X = generator().normal(size=(4, 6))
    np.testing.assert_allclose(ch06.layer_norm(X), layer_norm(X).data, rtol=1e-10)
    np.testing.assert_allclose(ch06.layer_norm(np.ones((2, 3))), 0)


def test_mab():
    rng = generator()
    block = MAB(8, 3, 8, 1, rng=rng).astype("float64")
    X, Y = rng.normal(size=(5, 8)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(ch06.mab(block, X, Y), block(X, Y).data, rtol=1e-9, atol=1e-12)


def test_parameters_of_isab():
    for d_in, d, m in ((2, 128, 16), (3, 8, 1), (5, 12, 7)):
        assert ch06.parameters_of_isab(d_in, d, m) == count_parameters(ISAB(d_in, d, 2, m, rng=generator()))


def test_most_attended():
    rng = generator()
    pma = PMA(8, 4, 2, rng=rng)
    Z, mask = 5 * rng.normal(size=(6, 7, 8)), np.arange(7) < rng.integers(1, 8, size=(6, 1))
    with record_attention(pma) as seen:
        pma(Z, mask)
    weights = seen["mab.attention"][0][:, :, 0].mean(axis=1)
    np.testing.assert_array_equal(ch06.most_attended(pma, Z, mask), weights.argmax(axis=1))


def test_repaired():
    net = ch06.Careless(2, 8, 3, rng=generator())
    X = generator().normal(size=(2, 5, 2))
    np.testing.assert_allclose(ch06.repaired(net, X).data, net(X).data, rtol=1e-5)  # without padding nothing was wrong

    class Repaired(ch06.Careless):
        def forward(self, X, mask=None):
            return ch06.repaired(self, X, mask)

    check_set_function(Repaired(2, 8, 3, rng=generator()), "invariant", examples=10)


def test_shared_summary():
    rng = generator()
    isab = ISAB(3, 8, 2, 4, rng=rng).astype("float64")
    X, Y = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 9, 3))
    np.testing.assert_allclose(ch06.shared_summary(isab, X, X).data, isab(X).data, rtol=1e-12)
    both = ch06.shared_summary(isab, np.concatenate([X, X[:, :1]], axis=1), Y).data
    np.testing.assert_allclose(both[:, 0], both[:, -1])
    np.testing.assert_allclose(both[:, :5], ch06.shared_summary(isab, X, Y[:, ::-1]).data, rtol=1e-9)
    assert not np.allclose(both[:, :5], isab(X).data)
