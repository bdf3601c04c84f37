"""The whole method: tables, components, systems, intervals, diagnostics, hooks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer import resample as aqer_resample
from evaluation.methods.aqer.resample import Replicates, replicate
from evaluation.methods.aqer.rounds import Options, iterate, prepare
from evaluation.methods.core.adjusted import Design
from evaluation.methods.core.base import (
    BadParameter,
    Cancelled,
    Hooks,
    Result,
    Texts,
    TooFewWorkers,
)
from evaluation.methods.core.bootstrap import ranks
from tests.evaluation.methods.simulated import crowd

QUALITY = np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.85])


def fit(texts: Texts, seed: int = 1, **params: Any) -> Result:
    given = {"resamples": 200, **params}
    return aqer.fit(texts, rng=np.random.default_rng(seed), **given)


def test_planted_quality_of_workers_and_systems_comes_back_in_order() -> None:
    systems = np.array([0.9, 0.3, 0.6])
    result = fit(crowd(QUALITY, questions=150, systems=systems, seed=2))
    assert result.converged
    assert result.estimates["worker"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]
    assert result.estimates["system"]["rank"].tolist() == [1, 3, 2]
    intervals = result.intervals["worker"]
    score = result.estimates["worker"]["score"]
    assert np.all((intervals.low < score) & (score < intervals.high))
    assert intervals.group.tolist() == [6, 5, 4, 3, 2, 1]
    assert intervals.separable.sum() == 30


def test_the_same_seed_gives_the_same_result_and_another_only_other_intervals() -> None:
    texts = crowd(QUALITY, density=0.8, seed=3)
    first, again, other = fit(texts), fit(texts), fit(texts, seed=9)
    for name, table in first.estimates.items():
        for column, values in table.columns.items():
            assert values.tobytes() == again.estimates[name][column].tobytes()
            assert values.tobytes() == other.estimates[name][column].tobytes()
    for low, same in ((first, True), (other, False)):
        assert (
            low.intervals["worker"].low.tobytes() == again.intervals["worker"].low.tobytes()
        ) == same


def test_where_everybody_answered_everything_the_adjusted_score_is_the_raw_one() -> None:
    workers = fit(crowd(QUALITY, seed=4)).estimates["worker"]
    np.testing.assert_allclose(workers["adjusted"], workers["score"], atol=1e-12)


def test_gaps_are_ranked_by_adjusted_score_and_say_so() -> None:
    result = fit(crowd(QUALITY, density=0.7, seed=5))
    told = result.diagnostics["components"][0]
    assert (told["complete"], told["ranked_by"]) == (False, "adjusted")
    workers = result.estimates["worker"]
    order = np.argsort(-workers["adjusted"])
    assert workers["rank"][order].tolist() == [1, 2, 3, 4, 5, 6]


def two_crowds() -> Texts:
    """Workers 0-2 on questions 0-5, 3-6 on 6-11, worker 7 alone on question 12."""
    whole = crowd(np.linspace(0.3, 0.9, 8), questions=13, seed=6)
    first = (whole.worker < 3) & (whole.question < 6)
    second = (whole.worker > 2) & (whole.worker < 7) & (whole.question > 5) & (whole.question < 12)
    alone = (whole.worker == 7) & (whole.question == 12)
    keep = np.flatnonzero(first | second | alone)
    return Texts.build(
        whole.worker[keep],
        whole.question[keep],
        whole.vectors,
        vector=whole.vector[keep],
        workers=whole.workers,
        questions=whole.questions,
    )


def test_workers_without_common_questions_stand_on_boards_of_their_own() -> None:
    texts = two_crowds()
    result = fit(texts)
    workers, intervals = result.estimates["worker"], result.intervals["worker"]
    assert workers["component"].tolist() == [2, 2, 2, 1, 1, 1, 1, 0]
    assert sorted(workers["rank"][:3]) == [1, 2, 3]
    assert sorted(workers["rank"][3:7]) == [1, 2, 3, 4]
    assert not intervals.separable[:3, 3:].any()
    assert np.isnan(workers["score"][7])
    assert intervals.reason[7] == "nobody else answered the same questions"
    assert result.diagnostics["questions_with_one_answer"] == ["q12"]
    assert result.diagnostics["workers_not_scored"] == ["w7"]
    # Each part's scores are those it gets when the other part does not exist.
    part = np.flatnonzero(texts.worker < 3)
    options = Options(leave_one_out=True, vote="mean")
    alone = iterate(prepare(texts, part)[0], options, np.random.default_rng(0))
    np.testing.assert_allclose(workers["score"][:3], alone.grades)


def test_the_better_two_of_three_workers_do_not_tie() -> None:
    """The worst of three gets no vote: the others would be compared with one another alone."""
    result = fit(crowd(np.array([0.3, 0.6, 0.8]), questions=80, seed=21), resamples=0)
    assert result.estimates["worker"]["rank"].tolist() == [3, 2, 1]
    assert result.converged


def test_a_system_that_answered_in_two_parts_is_scored_in_each() -> None:
    texts = two_crowds()
    rng = np.random.default_rng(0)
    systems = Texts.build(
        [0] * 12,
        list(range(12)),
        rng.standard_normal((12, texts.vectors.shape[1])),
        workers=["s"],
        questions=texts.questions,
    )
    texts = Texts.build(
        texts.worker,
        texts.question,
        texts.vectors,
        vector=texts.vector,
        workers=texts.workers,
        questions=texts.questions,
        outside=systems,
    )
    table = fit(texts).estimates["system"]
    assert table["system"].tolist() == [0, 0]
    assert table["component"].tolist() == [1, 2]
    assert table["n"].tolist() == [6, 6]


def test_systems_never_change_what_workers_score() -> None:
    without = fit(crowd(QUALITY, density=0.8, seed=7), resamples=0)
    texts = crowd(QUALITY, density=0.8, seed=7, systems=np.array([0.5]))
    plain = Texts.build(
        texts.worker,
        texts.question,
        texts.vectors,
        vector=texts.vector,
        workers=texts.workers,
        questions=texts.questions,
    )
    for column in ("score", "adjusted", "weight"):
        np.testing.assert_array_equal(
            fit(texts, resamples=0).estimates["worker"][column],
            fit(plain, resamples=0).estimates["worker"][column],
        )
    assert "system" not in without.estimates


def test_the_best_answer_is_the_closest_to_the_sea_and_trust_may_change_it() -> None:
    result = fit(crowd(QUALITY, density=0.8, seed=8), resamples=0)
    answers, workers = result.estimates["answer"], result.estimates["worker"]
    for question in range(16):
        rows = np.flatnonzero(answers["question"] == question)
        scores = answers["score"][rows]
        closest = np.round(scores, 12).argmax()  # of equal answers the first
        assert np.flatnonzero(answers["best"][rows]).tolist() == [closest]
        assert answers["rank"][rows].tolist() == ranks(scores).tolist()
        trusted = scores + 0.1 * workers["normalised"][answers["worker"][rows]]
        assert answers["best_trusted"][rows].argmax() == np.round(trusted, 12).argmax()


def test_an_answer_row_leads_back_to_where_it_came_from() -> None:
    texts = crowd(QUALITY, seed=9)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = Texts.build(
        texts.worker[order],
        texts.question[order],
        texts.vectors,
        vector=texts.vector[order],
        workers=texts.workers,
        questions=texts.questions,
    )
    answers = fit(shuffled, resamples=0).estimates["answer"]
    assert texts.worker[order][answers["source"]].tolist() == answers["worker"].tolist()


@pytest.mark.parametrize("options", [{}, {"leave_one_out": True}, {"similarity": "neg_euclidean"}])
def test_weighing_a_question_double_is_asking_it_twice(options: dict[str, Any]) -> None:
    """The resamples' Gram form against the plain rounds on really repeated questions."""
    texts = crowd(QUALITY, questions=5, width=8, density=0.8, seed=10)
    weights = np.array([[1, 2, 3, 1, 1], [2, 1, 1, 1, 4]], dtype=float)
    rows, _, _ = prepare(texts)
    found: dict[int, Replicates] = {}

    def keep(chunk: slice, result: Replicates) -> None:
        found[chunk.start] = result

    chosen = Options(**options)
    replicate(rows, weights, chosen, each=keep)
    grades = np.concatenate([found[k].grades for k in sorted(found)])
    for b, times in enumerate(weights.astype(int)):
        copies = np.repeat(np.arange(5), times)
        rows_of = [np.flatnonzero(texts.question == j) for j in copies]
        again = Texts.build(
            np.concatenate([texts.worker[r] for r in rows_of]),
            np.concatenate([np.full(len(r), k) for k, r in enumerate(rows_of)]),
            texts.vectors,
            vector=np.concatenate([texts.vector[r] for r in rows_of]),
            workers=texts.workers,
            questions=[str(k) for k in range(len(copies))],
        )
        expected = iterate(prepare(again)[0], chosen, np.random.default_rng(0)).grades
        np.testing.assert_allclose(grades[b], expected, atol=1e-9)


