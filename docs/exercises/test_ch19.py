"""Checks of the answers to chapter 19: python -m pytest docs/exercises/test_ch19.py"""

import itertools

import numpy as np
import pytest

from docs.exercises import answers
from tasks.metrics.ranking import area_under_roc, average_precision

ch19 = answers("ch19")


@pytest.mark.parametrize("r", [1, 2, 5, 8])
def test_ranks(r: int):
    scores, odd = -np.arange(8.0), np.arange(8) == r - 1
    assert ch19.auroc_of_rank(r, 8) == pytest.approx(area_under_roc(scores, odd))
    assert ch19.aupr_of_rank(r) == pytest.approx(average_precision(scores, odd))


def test_random_guess():
    auroc, aupr = ch19.random_guess(8)
    assert auroc == pytest.approx(0.5) and aupr == pytest.approx(0.3397, abs=1e-4)
    assert ch19.random_guess(2) == pytest.approx((0.5, 0.75))


@pytest.mark.parametrize("sets, n", [(5, 5), (20, 8)])
def test_averaged_but_not_pooled(sets: int, n: int):
    scores, odd = ch19.averaged_but_not_pooled(sets, n)
    positive = np.arange(n) == np.asarray(odd)[:, None]
    assert scores.shape == (sets, n)
    assert np.mean([average_precision(s, p) for s, p in zip(scores, positive, strict=True)]) == 1
    assert average_precision(scores, positive) < 0.5


def test_expected_accuracy():
    for scores in (np.array([0.3, 2.0, -1.0, 0.4]), np.array([1.0, 0.0, 5.0])):
        orders = list(itertools.permutations(range(len(scores))))  # element order[i] is at position i; element 0 is odd
        right = [order[scores.argmax()] == 0 for order in orders]
        assert ch19.expected_accuracy(scores) == pytest.approx(np.mean(right))


def test_head():
    rng = np.random.default_rng(0)
    Y, Z = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    s = ch19.head(Y, Z)
    np.testing.assert_allclose(s, np.log(np.exp(Z @ Y.T).sum(axis=1)))
    order = rng.permutation(5)
    np.testing.assert_allclose(ch19.head(Y, Z[order]), s[order])
    assert np.isfinite(ch19.head(1e3 * Y, Z)).all()


def test_odd_one_out():
    rng = np.random.default_rng(0)
    for odd in range(8):
        Z = np.array([3.0, 0, 0, 0]) + 0.3 * rng.normal(size=(8, 4))
        Z[odd] = [0, 9.0, 0, 0]
        assert ch19.odd_one_out(Z) == odd


def test_sample_set():
    rng = np.random.default_rng(0)
    attributes = rng.random((60, 6)) < 0.5
    seen = set()
    for _ in range(200):
        images, odd, (a, b) = ch19.sample_set(attributes, rng)
        assert len(set(images.tolist())) == 8 and a < b
        normal = np.delete(images, odd)
        assert attributes[normal][:, [a, b]].all() and not attributes[images[odd], [a, b]].any()
        seen.add(((a, b), odd))
    assert len({odd for _, odd in seen}) == 8 and len({pair for pair, _ in seen}) == 15
    with pytest.raises(ValueError):
        ch19.sample_set(np.eye(30, 3, dtype=bool), rng)
