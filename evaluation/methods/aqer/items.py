"""Item analysis of the questions: which of them tell workers apart as the others do."""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import FloatArray, IntArray

FEWEST = 3  # workers below whom a correlation says nothing
FLAT = 1e-12  # a variance of scores below this says nothing


def item_rest_correlations(
    scores: FloatArray, worker: IntArray, question: IntArray, n_questions: int
) -> FloatArray:
    """Pearson's r, over workers, of the score on a question with the mean score on all others.

    ``scores`` (n,) are answers' scores in any unit, NaN for an answer without one; ``worker`` and
    ``question`` (n,) say whose each is and to what, at most one answer a worker and question.
    Returns (q,) without unit in [-1, 1], for ``n_questions`` = q questions; NaN where fewer than
    FEWEST workers have a score on the question and on another one, or where either side does not
    vary (variance up to FLAT).

    Source: the corrected item-total correlation of classical item analysis, which "Quality Control
    for Crowd Workers and for Language Models" (AQER) uses as discrimination in tables A1 and A2.
    """
    known = np.isfinite(scores)
    scores, worker, question = scores[known], worker[known], question[known]
    given = np.bincount(worker)[worker]
    several = given > 1
    rest = (np.bincount(worker, weights=scores)[worker] - scores)[several] / (given[several] - 1)
    own, question = scores[several], question[several]
    size = np.maximum(np.bincount(question, minlength=n_questions), 1)

    def mean(values: FloatArray) -> FloatArray:
        return np.bincount(question, weights=values, minlength=n_questions) / size

    own, rest = (side - mean(side)[question] for side in (own, rest))
    own_variance, rest_variance = mean(own**2), mean(rest**2)
    defined = (size >= FEWEST) & (own_variance > FLAT) & (rest_variance > FLAT)
    root = np.sqrt(np.where(defined, own_variance * rest_variance, 1.0))
    return np.where(defined, np.clip(mean(own * rest) / root, -1.0, 1.0), np.nan)
