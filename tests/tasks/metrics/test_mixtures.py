"""The generative process against its moments and the paper's oracles, EM, and the adjusted Rand index."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tasks.harness import paper
from tasks.metrics import mixtures
from tasks.metrics.mixtures import Mixture, adjusted_rand_index, em, em_from_points, em_step, log_likelihood


def drawn(seed: int, sizes=(40, 25, 60), k: int = 3):
    return mixtures.sample(np.random.default_rng(seed), np.array(sizes), k=k)


# ---- the generative process ---------------------------------------------------------------------------------------


def test_the_process_has_the_moments_it_should():
    X, mask, labels, truth = mixtures.sample(np.random.default_rng(0), np.full(2000, 200), k=4)
    assert X.shape == (2000, 200, 2) and mask.all()
    assert truth.mu.min() > -4 and truth.mu.max() < 4
    assert abs(truth.mu.mean()) < 0.1 and abs(truth.mu.std() - 8 / np.sqrt(12)) < 0.05
    pi = np.exp(truth.log_pi)
    np.testing.assert_allclose(pi.sum(axis=1), 1)
    # Dir(1, 1, 1, 1): mean 1/4, variance (1/4)(3/4)/5
    assert abs(pi.var() - 0.25 * 0.75 / 5) < 0.002
    counts = (labels[..., None] == np.arange(4)).mean(axis=1)
    assert np.abs(counts - pi).max() < 0.2 and np.abs((counts - pi).mean(axis=0)).max() < 0.002
    noise = X - np.take_along_axis(truth.mu, labels[..., None], axis=1)
    assert abs(noise.std() - 0.3) < 0.001 and abs(noise.mean()) < 0.001
    assert (truth.sigma == 0.3).all()


def test_sets_have_the_given_sizes_and_zeros_in_the_padding():
    X, mask, _, _ = drawn(0, (5, 9, 1))
    assert X.shape == (3, 9, 2) and list(mask.sum(axis=1)) == [5, 9, 1] and (X[~mask] == 0).all()


@pytest.mark.parametrize(
    ("task", "k", "sizes", "sets"), [("clustering", 4, (100, 500), 3000), ("clustering_large", 6, (1000, 5000), 500)]
)
def test_the_oracle_is_the_papers(task: str, k: int, sizes: tuple[int, int], sets: int):
    """Within three standard errors of two estimates: ours, and the paper's from 1,000 sets of its own."""
    rng, values = np.random.default_rng(1), []
    for _ in range(sets // 50):
        X, mask, _, truth = mixtures.sample(rng, rng.integers(*sizes, size=50, endpoint=True), k=k)
        values += list(log_likelihood(X, mask, truth))
    error = np.std(values) * np.hypot(1 / np.sqrt(sets), 1 / np.sqrt(1000))
    assert abs(np.mean(values) - paper.value(paper.TABLES[task]["Oracle"]["LL0"])) < 3 * error
    assert error < 0.02  # a bound that could fail


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16", "float32"])
def test_numbers_of_every_dtype_are_computed_in_float64(dtype: str):
    """Pixels or counts as points: a square of uint8 overflows, and a mean stored in integers is cut off."""
    rng = np.random.default_rng(1)
    X, mu, sigma = (rng.integers(low, 100, size=(2, n, 3)).astype(dtype) for low, n in ((0, 50), (0, 2), (1, 2)))
    log_pi, mask = np.zeros((2, 2), dtype), (np.arange(50) < np.array([[50], [30]])).astype("uint8")
    results = []
    for convert in (lambda x: x, lambda x: x.astype("float64")):
        points, start = convert(X), Mixture(*map(convert, (log_pi, mu, sigma)))
        fitted = em(points, mask, start, limit=5)
        values, best = em_from_points(np.random.default_rng(0), points, mask, 2, restarts=2)
        results.append([log_likelihood(points, mask, start), mixtures.assign(points, start), values])
        results[-1] += [
            a for m in (start, em_step(points, mask, start), fitted, best) for a in (m.log_pi, m.mu, m.sigma)
        ]
    for got, expected in zip(*results, strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


# ---- likelihood and EM ----------------------------------------------------------------------------------------------


def test_the_likelihood_is_that_of_scipy():
    X, mask, _, truth = drawn(3)
    rng = np.random.default_rng(4)
    mixture = Mixture(truth.log_pi, truth.mu, rng.uniform(0.2, 2, size=truth.sigma.shape))
    for b in range(len(X)):
        points, p = X[b, mask[b]], 0
        for j in range(3):
            normal = multivariate_normal(mixture.mu[b, j], np.diag(mixture.sigma[b, j] ** 2))
            p += np.exp(mixture.log_pi[b, j]) * normal.pdf(points)
        np.testing.assert_allclose(log_likelihood(X, mask, mixture)[b], np.log(p).mean(), rtol=1e-10)


def random_mixture(rng: np.random.Generator, B: int, k: int) -> Mixture:
    log_pi = np.log(rng.dirichlet(np.ones(k), size=B))
    return Mixture(log_pi, rng.uniform(-5, 5, size=(B, k, 2)), rng.uniform(0.05, 3, size=(B, k, 2)))


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), components=st.integers(1, 6))
def test_em_never_makes_a_set_less_likely(seed: int, k: int, components: int):
    X, mask, _, _ = drawn(seed, (30, 7, 1), k)
    mixture = random_mixture(np.random.default_rng(seed), 3, components)
    before = log_likelihood(X, mask, mixture)
    for _ in range(5):
        mixture = em_step(X, mask, mixture)
        after = log_likelihood(X, mask, mixture)
        assert (after >= before - 1e-9 * (1 + np.abs(before))).all()
        assert np.isfinite(mixture.mu).all() and (mixture.sigma >= mixtures.SIGMA_FLOOR).all()
        np.testing.assert_allclose(np.exp(mixture.log_pi).sum(axis=1), 1)
        before = after


