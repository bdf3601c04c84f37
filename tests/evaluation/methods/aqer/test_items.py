"""Which questions tell workers apart as the others do."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.items import FEWEST, item_rest_correlations
from evaluation.methods.core.base import FloatArray
from tests.evaluation.methods.simulated import crowd


def correlations(scores: FloatArray) -> FloatArray:
    """Of a table of scores (m, q) in which NaN stands for no answer."""
    worker, question = np.nonzero(np.isfinite(scores))
    return item_rest_correlations(scores[worker, question], worker, question, scores.shape[1])


def by_hand(scores: FloatArray) -> FloatArray:
    """The same, one question and one worker at a time."""
    found = np.full(scores.shape[1], np.nan)
    for j in range(scores.shape[1]):
        own, rest = [], []
        for row in scores:
            others = [row[k] for k in range(len(row)) if k != j and np.isfinite(row[k])]
            if np.isfinite(row[j]) and others:
                own.append(row[j])
                rest.append(sum(others) / len(others))
        if len(own) >= FEWEST and np.ptp(own) > 1e-9 and np.ptp(rest) > 1e-9:
            found[j] = np.corrcoef(own, rest)[0, 1]
    return found


def test_a_worked_example() -> None:
    """Four workers and three questions; r by sums of products and squares of deviations.

    Question 1: own 1, 2, 3, 4 and rest 1.5, 1.5, 3.5, 3.5, so 4 / sqrt(5 * 4). Question 2: own
    2, 1, 4, 3 and rest 1, 2, 3, 4, so 3 / sqrt(5 * 5). Question 3 is as question 1.
    """
    scores = np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 2.0], [3.0, 4.0, 3.0], [4.0, 3.0, 4.0]])
    expected = [4 / np.sqrt(20), 0.6, 4 / np.sqrt(20)]
    np.testing.assert_allclose(correlations(scores), expected, atol=1e-12)


@pytest.mark.parametrize("density", [1.0, 0.7, 0.4, 0.15])
def test_it_is_what_a_loop_over_questions_and_workers_finds(density: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        m, q = rng.integers(2, 12, size=2)
        scores = rng.normal(0.7, 0.2, (m, q)) + rng.normal(0, 0.2, (m, 1))
        scores[rng.random((m, q)) >= density] = np.nan
        np.testing.assert_allclose(correlations(scores), by_hand(scores), atol=1e-9)


def test_there_is_none_with_two_workers_or_where_a_side_does_not_vary() -> None:
    few = np.array([[0.1, 0.2], [0.3, 0.1], [0.4, np.nan], [np.nan, 0.5]])
    assert np.isnan(correlations(few)).all()  # the third and fourth answered nothing else
    same = np.array([[0.3, 0.1, 0.2], [0.3, 0.2, 0.1], [0.3, 0.1 + 0.1, 0.1]])
    found = correlations(same)
    assert np.isnan(found[0])  # all score alike on it
    rest = np.array([[0.1, 0.1, 0.2, 0.7], [0.4, 0.7, 0.2, 0.1], [0.6, 0.2, 0.7, 0.1]])
    assert np.isnan(correlations(rest)[0])  # equal on the others, but for rounding
    assert correlations(np.full((3, 2), np.nan)).tolist() == pytest.approx(
        [np.nan] * 2, nan_ok=True
    )


def test_answers_without_a_score_count_for_nothing() -> None:
    rng = np.random.default_rng(5)
    scores = rng.random((6, 4))
    scores[2, 1] = np.nan
    worker, question = (one.ravel() for one in np.indices(scores.shape))
    found = item_rest_correlations(scores.ravel(), worker, question, 4)
    np.testing.assert_allclose(found, by_hand(scores))


def test_a_fit_says_it_of_each_question_by_the_scores_of_its_answers() -> None:
    texts = crowd(np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.85]), density=0.8, seed=3)
    result = aqer.fit(texts, rng=np.random.default_rng(1), resamples=0)
    scores = np.full((len(texts.workers), len(texts.questions)), np.nan)
    answers = result.estimates["answer"]
    scores[answers["worker"], answers["question"]] = answers["score"]
    found = result.estimates["question"]["item_rest_correlation"]
    np.testing.assert_allclose(found, by_hand(scores))
    assert np.nanmean(found) > 0.3
