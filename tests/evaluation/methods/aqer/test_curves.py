"""How many questions and workers it takes, on crowds whose true quality stands in for grades."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.aqer.rounds import PUBLISHED, iterate, prepare
from evaluation.methods.aqer_study.curves import MOST_ANSWERS, curves, sizes_of
from evaluation.methods.core.base import Texts
from evaluation.methods.simulation import simulated_texts as simulated


def crowd() -> tuple[Texts, np.ndarray]:  # type: ignore[type-arg]
    made = simulated.simulate(
        np.random.default_rng(2), np.linspace(1.0, 3.5, 14), questions=20, width=48
    )
    cosines = np.einsum("qmd,qd->qm", made.answers, made.truth)
    cosines /= np.linalg.norm(made.answers, axis=2) * np.linalg.norm(made.truth, axis=1)[:, None]
    texts = made.texts()
    return texts, 100 * cosines.ravel()[texts.source]


def test_more_questions_bring_scores_closer_to_grades_and_all_of_them_give_the_whole() -> None:
    texts, grade = crowd()
    table = curves(texts, grade, rng=np.random.default_rng(5), subsets=20)
    rows = {(row["kind"], row["size"]): row for row in table.rows()}
    assert [size for kind, size in rows if kind == "questions"] == [3, 5, 8, 10, 15, 20]
    assert rows["questions", 15]["r_all"] > rows["questions", 3]["r_all"] > 0
    few = rows["questions", 3]
    assert few["low"] < few["r"] < few["high"] and 0 < few["shown"] <= few["subsets"] == 20
    whole = rows["questions", 20]
    scores = iterate(
        prepare(texts)[0],
        type(PUBLISHED)(**{**PUBLISHED.recipe(), "leave_one_out": True}),
        np.random.default_rng(0),
    ).grades
    means = np.bincount(texts.worker, weights=grade) / 20
    assert whole["r"] == pytest.approx(np.corrcoef(scores, means)[0, 1])
    assert whole["low"] is None and whole["r"] == whole["r_all"] == rows["workers", 14]["r"]
    again = curves(texts, grade, rng=np.random.default_rng(5), subsets=20)
    assert again.rows() == table.rows()


def test_ungraded_questions_are_not_drawn_and_nothing_is_drawn_without_grades() -> None:
    texts, grade = crowd()
    half = np.where(texts.question < 9, grade, np.nan)
    table = curves(texts, half, rng=np.random.default_rng(5), subsets=10)
    assert max(row["size"] for row in table.rows() if row["kind"] == "questions") == 9
    for given, subsets in ((np.full(len(grade), np.nan), 10), (grade, 0)):
        assert not curves(texts, given, rng=np.random.default_rng(5), subsets=subsets).rows()
    assert sizes_of("workers", 4) == [] and len(texts) < MOST_ANSWERS
