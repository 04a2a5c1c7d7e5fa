"""Checks of the answers to chapter 5: python -m pytest docs/exercises/test_ch05.py"""

import numpy as np
import pytest

from autograd import attention, split_heads
from docs.exercises import answers
from minisets.testing import PropertyError, check_equivariant

ch05 = answers("ch05")
rng = np.random.default_rng(0)


def softmax(S):
    e = np.exp(S - S.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_attend():
    Q, K, V = rng.normal(size=(4, 3)), rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    np.testing.assert_allclose(ch05.attend(Q, K, V), attention(Q, K, V).data, rtol=1e-10)
    np.testing.assert_allclose(ch05.attend(1000 * Q, K, V), attention(1000 * Q, K, V).data, rtol=1e-10, atol=1e-12)


def test_attend_with_a_mask():
    Q, K, V = rng.normal(size=(4, 3)), rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    mask = np.array([True, False, True, True, False, False])
    K[~mask], V[~mask] = np.nan, np.inf
    np.testing.assert_allclose(ch05.attend(Q, K, V, mask), attention(Q, K[mask], V[mask]).data, rtol=1e-10)
    np.testing.assert_array_equal(ch05.attend(Q, K, V, np.zeros(6, bool)), np.zeros((4, 2)))


def test_other_kind():
    W_q, W_k, W_v = ch05.other_kind()
    for _ in range(20):
        kind = np.concatenate([[1, -1], rng.choice([-1, 1], size=6)])
        amount = rng.uniform(0, 10, size=8)
        X = np.stack([kind, amount], axis=1)
        want = np.where(kind == 1, amount[kind == -1].mean(), amount[kind == 1].mean())
        found = softmax((X @ W_q) @ (X @ W_k).T) @ (X @ W_v)
        np.testing.assert_allclose(found[:, 0], want, atol=0.01)


def test_split():
    X = rng.normal(size=(5, 12))
    for h in (1, 3, 12):
        np.testing.assert_array_equal(ch05.split(X, h), split_heads(X, heads=h).data)


def test_weight_on_padding():
    scores = rng.normal(size=(4, 3))
    all_scores = np.concatenate([scores, np.zeros((4, 5))], axis=1)
    np.testing.assert_allclose(ch05.weight_on_padding(scores, 5), softmax(all_scores)[:, 3:].sum(axis=1))
    np.testing.assert_allclose(ch05.weight_on_padding(scores, 0), 0)


@pytest.mark.parametrize("sharpness", [0.5, 3.0])
def test_nearness(sharpness: float):
    Q, K = rng.normal(size=(4, 2)), rng.normal(size=(6, 2))
    q, k = ch05.nearness(Q, K, sharpness)
    assert q.shape == (4, 3) and k.shape == (6, 3)
    distance = ((Q[:, None] - K[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(softmax(q @ k.T), softmax(-sharpness * distance), rtol=1e-9)


def test_slope():
    P = softmax(rng.normal(size=(5, 7)))
    jacobians = [np.diag(p) - np.outer(p, p) for p in P]
    np.testing.assert_allclose(ch05.slope(P), [np.abs(J).sum() for J in jacobians])


def test_mistakes():
    found = ch05.mistakes()
    X = rng.normal(size=(1, 3, 4))
    for function, sentence in found.items():
        other = X.copy()
        other[0, 1] += 1
        reads_others = not np.allclose(function(X)[0, 0], function(other)[0, 0])
        if sentence == "the split mixes elements":
            with pytest.raises(PropertyError):
                check_equivariant(function, d_in=4)
            continue
        check_equivariant(function, d_in=4)
        assert reads_others == (sentence == "one head in disguise, and the weights of a query do not add up to 1")
        assert reads_others or sentence == "the features of an element attend to each other, not the elements"
    assert set(found) == {ch05.first, ch05.second, ch05.third} and len(set(found.values())) == 3
