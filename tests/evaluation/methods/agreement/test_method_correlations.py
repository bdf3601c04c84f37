"""Correlations of methods with one truth, beside SciPy's and the paired test of two methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evaluation.methods.agreement import significance
from evaluation.methods.agreement.method_correlations import compare_correlations, holm


def rows_of(table: object) -> dict[tuple[str, str], dict[str, float]]:
    return {(row["measure"], row["method"]): row for row in table.rows()}  # type: ignore[attr-defined]


def compared(scores: dict[str, np.ndarray], truth: np.ndarray, unit: np.ndarray, **more: object):  # type: ignore[no-untyped-def,type-arg]
    more = {"base": "aqer", "rng": np.random.default_rng(1), **more}
    return rows_of(compare_correlations(scores, truth, unit, **more))  # type: ignore[arg-type]


def test_pearson_and_spearman_are_those_of_scipy_and_the_better_method_is_found() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=40)
    scores = {
        "aqer": truth + 0.2 * rng.normal(size=40),
        "bleu": truth + 1.5 * rng.normal(size=40),
        "same": np.ones(40),
    }
    found = compared(scores, truth, np.arange(40))
    for slug in ("aqer", "bleu"):
        assert found["pearson", slug]["r"] == pytest.approx(
            stats.pearsonr(scores[slug], truth).statistic
        )
        assert found["spearman", slug]["r"] == pytest.approx(
            stats.spearmanr(scores[slug], truth).statistic
        )
    for measure in ("pearson", "spearman"):
        row = found[measure, "bleu"]
        peer = significance.bca_correlation_difference(
            scores["bleu"],
            scores["aqer"],
            truth,
            rng=np.random.default_rng(2),
            method=measure,
            confidence=0.975,
        )
        assert row["difference"] == pytest.approx(peer.estimate)
        assert row["difference_low"] == pytest.approx(peer.low, abs=0.05)
        assert row["difference_high"] == pytest.approx(peer.high, abs=0.05) and peer.high < 0
        assert row["p"] <= row["adjusted"] < 0.05
        assert found[measure, "same"]["r"] is None and found[measure, "same"]["reason"]


def test_answers_of_one_question_are_drawn_together_and_few_questions_give_no_interval() -> None:
    rng = np.random.default_rng(8)
    question = np.repeat(np.arange(15), 8)
    truth = np.repeat(rng.normal(size=15), 8) + 0.1 * rng.normal(size=120)
    noise = np.repeat(rng.normal(size=(5, 15)), 8, axis=1)
    scores = {"aqer": truth + 0.7 * noise, "other": truth + 0.8 * noise}
    whole, alone = (compared(scores, truth, unit) for unit in (question, np.arange(120)))
    wide, narrow = (
        one["pearson", "aqer"]["high"] - one["pearson", "aqer"]["low"] for one in (whole, alone)
    )
    assert whole["pearson", "aqer"]["n"] == 15 and wide > 1.3 * narrow
    few = compared(scores, np.where(question < 9, truth, np.nan), question, noun="questions")
    assert few["pearson", "aqer"]["reason"] == "9 questions; an interval needs 10"
    assert few["pearson", "aqer"]["r"] > 0 and few["pearson", "aqer"]["low"] is None


def test_holm_multiplies_the_least_p_by_all_tests_and_stays_in_order() -> None:
    assert holm([0.04, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.03, 0.06])