@given(seed=st.integers(0, 10**6))
def test_em_does_not_care_for_the_order_of_points_or_components_nor_for_padding(seed: int):
    X, mask, _, _ = drawn(seed, (20, 20), 3)
    rng = np.random.default_rng(seed)
    mixture, order, names = random_mixture(rng, 2, 3), rng.permutation(20), rng.permutation(3)
    plain = em_step(X, mask, mixture)
    padded = np.concatenate([X, np.full((2, 4, 2), 7.0)], axis=1)
    others = {
        "points": em_step(X[:, order], mask, mixture),
        "padding": em_step(padded, np.arange(24) < np.full((2, 1), 20), mixture),
    }
    renamed = em_step(X, mask, Mixture(mixture.log_pi[:, names], mixture.mu[:, names], mixture.sigma[:, names]))
    inverse = np.argsort(names)
    others["names"] = Mixture(renamed.log_pi[:, inverse], renamed.mu[:, inverse], renamed.sigma[:, inverse])
    for other in others.values():
        np.testing.assert_allclose(np.exp(other.log_pi), np.exp(plain.log_pi), atol=1e-9)
        alive = plain.log_pi > -20  # where a component owns next to nothing, rounding decides
        np.testing.assert_allclose(other.mu[alive], plain.mu[alive], atol=1e-6)
        np.testing.assert_allclose(other.sigma[alive], plain.sigma[alive], atol=1e-5)


def test_a_component_without_points_is_kept():
    X, mask, _, truth = drawn(0)
    mu = truth.mu.copy()
    mu[0, 0] = 1e4  # no point is near
    after = em_step(X, mask, Mixture(truth.log_pi, mu, truth.sigma))
    assert np.isfinite(after.mu).all() and np.exp(after.log_pi[0, 0]) == 0 and (after.mu[0, 0] == 1e4).all()


