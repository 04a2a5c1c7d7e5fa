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


def test_inputs_without_a_defined_area():
    for scores, positive in ([[1.0, 2.0], [True, True]], [[1.0, 2.0], [False, False]], [[1.0], [True, False]],
                             [[1.0, np.nan], [True, False]], [[], []]):  # fmt: skip
        for area in (area_under_roc, average_precision):
            with pytest.raises(ValueError, match="both positive and negative labels"):
                area(np.array(scores), np.array(positive))
