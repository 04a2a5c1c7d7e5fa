"""Checks of the answers to chapter 18: python -m pytest docs/exercises/test_ch18.py"""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import norm

from docs.exercises import answers
from tasks.metrics import mixtures

ch18 = answers("ch18")
rng = np.random.default_rng(0)


def test_log_densities():
    X, mu, sigma = rng.normal(size=(30, 5)), rng.normal(size=(3, 5)), rng.uniform(0.5, 2, size=(3, 5))
    expected = norm.logpdf(X[:, None], mu, sigma).sum(axis=-1)
    np.testing.assert_allclose(ch18.log_densities(X, mu, sigma), expected, rtol=1e-9)


def test_log_densities_need_little_memory():
    X, mu, sigma = rng.normal(size=(500, 256)), rng.normal(size=(16, 256)), np.ones((16, 256))
    tracemalloc.start()
    ch18.log_densities(X, mu, sigma)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500 * 16 * 256 * 8 / 2


def test_responsibilities():
    log_p = rng.normal(size=(20, 4)) - np.array([1e5, 0, 3, 700])[rng.integers(4, size=20)][:, None]
    r = ch18.responsibilities(np.log([0.1, 0.2, 0.3, 0.4]), log_p)
    assert r.shape == (20, 4) and np.isfinite(r).all()
    np.testing.assert_allclose(r.sum(axis=1), 1)
    np.testing.assert_allclose(r[:, 0] / r[:, 1], np.exp(log_p[:, 0] - log_p[:, 1]) / 2, rtol=1e-6)


def test_expanded_error():
    assert ch18.expanded_error(0.01, 0.0) < 1e-6 and ch18.expanded_error(1.0, 1.0) < 1e-6
    assert ch18.expanded_error(0.01, 1_000.0) > 0.5
    errors = [ch18.expanded_error(0.011, size) for size in (0.1, 1.0, 10.0)]
    assert errors[0] < 1e-3 and errors[-1] > 10 * errors[0]


def test_standardize():
    train, other = rng.normal(3, 2, size=(50, 4)), rng.normal(size=(7, 4))
    train[:, 2], expected = 5, (other - train.mean(axis=0))
    a, b = ch18.standardize(train, other)
    keep = [0, 1, 3]
    np.testing.assert_allclose(a[:, keep].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(a[:, keep].std(axis=0), 1)
    np.testing.assert_allclose(b[:, keep], (expected / train.std(axis=0).clip(1e-9))[:, keep])
    assert (a[:, 2] == 0).all() and (b[:, 2] == 0).all()


def test_adjusted_rand_index():
    for _ in range(10):
        a, b = rng.integers(4, size=(2, 30))
        assert ch18.adjusted_rand_index(a, b) == pytest.approx(mixtures.adjusted_rand_index(a, b))
    assert ch18.adjusted_rand_index(a, 7 - a) == pytest.approx(1)
    assert ch18.adjusted_rand_index(np.zeros(5), np.ones(5)) == 1


def test_worse_after_em():
    points, labels, mu, sigma = ch18.worse_after_em()
    X, mask = points[None, :, None].astype(float), np.ones((1, len(points)), bool)
    before = mixtures.Mixture(np.log([[0.5, 0.5]]), np.reshape(mu, (1, 2, 1)), np.reshape(sigma, (1, 2, 1)))
    after = mixtures.em_step(X, mask, before)
    likelihood = [mixtures.log_likelihood(X, mask, one)[0] for one in (before, after)]
    agreement = [mixtures.adjusted_rand_index(labels, mixtures.assign(X, one)[0]) for one in (before, after)]
    assert likelihood[1] > likelihood[0] and agreement[1] < agreement[0]
