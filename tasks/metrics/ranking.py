"""How well scores rank the few that matter above the rest: the areas under two curves, ties included.

Going down the list of scores, from the highest on, the share of the positives found so far (recall) is drawn against
the share of the negatives (ROC), or the precision, found positives / all found, against the recall (PR).
"""

from __future__ import annotations

import numpy as np


def area_under_roc(scores: np.ndarray, positive: np.ndarray) -> float:
    """AUROC = P(a positive scores higher than a negative) + ½ P(they tie) = (Σ ranks of positives − P(P+1)/2) / PN"""
    scores, positive = _both_kinds(scores, positive)
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of each distinct score, from 1; those that tie share the mean
    P, N = positive.sum(), (~positive).sum()
    return float((ranks[which][positive].sum() - P * (P + 1) / 2) / (P * N))


def average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """AUPR = Σ over the distinct scores s, from the highest on, of (recall(s) − recall(before)) · precision(s)"""
    scores, positive = _both_kinds(scores, positive)
    _, which = np.unique(-scores, return_inverse=True)  # 0 for the highest
    found = np.cumsum(np.bincount(which, weights=positive))  # positives that score at least s: (distinct,)
    precision, recall = found / np.cumsum(np.bincount(which)), found / positive.sum()
    return float(np.sum(np.diff(recall, prepend=0) * precision))


def _both_kinds(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, positive = np.ravel(scores), np.ravel(positive).astype(bool)
    if scores.shape != positive.shape or not np.isfinite(scores).all() or positive.all() or not positive.any():
        raise ValueError(
            f"expected as many finite scores as marks, some of them positive and some not; given {scores.size} scores "
            f"and {positive.size} marks, {positive.sum()} positive"
        )
    return scores, positive