def test_em_converges_and_beats_the_truth_on_its_own_sample():
    X, mask, _, truth = drawn(5, (300, 200, 250), 3)
    found = em(X, mask, truth, tolerance=1e-9)
    again = em_step(X, mask, found)
    assert (log_likelihood(X, mask, found) > log_likelihood(X, mask, truth)).all()
    assert np.abs(log_likelihood(X, mask, again) - log_likelihood(X, mask, found)).max() < 1e-8
    single = [em(X[b : b + 1, mask[b]], mask[b : b + 1, mask[b]], mixtures._take(truth, np.array([b])), tolerance=1e-9)
              for b in range(3)]  # fmt: skip
    for b in range(3):  # a set converges by itself, whoever else is in the batch
        np.testing.assert_allclose(found.mu[b], single[b].mu[0], rtol=1e-6)


def test_em_stops_at_the_limit_of_rounds():
    X, mask, _, _ = drawn(6)
    start = random_mixture(np.random.default_rng(0), 3, 3)
    once = em(X, mask, start, limit=1)
    np.testing.assert_array_equal(once.mu, em_step(X, mask, start).mu)
    np.testing.assert_array_equal(em(X, mask, start, limit=2).mu, em_step(X, mask, once).mu)


def test_centers_are_points_of_the_set_even_if_there_are_few():
    X, mask, _, _ = drawn(0, (2, 9), 3)
    X[0, 0] = X[0, 1]  # one place only
    centers = mixtures._plus_plus(np.random.default_rng(0), X, mask, 4)
    for b in range(2):
        assert all((X[b, mask[b]] == center).all(axis=1).any() for center in centers[b])
    assert len(np.unique(centers[1], axis=0)) == 4


def test_em_from_points_finds_clusters_that_lie_apart():
    rng = np.random.default_rng(0)
    mu = np.array([[[-3, -3], [3, 3], [-3, 3], [3, -3]]], dtype=float)
    labels = rng.integers(0, 4, size=(1, 400))
    X, mask = mu[0][labels] + 0.3 * rng.standard_normal((1, 400, 2)), np.ones((1, 400), dtype=bool)
    values, found = em_from_points(rng, X, mask, 4)
    truth = Mixture(np.full((1, 4), -np.log(4)), mu, np.full((1, 4, 2), 0.3))
    assert values[0] > log_likelihood(X, mask, truth)[0]
    np.testing.assert_allclose(values, log_likelihood(X, mask, found))
    assert adjusted_rand_index(labels[0], mixtures.assign(X, found)[0]) == 1


# ---- adjusted Rand index --------------------------------------------------------------------------------------------


def ari_by_pairs(a: list[int], b: list[int]) -> float:
    """From the definition, pair by pair: (index − expected) / (maximum − expected), over all pairs of points."""
    pairs = list(itertools.combinations(range(len(a)), 2))
    same_a, same_b = [a[i] == a[j] for i, j in pairs], [b[i] == b[j] for i, j in pairs]
    both = sum(x and y for x, y in zip(same_a, same_b, strict=True))
    expected = sum(same_a) * sum(same_b) / len(pairs) if pairs else 0
    most = (sum(same_a) + sum(same_b)) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


labels = st.integers(0, 4)


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_the_adjusted_rand_index_is_that_of_all_pairs(both: list[tuple[int, int]]):
    a, b = map(list, zip(*both, strict=True))
    assert adjusted_rand_index(a, b) == pytest.approx(ari_by_pairs(a, b), abs=1e-12)
    assert adjusted_rand_index(a, b) == pytest.approx(adjusted_rand_index(b, a), abs=1e-12)
    assert adjusted_rand_index(a, [9 - x for x in a]) == 1  # other names, the same clusters


def test_the_adjusted_rand_index_of_a_known_table_and_of_chance():
    # Hubert and Arabie's measure for [0, 0, 1, 2] against [0, 0, 1, 1] is 4/7
    assert adjusted_rand_index([0, 0, 1, 2], [0, 0, 1, 1]) == pytest.approx(4 / 7)
    rng = np.random.default_rng(0)
    chance = [adjusted_rand_index(rng.integers(0, 4, 300), rng.integers(0, 4, 300)) for _ in range(200)]
    assert abs(np.mean(chance)) < 0.002
    with pytest.raises(ValueError, match="same points, given 2 and 3 labels"):
        adjusted_rand_index([0, 1], [0, 1, 2])