@pytest.mark.parametrize("density", [1.0, 0.7])
def test_where_refitting_costs_too_much_the_seas_stay_and_it_is_said(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = crowd(
        np.linspace(0.4, 0.8, 20), questions=30, density=density, systems=QUALITY, seed=11
    )
    refitted = fit(texts)
    monkeypatch.setattr(aqer_resample, "REFIT_WORK", 0.0)
    fixed = fit(texts)
    assert fixed.diagnostics["components"][0]["resamples_refitted"] is False
    for board in ("worker", "system"):
        wide, narrow = (r.intervals[board].high - r.intervals[board].low for r in (refitted, fixed))
        assert 0.7 < np.median(narrow / wide) < 1.1


def test_many_equal_answers_to_a_question_are_told_with_what_they_weigh() -> None:
    texts = crowd(np.array([0.3] * 4 + [0.9] * 6), questions=12, seed=12)
    vectors = texts.vectors.copy()
    shrug = np.eye(texts.vectors.shape[1])[0]
    vectors[texts.vector[(texts.question == 3) & (texts.worker < 4)]] = shrug
    shrugged = Texts.build(
        texts.worker,
        texts.question,
        vectors,
        vector=texts.vector,
        workers=texts.workers,
        questions=texts.questions,
    )
    result = fit(shrugged, resamples=0, near_identical=0.999)
    told = result.diagnostics["components"][0]["clusters"]
    assert told["found"] == 1
    (cluster,) = told["listed"]
    assert (cluster["question"], cluster["size"], cluster["of"]) == ("q3", 4, 10)
    assert cluster["share_of_answers"] == 0.4
    assert cluster["share_of_weight"] < 0.1
    assert cluster["mean_score"] < cluster["mean_score_of_others"]
    at = np.flatnonzero(result.estimates["answer"]["source"] == cluster["source"])
    assert result.estimates["answer"]["worker"][at[0]] < 4
    without = np.flatnonzero(shrugged.question != 3)
    options = Options(leave_one_out=True)
    smaller = iterate(prepare(shrugged, without)[0], options, np.random.default_rng(0))
    moved = ranks(result.estimates["worker"]["score"]) != ranks(smaller.grades)
    assert cluster["without"]["moved"] == moved.sum()


def test_pairs_that_iterating_turned_round_are_listed() -> None:
    result = fit(crowd(np.linspace(0.4, 0.6, 10), questions=8, seed=13), resamples=0)
    workers = result.estimates["worker"]
    before, after = workers["uniterated"], workers["score"]
    expected = {
        frozenset((a, b))
        for a in range(10)
        for b in range(a)
        if (before[a] - before[b]) * (after[a] - after[b]) < 0
    }
    told = result.diagnostics["components"][0]["swaps"]
    assert (told["pairs"], told["swapped"]) == (45, len(expected))
    assert expected
    for pair in told["listed"]:
        up, down = int(pair["up"][1:]), int(pair["down"][1:])
        assert frozenset((up, down)) in expected
        assert after[up] > after[down]


def test_diagnostics_and_recipe_are_json_and_hold_the_trace_and_the_bound() -> None:
    result = fit(crowd(QUALITY, density=0.8, seed=14, systems=np.array([0.5])))
    told = json.loads(json.dumps(dict(result.diagnostics), allow_nan=False))["components"][0]
    assert len(told["trace"]) == told["rounds"]
    assert told["trace"][-1] < 1e-6
    assert {"expected", "worst", "vacuous"} <= set(told["bounds"])
    assert json.loads(json.dumps(dict(result.recipe)))["params"]["resamples"] == 200


def test_a_fit_that_does_not_settle_says_so() -> None:
    result = fit(crowd(QUALITY, seed=15), max_rounds=2)
    assert not result.converged
    assert result.diagnostics["components"][0]["resamples_not_converged"] > 0


def test_too_little_to_compare_is_refused_in_words() -> None:
    one = Texts.build([0, 0], [0, 1], np.eye(2), workers=["a"], questions=["p", "q"])
    with pytest.raises(TooFewWorkers, match="one worker alone"):
        fit(one)
    apart = Texts.build([0, 1], [0, 1], np.eye(2), workers=["a", "b"], questions=["p", "q"])
    with pytest.raises(TooFewWorkers, match="no question has answers of two"):
        fit(apart)


def test_progress_is_told_and_a_cancellation_is_heard() -> None:
    texts = crowd(QUALITY, seed=16)
    steps: list[tuple[str, int, int]] = []
    hooks = Hooks(progress=lambda *step: steps.append(step))
    aqer.fit(texts, rng=np.random.default_rng(0), hooks=hooks, resamples=200)
    assert {stage for stage, _, _ in steps} == {"rounds", "resamples"}
    assert [step for step in steps if step[0] == "resamples"][-1] == ("resamples", 200, 200)
    stopping = Hooks(cancelled=lambda: True)
    with pytest.raises(Cancelled):
        aqer.fit(texts, rng=np.random.default_rng(0), hooks=stopping, resamples=200)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"iterations": 5}, "iterations is no parameter"),
        ({"resamples": 50}, "resamples is 50"),
        ({"resamples": 200.0}, "resamples is 200.0"),
        ({"level": 1.0}, "level is 1.0"),
        ({"min_answers": 1}, "min_answers is 1"),
        ({"similarity": "dot"}, "similarity is 'dot'"),
        ({"near_identical": "much"}, "near_identical is 'much'"),
    ],
)
def test_a_bad_parameter_is_refused_before_a_run_starts(params: dict[str, Any], says: str) -> None:
    with pytest.raises(BadParameter, match=says):
        aqer.METHOD.check(**params)


@pytest.mark.long
def test_intervals_cover_the_score_of_endless_questions_as_often_as_they_claim() -> None:
    """Coverage with everything refitted; the truth is the fit of 2,000 questions.

    A few crowds only, so the band is wide: ``tests/studies/aqer_coverage.py`` has the many.
    """
    quality = np.linspace(0.2, 0.85, 8)
    for density in (1.0, 0.7):
        endless = crowd(quality, questions=2000, density=density, seed=77)
        truth = fit(endless, resamples=0).estimates["worker"]["adjusted"]
        hits = []
        for seed in range(10):
            texts = crowd(quality, questions=20, density=density, seed=1000 + seed)
            found = fit(texts, seed=seed, resamples=200).intervals["worker"]
            hits.append((found.adjusted_low <= truth) & (truth <= found.adjusted_high))
        assert 0.86 <= np.mean(hits) <= 1


def test_design_knows_when_everybody_answered_everything() -> None:
    rows, workers, questions = prepare(crowd(QUALITY, seed=17))
    assert Design(rows.worker, rows.question, len(workers), len(questions)).complete
