"""AUROC and average precision against definitions written out in loops, ties and all."""

from fractions import Fraction

import numpy as np
import pytest

from tasks.metrics.ranking import area_under_roc, average_precision


def pairs_in_order(scores, positive) -> Fraction:
    """AUROC by its meaning: of all pairs of a positive and a negative, the share in the right order; a tie is half."""
    points = [
        Fraction(1 if a > b else 0) + (Fraction(1, 2) if a == b else 0)
        for a, is_a in zip(scores, positive, strict=True)
        for b, is_b in zip(scores, positive, strict=True)
        if is_a and not is_b
    ]
    return sum(points) / len(points)


def steps_of_the_curve(scores, positive) -> Fraction:
    """Average precision by its meaning: lower a threshold from score to score, and add up the steps of the curve."""
    area, before, total = Fraction(0), Fraction(0), sum(map(int, positive))
    for threshold in sorted({*scores}, reverse=True):
        taken = [p for s, p in zip(scores, positive, strict=True) if s >= threshold]
        recall, precision = Fraction(int(sum(taken)), total), Fraction(int(sum(taken)), len(taken))
        area, before = area + (recall - before) * precision, recall
    return area


@pytest.mark.parametrize("distinct", [1, 2, 4, 1_000])  # from all scores equal to none
def test_areas_are_those_of_the_loops(distinct: int):
    rng = np.random.default_rng(distinct)
    for _ in range(100):
        n = rng.integers(2, 25)
        positive = np.zeros(n, dtype=bool)
        positive[: rng.integers(1, n)] = True
        rng.shuffle(positive)
        scores = rng.integers(distinct, size=n) / 8 - 3
        assert area_under_roc(scores, positive) == pytest.approx(float(pairs_in_order(scores, positive)), abs=1e-12)
        assert average_precision(scores, positive) == pytest.approx(
            float(steps_of_the_curve(scores, positive)), abs=1e-12
        )


def test_areas_known_by_heart():
    scores, positive = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])
    assert area_under_roc(scores, positive) == 0.75
    assert average_precision(scores, positive) == pytest.approx((1 + 2 / 3) / 2)
    assert (
        area_under_roc(scores, [True, True, False, False]) == 1 == average_precision(scores, [True] * 2 + [False] * 2)
    )
    assert area_under_roc(-scores, [True, True, False, False]) == 0
    assert area_under_roc(np.zeros(8), np.arange(8) == 3) == 0.5  # nothing is known: a random guess
    assert average_precision(np.zeros(8), np.arange(8) == 3) == 0.125
    for rank in range(1, 9):  # one odd image of rank r among eight
        assert area_under_roc(-np.arange(8), np.arange(8) == rank - 1) == pytest.approx(1 - (rank - 1) / 7)
        assert average_precision(-np.arange(8), np.arange(8) == rank - 1) == pytest.approx(1 / rank)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "uint64", "float16", "float32"])
def test_scores_of_every_dtype_rank_as_the_same_numbers_do(dtype: str):
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.integers(0, 2 if dtype == "bool" else 120, size=30).astype(dtype)
        scores = -scores if dtype in ("int8", "int64") else scores
        positive = rng.permutation(np.arange(30) < 9).astype(rng.choice(["bool", "uint8", "float32"]))
        for area, by_hand in ((area_under_roc, pairs_in_order), (average_precision, steps_of_the_curve)):
            expected = float(by_hand(scores.astype("float64"), positive.astype(bool)))
            assert area(scores, positive) == pytest.approx(expected, abs=1e-12)
    neighbors = np.array([2**63, 2**63 + 1], dtype="uint64")  # the same number in float64
    assert area_under_roc(neighbors, [False, True]) == average_precision(neighbors, [False, True]) == 1


def test_inputs_without_a_defined_area():
    for scores, positive in ([[1.0, 2.0], [True, True]], [[1.0, 2.0], [False, False]], [[1.0], [True, False]],
                             [[1.0, np.nan], [True, False]], [[], []]):  # fmt: skip
        for area in (area_under_roc, average_precision):
            with pytest.raises(ValueError, match="both positive and negative labels"):
                area(np.array(scores), np.array(positive))
