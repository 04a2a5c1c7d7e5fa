"""Checks of the answers to chapter 9: python -m pytest docs/exercises/test_ch09.py"""

import numpy as np

from docs.exercises import answers
from minisets import ISAB, record_attention

ch09 = answers("ch09")
rng = np.random.default_rng(0)


def kernel(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=-1) / 2)


def clusters():
    centers = rng.uniform(-4, 4, size=(4, 2))
    return np.concatenate([c + 0.3 * rng.normal(size=(40, 2)) for c in centers])


def test_scores_of_isab():
    for n, m, h in ((7, 3, 2), (100, 16, 4)):
        block = ISAB(2, 8, h, m, rng=rng)
        with record_attention(block) as seen:
            block(rng.normal(size=(1, n, 2)))
        assert ch09.scores_of_isab(n, m, h) == sum(weights.size for (weights,) in seen.values())


def test_nystrom():
    K, chosen = kernel(*[rng.normal(size=(12, 2))] * 2), np.array([1, 4, 7])
    found = ch09.nystrom(K, chosen)
    np.testing.assert_allclose(found[chosen], K[chosen], atol=1e-8)  # exact where points were chosen
    assert np.linalg.matrix_rank(found, tol=1e-8) == 3
    np.testing.assert_allclose(ch09.nystrom(K, np.arange(12)), K, atol=1e-6)


def test_spread_out():
    line = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [5.0]])
    np.testing.assert_array_equal(ch09.spread_out(line, 3), [0, 4, 5])
    X = clusters()
    K = kernel(X, X)
    chosen = ch09.spread_out(X, 8)
    assert len(set(chosen.tolist())) == 8

    def error(indices):
        C = K[:, indices]
        return np.linalg.norm(C @ np.linalg.pinv(K[np.ix_(indices, indices)]) @ C.T - K)

    assert error(chosen) < np.mean([error(rng.choice(len(X), 8, replace=False)) for _ in range(20)])


def test_sparse_mean():
    x = np.sort(rng.uniform(-3, 3, size=30))
    y, t = np.sin(x), np.linspace(-3, 3, 11)

    def k(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2) / 2)

    z = np.linspace(-3, 3, 6)
    want = k(t, z) @ np.linalg.solve(0.25 * k(z, z) + k(z, x) @ k(x, z), k(z, x) @ y)
    np.testing.assert_allclose(ch09.sparse_mean(t, z, x, y, 0.5), want, rtol=1e-5, atol=1e-6)
    full = k(t, x) @ np.linalg.solve(k(x, x) + 0.25 * np.eye(30), y)
    np.testing.assert_allclose(ch09.sparse_mean(t, z, x, y, 0.5), full, atol=0.05)


def test_effective_points():
    weights = np.array([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    np.testing.assert_allclose(ch09.effective_points(weights), [4, 1, 2])


def test_isab_1():
    block = ISAB(3, 8, 2, 1, rng=rng).astype("float64")
    X = rng.normal(size=(6, 3))
    np.testing.assert_allclose(ch09.isab_1(block, X), block(X).data, rtol=1e-9, atol=1e-12)
