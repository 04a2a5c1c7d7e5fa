"""Checks of the answers to chapter 16: python -m pytest docs/exercises/test_ch16.py"""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from docs.exercises import answers
from tasks.metrics import mixtures

ch16 = answers("ch16")


def sample(seed: int, n: int = 60):
    X, mask, labels, truth = mixtures.sample(np.random.default_rng(seed), np.array([n]), k=3)
    return X[0], mask, labels[0], (np.exp(truth.log_pi[0]), truth.mu[0], truth.sigma[0])


def test_mixture_log_likelihood():
    X, mask, _, truth = sample(0)
    reference = mixtures.Mixture(np.log(truth[0])[None], truth[1][None], truth[2][None])
    assert ch16.mixture_log_likelihood(X, *truth) == pytest.approx(mixtures.log_likelihood(X[None], mask, reference)[0])
    far = ch16.mixture_log_likelihood(np.array([[1e4, 0.0]]), *truth)
    assert np.isfinite(far) and far < -1e7


@pytest.mark.parametrize("seed", range(5))
def test_em_step(seed: int):
    X, mask, _, _ = sample(seed)
    rng = np.random.default_rng(seed)
    mixture = np.ones(3) / 3, rng.uniform(-4, 4, size=(3, 2)), np.ones((3, 2))
    start = mixtures.Mixture(np.log(mixture[0])[None], mixture[1][None], mixture[2][None])
    reference = mixtures.em_step(X[None], mask, start)
    found = ch16.em_step(X, *mixture)
    np.testing.assert_allclose(found[1], reference.mu[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found[2], reference.sigma[0], rtol=1e-5, atol=1e-6)
    before = ch16.mixture_log_likelihood(X, *mixture)
    assert before < ch16.mixture_log_likelihood(X, *found) and found[0].sum() == pytest.approx(1)


def test_rand_index():
    a, b = np.array([0, 0, 1, 1]), np.array([5, 5, 7, 8])
    assert ch16.rand_index(a, b) == pytest.approx(5 / 6) and ch16.rand_index(a, 1 - a) == 1
    rng = np.random.default_rng(0)
    chance = [ch16.rand_index(rng.integers(4, size=40), rng.integers(4, size=40)) for _ in range(100)]
    assert np.mean(chance) == pytest.approx(0.625, abs=0.02)


def test_collapse():
    X, *_ = sample(1)
    values = []
    for eps in (1e-2, 1e-6, 1e-12):
        pi, mu, sigma = ch16.collapse(X, eps)
        assert pi.shape == (2,) and mu.shape == sigma.shape == (2, 2) and pi.sum() == pytest.approx(1)
        z = (X[:, None] - mu) / sigma
        values.append(logsumexp(-0.5 * (z**2).sum(-1) - np.log(sigma).sum(-1) + np.log(pi), axis=1).mean())
    assert np.isfinite(values).all() and values[1] > values[0] + 0.1 and values[2] > values[1] + 0.1


def test_best_match():
    rng = np.random.default_rng(0)
    found, true = rng.normal(size=(2, 4, 2))
    match, total = ch16.best_match(found, true)
    distance = np.linalg.norm(found[:, None] - true, axis=-1)
    totals = [distance[range(4), order].sum() for order in itertools.permutations(range(4))]
    assert total == pytest.approx(min(totals)) == distance[range(4), match].sum()
    assert sorted(match) == [0, 1, 2, 3]


def test_isotropic_head():
    Y = np.random.default_rng(0).normal(size=(4, 4))
    pi, mu, sigma = ch16.isotropic_head(Y)
    np.testing.assert_allclose(pi, np.exp(Y[:, 0]) / np.exp(Y[:, 0]).sum())
    np.testing.assert_array_equal(mu, Y[:, 1:3])
    np.testing.assert_allclose(sigma, np.log(1 + np.exp(Y[:, [3, 3]])))
    assert np.isfinite(ch16.isotropic_head(1000 * Y)[2]).all() and np.isfinite(ch16.isotropic_head(1000 * Y)[0]).all()
