"""How well scores rank positives above negatives: the areas under the ROC and the precision-recall curve, with ties.

As a threshold moves down from the highest score, the ROC curve plots the fraction of positives above it (recall)
against the fraction of negatives; the precision-recall curve plots the fraction of positives among all those above it
(precision) against recall.
"""

from __future__ import annotations

import numpy as np


def area_under_roc(scores: np.ndarray, positive: np.ndarray) -> float:
    """AUROC = P(a positive scores higher than a negative) + ½ P(they tie) = (Σ ranks of positives − P(P+1)/2) / PN"""
    scores, positive = _check(scores, positive)
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of each distinct score, from 1; ties share their mean rank
    P, N = positive.sum(), (~positive).sum()
    return float((ranks[which][positive].sum() - P * (P + 1) / 2) / (P * N))


def average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    """AUPR = Σ over distinct scores s, in descending order, of (recall(s) − recall(previous)) · precision(s)"""
    scores, positive = _check(scores, positive)
    distinct, which = np.unique(scores, return_inverse=True)
    which = len(distinct) - 1 - which  # 0 for the highest
    found = np.cumsum(np.bincount(which, weights=positive))  # positives with a score of at least s: (distinct,)
    precision, recall = found / np.cumsum(np.bincount(which)), found / positive.sum()
    return float(np.sum(np.diff(recall, prepend=0) * precision))


def _check(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, positive = np.ravel(scores), np.ravel(positive).astype(bool)
    if scores.shape != positive.shape or not np.isfinite(scores).all() or positive.all() or not positive.any():
        raise ValueError(
            "expected one finite score per label, and both positive and negative labels; given "
            f"{scores.size} scores and {positive.size} labels, {positive.sum()} of them positive"
        )
    return scores, positive
