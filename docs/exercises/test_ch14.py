"""Checks of the answers to chapter 14: python -m pytest docs/exercises/test_ch14.py"""

import numpy as np
import pytest

from autograd import relu
from docs.exercises import answers
from minisets.blocks import rFF
from minisets.nn import Linear

ch14 = answers("ch14")


def test_best_constant():
    y = np.array([1.0, 2.0, 2.5, 7.0, 10.0])
    losses = {
        "squared": (lambda c, t: float(np.mean((c - t) ** 2)), 4.5),
        "absolute": (lambda c, t: float(np.mean(np.abs(c - t))), 2.5),
        "poisson": (lambda c, t: float(np.mean(c - t * np.log(c))), 4.5),
    }
    for loss, best in losses.values():
        constant, value = ch14.best_constant(loss, y)
        assert constant == pytest.approx(best, abs=1e-4) and value == pytest.approx(loss(best, y), abs=1e-6)


@pytest.mark.parametrize("last", [None, "relu"])
def test_dead_units(last: str | None):
    net = rFF(4, 8, 6, last=last, rng=np.random.default_rng(0))
    net.layers[0].bias.data[:] = np.where(np.arange(8) < 2, -100, 100)
    net.layers[1].bias.data[:] = np.where(np.arange(6) < 3, -10_000, 10_000)
    X = np.random.default_rng(1).normal(size=(50, 4))
    assert ch14.dead_units(net, X) == ([0.25, 0.5] if last else [0.25])


def test_spread_per_layer():
    rng = np.random.default_rng(0)
    layers = [Linear(5, 7, rng=rng).astype("float64"), relu]
    X = rng.normal(size=(30, 5))
    Z = X @ layers[0].weight.numpy() + layers[0].bias.numpy()
    expected = [A.std(axis=0).mean() for A in (X, Z, np.maximum(Z, 0))]
    np.testing.assert_allclose(ch14.spread_per_layer(layers, X), expected, rtol=1e-6)
    assert ch14.spread_per_layer([], np.ones((4, 3))) == [0.0]


def test_agreement():
    g = np.array([[3.0, 4.0]])
    assert ch14.agreement(np.repeat(g, 5, axis=0)) == pytest.approx(1)
    assert ch14.agreement(np.concatenate([g, -g])) == pytest.approx(0)
    assert ch14.agreement(np.array([[1.0, 0], [0, 1]])) == pytest.approx(np.sqrt(2) / 2)
    assert ch14.agreement(np.zeros((3, 2))) == 0


def test_output_bias():
    for mean in (0.01, 0.7, 4.5, 30.0):
        assert ch14.output_bias(mean, "identity") == pytest.approx(mean)
        assert np.exp(ch14.output_bias(mean, "exp")) == pytest.approx(mean)
        assert np.logaddexp(0, ch14.output_bias(mean, "softplus")) == pytest.approx(mean)
    assert ch14.output_bias(5_000.0, "softplus") == pytest.approx(5_000)


@pytest.mark.parametrize("fault", ["", "no zero_grad", "detached", "wrong sign", "dead"])
def test_diagnose(fault: str):
    from docs.exercises.ch14 import Patient

    for seed in range(3):
        patient = Patient(fault, seed)
        patient._fault, hidden = "", fault  # whoever looks there is misled

        def step(X, y, patient=patient, hidden=hidden):
            patient._fault = hidden
            try:
                return Patient.step(patient, X, y)
            finally:
                patient._fault = ""

        patient.step = step
        assert ch14.diagnose(patient) == fault
