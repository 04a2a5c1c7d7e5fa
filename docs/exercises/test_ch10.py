"""Checks of the answers to chapter 10: python -m pytest docs/exercises/test_ch10.py"""

import numpy as np
import pytest

from docs.exercises import answers
from minisets import PMA, Pooling, build

ch10 = answers("ch10")
rng = np.random.default_rng(0)


@pytest.mark.parametrize("p", [1, 2, -1, 5])
def test_power_mean(p: float):
    Z = rng.uniform(0.5, 2, size=(6, 3))
    np.testing.assert_allclose(np.asarray(ch10.power_mean(Z, p)), (Z**p).mean(axis=0) ** (1 / p), rtol=1e-10)


def test_soft_maximum():
    Z = rng.normal(size=(7, 1))
    e = np.exp(3 * Z)
    np.testing.assert_allclose(np.asarray(ch10.soft_maximum(Z, 3.0)), [(e * Z).sum() / e.sum()], rtol=1e-10)
    np.testing.assert_allclose(np.asarray(ch10.soft_maximum(Z, 0.0)), [Z.mean()], rtol=1e-10)
    np.testing.assert_allclose(np.asarray(ch10.soft_maximum(Z, 1000.0)), [Z.max()], rtol=1e-6)


def test_size():
    for n in (1, 2, 7, 50):
        X = np.column_stack([np.zeros(n), rng.normal(size=n)])
        X[rng.integers(n), 0] = 1
        np.testing.assert_allclose(float(ch10.size(X)), n, rtol=1e-9)


def test_phi_and_rho():
    for n in (1, 4, 9):
        X = rng.normal(size=(n, 1))
        features = ch10.phi(X)
        np.testing.assert_allclose(features[:1], ch10.phi(X[:1]))  # each element by itself
        np.testing.assert_allclose(float(ch10.rho(features.sum(axis=0))), X.var(), atol=1e-9)


def test_sees_how_many():
    X = rng.normal(size=(4, 8))

    def on_arrays(net):
        return lambda X: net.astype("float64")(X).data

    assert ch10.sees_how_many(on_arrays(Pooling(8, "sum")), X)
    assert not ch10.sees_how_many(on_arrays(Pooling(8, "max")), X)
    assert not ch10.sees_how_many(on_arrays(build("ISAB (4) + PMA", d_in=8, d_out=2, d=8, rng=rng)), X)
    assert ch10.sees_how_many(on_arrays(PMA(8, 2, 1, omega="1+relu", norm_position="none", rng=rng)), X)
