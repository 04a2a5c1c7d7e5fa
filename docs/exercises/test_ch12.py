"""Checks of the answers to chapter 12: python -m pytest docs/exercises/test_ch12.py"""

import numpy as np
import pytest

from autograd import Tensor, squared_error
from docs.exercises import answers
from minisets.blocks import rFF
from minisets.optim import SGD, Adam

ch12 = answers("ch12")


@pytest.mark.parametrize("b1, b2", [(0.9, 0.999), (0.5, 0.9)])
def test_adam_uncorrected_step(b1: float, b2: float):
    m = v = 0.0
    for t in range(1, 50):
        m, v = b1 * m + (1 - b1), b2 * v + (1 - b2)
        assert ch12.adam_uncorrected_step(t, b1, b2) == pytest.approx(m / v**0.5)


def test_nesterov():
    p = Tensor([1.0, -2.0], requires_grad=True)
    optimizer, q, u = ch12.Nesterov([p], lr=0.1, momentum=0.9), np.array([1.0, -2.0]), np.zeros(2)
    for g in np.random.default_rng(0).normal(size=(5, 2)):
        p.grad = g.copy()
        optimizer.step()
        u = 0.9 * u + g
        q = q - 0.1 * (g + 0.9 * u)
        np.testing.assert_allclose(p.numpy(), q, rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_largest_stable_rate(momentum: float):
    a = np.array([3.0, 100.0])
    rate = ch12.largest_stable_rate(a, momentum)
    for factor, stable in ((0.99, True), (1.01, False)):
        p = Tensor([1.0, 1.0], requires_grad=True)
        optimizer = SGD([p], factor * rate, momentum=momentum)
        for _ in range(3_000):
            p.grad = a * p.numpy()
            optimizer.step()
        assert (np.abs(p.numpy()).max() < 10) == stable


def test_train():
    def net():
        return rFF(3, 8, 2, last=None, rng=np.random.default_rng(0))

    rng = np.random.default_rng(1)
    batches = [(rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, 2))) for _ in range(6)]
    ours, reference = net(), net()
    ch12.train(ours, batches, lr=0.01)
    optimizer = Adam(reference.parameters(), lr=0.01)
    for X, y in batches:
        reference.zero_grad()
        squared_error(reference(X), y).backward()
        optimizer.step()
    for a, b in zip(ours.parameters(), reference.parameters(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize(
    "function, gain",
    [
        (lambda x: np.maximum(x, 0), 2.0),
        (lambda x: x, 1.0),
        (lambda x: np.where(x > 0, x, 0.5 * x), 1.6),
        (np.tanh, 2.54),
    ],
)
def test_gain_of(function, gain: float):
    assert ch12.gain_of(function, np.random.default_rng(0)) == pytest.approx(gain, rel=0.02)


def test_inverse_square_root():
    schedule = ch12.inverse_square_root(2e-3, warmup=100)
    assert schedule(0) == pytest.approx(2e-5) and schedule(99) == pytest.approx(2e-3)
    assert schedule(399) == pytest.approx(1e-3)
    assert max(range(1000), key=schedule) == 99
