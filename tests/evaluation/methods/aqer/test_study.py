"""The study of section 6.2: which method grades language models as experts do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaluation.methods.aqer_study import method as aqer_study
from evaluation.methods.aqer_study.method import POOLED_ROW, Study, draw_rows
from evaluation.methods.core.base import BadParameter, EmptyData, Texts, TooFewWorkers
from evaluation.methods.text.corpus import Responses

WORDS = ("river", "stone", "cloud", "bread", "nest", "lamp", "road", "glass")


def make_study(
    seed: int = 3, *, workers: int = 12, questions: int = 24, judge: bool = False
) -> Any:
    """Workers who are right about as often as not, two systems of known quality."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, len(WORDS), questions)

    def answer(question: int, skill: float) -> tuple[str, bool]:
        right = rng.random() < skill
        at = truth[question] if right else rng.integers(0, len(WORDS))
        return f"it was the {WORDS[at]} of {question}", bool(at == truth[question])

    skills = rng.uniform(0.4, 0.9, workers)
    given = [(w, q, answer(q, skills[w])[0]) for w in range(workers) for q in range(questions)]
    systems = [
        (s, q, *answer(q, skill)) for s, skill in enumerate((0.8, 0.4)) for q in range(questions)
    ]
    rng.shuffle(systems)  # type: ignore[arg-type]
    systems = [(int(s), int(q), str(t), str(r) == "True") for s, q, t, r in systems]
    texts = sorted({row[2] for row in (*given, *systems)})
    place = {text: at for at, text in enumerate(texts)}
    vectors = np.zeros((len(texts), len(WORDS)))
    for text, at in place.items():
        vectors[at, WORDS.index(text.split()[3])] = 1
    names = {"questions": [str(q) for q in range(questions)]}
    people, machines = [str(w) for w in range(workers)], ["good", "poor"]

    def both(rows: Any, who: Any, **more: Any) -> Any:
        w, q, t = ([row[k] for row in rows] for k in range(3))
        at = [place[text] for text in t]
        outside = more.pop("outside", (None, None))
        return (
            Texts.build(w, q, vectors, workers=who, vector=at, outside=outside[0], **names, **more),
            Responses.build(w, q, texts, workers=who, text=at, outside=outside[1], **names, **more),
        )

    outside = both(systems, machines, repeats=True)
    crowd = both(given, people, outside=outside)
    grade = np.array([100.0 * right for *_, right in systems])
    marks = np.clip(grade + rng.normal(0, 20, len(grade)), 0, 100) if judge else None
    return Study(*crowd, grade, marks)


METHODS = ["aqer", "aqer_uniterated", "majority", "f1"]


def _fit(study: Study, **params: Any) -> Any:
    options = {"sizes": [3, 8], "repetitions": 6, "methods": METHODS, **params}
    return aqer_study.fit(study, rng=np.random.default_rng(1), **options)


def test_more_workers_bring_the_scores_closer_to_the_experts() -> None:
    rows = _fit(make_study()).estimates["system"].rows()
    pooled = {row["size"]: row for row in rows if row["method"] == "aqer" and row["system"] == -1}
    assert pooled[8]["r"] > pooled[3]["r"] > 0
    assert pooled[8]["low"] < pooled[8]["r"] < pooled[8]["high"]
    assert pooled[8]["questions"] == 24


def test_one_draw_of_everybody_gives_the_correlation_that_scipy_gives() -> None:
    study = make_study()
    found = _fit(study, sizes=[12], repetitions=2).estimates["system"].rows()
    for slug in ("aqer", "majority"):
        scores = aqer_study.SCORERS[slug][1](study.texts, study.responses, np.random.default_rng(0))
        table = scores.estimates["system_answer"]
        for system in (0, 1):
            mine = table["system"] == system
            r = stats.pearsonr(table["score"][mine], study.grade[table["source"][mine]]).statistic
            row = next(row for row in found if (row["method"], row["system"]) == (slug, system))
            assert row["r"] == pytest.approx(r, abs=1e-9)
            assert row["draw_low"] == pytest.approx(row["draw_high"])  # all draws are the same


def test_the_judge_sees_no_worker_and_is_the_same_at_every_size() -> None:
    rows = _fit(make_study(judge=True)).estimates["system"].rows()
    judged = [row for row in rows if row["method"] == "judge" and row["system"] == POOLED_ROW]
    assert len(judged) == 2
    assert judged[0]["r"] == pytest.approx(judged[1]["r"])
    assert judged[0]["r"] > 0.7


def test_a_method_is_held_against_aqer_on_the_same_draws() -> None:
    against = _fit(make_study()).estimates["against"].rows()
    assert {row["method"] for row in against} == set(METHODS) - {"aqer"}
    assert all(row["low"] <= row["difference"] <= row["high"] for row in against)
    assert {row["family"] for row in against} == {len(METHODS) - 1}


def test_the_same_seed_gives_the_same_rows_and_sizes_beyond_the_crowd_are_told() -> None:
    study = make_study()
    first, second = _fit(study, sizes=[3, 40]), _fit(study, sizes=[3, 40])
    assert first.estimates["system"].rows() == second.estimates["system"].rows()
    assert first.diagnostics["left_out"] == [40]
    with pytest.raises(TooFewWorkers):
        _fit(study, sizes=[40])


def test_answers_can_be_drawn_where_nobody_answered_everything() -> None:
    study = make_study()
    rng = np.random.default_rng(2)
    keep = draw_rows(study.texts, 4, "answers", rng)
    assert (np.bincount(study.texts.question[keep]) == 4).all()
    assert len(np.unique(study.texts.worker[keep])) > 4
    assert _fit(study, draw="answers").estimates["system"].rows()


def test_what_cannot_be_studied_is_said() -> None:
    study = make_study()
    with pytest.raises(EmptyData, match="no answer of a system has a grade"):
        Study(study.texts, study.responses, np.full(len(study.grade), np.nan))
    with pytest.raises(BadParameter, match="methods"):
        _fit(study, methods=["aqer", "guess"])
    with pytest.raises(BadParameter, match="methods"):
        _fit(study, methods=["f1"])


def test_a_method_whose_scores_never_differ_has_no_correlation_and_breaks_nothing() -> None:
    study = make_study()
    told = _fit(Study(study.texts, study.responses, study.grade, np.full(len(study.grade), 50.0)))
    rows = [row for row in told.estimates["system"].rows() if row["method"] == "judge"]
    assert all(row["r"] is None and row["defined"] == 0 for row in rows)
    against = [row for row in told.estimates["against"].rows() if row["method"] == "judge"]
    assert all(row["difference"] is None and row["reason"] for row in against)
