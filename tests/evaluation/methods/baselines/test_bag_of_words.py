"""Bags of words with majority votes, against a literal second implementation and by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.aqer.rounds import Options
from evaluation.methods.baselines import bag_of_words
from evaluation.methods.baselines.bag_of_words import Bags
from evaluation.methods.core.adjusted import Design
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    DuplicateAnswer,
    EmptyData,
    TooFewWorkers,
    UnknownIndex,
)

RNG = np.random.default_rng
VOCABULARY = [f"word{k}" for k in range(12)]


def crowd(seed: int, *, workers: int = 6, questions: int = 5, density: float = 1.0) -> Bags:
    """Workers who know the right words more or less, and add wrong ones."""
    rng = RNG(seed)
    knows = np.linspace(0.3, 0.95, workers)
    who, what, words = [], [], []
    for j in range(questions):
        truth = rng.random(len(VOCABULARY)) < 0.4
        for i in range(workers):
            if rng.random() < density:
                right = rng.random(len(VOCABULARY)) < knows[i]
                who.append(i)
                what.append(j)
                words.append(
                    [w for w, t, r in zip(VOCABULARY, truth, right, strict=True) if t == r]
                )
    return Bags.build(
        who,
        what,
        words,
        workers=[f"w{i}" for i in range(workers)],
        questions=[f"q{j}" for j in range(questions)],
    )


def sets_of(bags: Bags) -> dict[tuple[int, int], set[int]]:
    return {
        (int(bags.worker[n]), int(bags.question[n])): set(bags.cell[bags.answer == n].tolist())
        for n in range(len(bags))
    }


def literally(bags: Bags, rounds: int) -> list[float]:
    """The majority vote over sets, in loops: a second implementation."""
    answers, workers = sets_of(bags), sorted(set(bags.worker.tolist()))
    weights = dict.fromkeys(workers, 1 / len(workers))
    grades = dict[int, float]()
    for _ in range(rounds):
        scores: dict[int, list[float]] = {i: [] for i in workers}
        for j in set(bags.question.tolist()):
            votes = {i: weights[i] for i in workers if (i, j) in answers}
            if sum(votes.values()) == 0:
                votes = dict.fromkeys(votes, 1.0)
            every = set().union(*(answers[i, j] for i in votes))
            half = sum(votes.values()) / 2 * (1 + 1e-9)
            sea = {w for w in every if sum(votes[i] for i in votes if w in answers[i, j]) > half}
            for i in votes:
                size = math.sqrt(len(sea) * len(answers[i, j]))
                scores[i].append(len(sea & answers[i, j]) / size if size else 0.0)
        grades = {i: sum(s) / len(s) for i, s in scores.items()}
        low, high = min(grades.values()), max(grades.values())
        scaled = {i: (g - low) / (high - low) for i, g in grades.items()}
        weights = {i: s / sum(scaled.values()) for i, s in scaled.items()}
    return [grades[i] for i in workers]


@pytest.mark.parametrize(("seed", "density"), [(1, 1.0), (2, 0.8), (3, 0.7)])
def test_rounds_agree_with_a_literal_second_implementation(seed: int, density: float) -> None:
    bags = crowd(seed, density=density)
    for rounds in (1, 4):
        found = bag_of_words.iterate(bags, Options(max_rounds=rounds, tolerance=1e-15), RNG(0))
        np.testing.assert_allclose(found.grades, literally(bags, rounds), atol=1e-12)


def test_a_word_is_in_the_exemplary_answer_where_more_than_half_wrote_it() -> None:
    # "red" 3 of 4, "big" 2 of 4 (a tie), "old" 1: the exemplary answer is {red}.
    words = [["red", "big"], ["red", "big", "red"], ["red"], ["old"]]
    bags = Bags.build([0, 1, 2, 3], [0] * 4, words, workers=list("abcd"), questions=["q"])
    found = bag_of_words.fit(bags, rng=RNG(0), vote="majority", resamples=0)
    root = 1 / math.sqrt(2)
    np.testing.assert_allclose(found.estimates["worker"]["score"], [root, root, 1, 0])
    np.testing.assert_allclose(found.estimates["worker"]["weight"], 0.25)
    # Weighted, d no longer counts, so a and b outvote c: the exemplary answer is {red, big}.
    weighted = bag_of_words.fit(bags, rng=RNG(0), resamples=0).estimates["worker"]
    np.testing.assert_allclose(weighted["score"], [1, 1, root, 0])
    assert weighted["rank"].tolist() == [1, 1, 3, 4]


def test_workers_who_know_more_words_rank_higher_with_intervals_around_their_scores() -> None:
    result = bag_of_words.fit(crowd(4, questions=120), rng=RNG(0), resamples=200)
    assert result.converged
    assert result.estimates["worker"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]
    intervals, score = result.intervals["worker"], result.estimates["worker"]["score"]
    assert np.all((intervals.low < score) & (score < intervals.high))
    json.dumps(dict(result.diagnostics), allow_nan=False)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_order_of_answers_names_of_words_and_of_workers_do_not_matter(seed: int) -> None:
    rng = RNG(seed)
    bags = crowd(seed, density=0.8)
    people, shuffled = rng.permutation(6), rng.permutation(len(bags))
    sets = sets_of(bags)
    again = Bags.build(
        people[bags.worker[shuffled]],
        bags.question[shuffled],
        [[f"z{-w}" for w in sets[int(bags.worker[n]), int(bags.question[n])]] for n in shuffled],
        workers=[f"x{i}" for i in range(6)],
        questions=bags.questions,
    )
    options = Options(max_rounds=4)
    here = np.unique(bags.worker)
    one = dict(zip(people[here], bag_of_words.iterate(bags, options, RNG(0)).grades, strict=True))
    two = bag_of_words.iterate(again, options, RNG(0)).grades
    np.testing.assert_allclose(two, [one[i] for i in sorted(one)], atol=1e-9)


@pytest.mark.parametrize("density", [1.0, 0.8])
def test_weighing_a_question_double_is_asking_it_twice(density: float) -> None:
    """The resamples' batched rounds against the plain ones on really repeated questions."""
    bags, times, options = (
        crowd(7, density=density),
        np.array([1, 2, 3, 1, 1]),
        Options(max_rounds=4),
    )
    workers, worker = np.unique(bags.worker, return_inverse=True)
    design = Design(worker, bags.question, len(workers), 5)
    weights = np.stack([times, np.ones(5)]).astype(float)
    grades, _ = bag_of_words.replicate(bags, design, weights, options)
    sets, copies = sets_of(bags), np.repeat(np.arange(5), times)
    rows = [(n, k) for k, j in enumerate(copies) for n in np.flatnonzero(bags.question == j)]
    again = Bags.build(
        [bags.worker[n] for n, _ in rows],
        [k for _, k in rows],
        [[str(w) for w in sets[int(bags.worker[n]), int(bags.question[n])]] for n, _ in rows],
        workers=bags.workers,
        questions=[str(k) for k in range(len(copies))],
    )
    for found, data in zip(grades, (again, bags), strict=True):
        expected = bag_of_words.iterate(data, options, RNG(0)).grades
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_workers_without_common_questions_stand_on_boards_of_their_own() -> None:
    whole = crowd(5, workers=8, questions=13)
    first = (whole.worker < 4) & (whole.question < 6)
    second = (whole.worker >= 4) & (whole.worker < 7) & (whole.question >= 6)
    keep = np.flatnonzero(first | second)
    keep = keep[~(whole.worker[keep] == 7)]
    result = bag_of_words.fit(whole.take(keep), rng=RNG(0), resamples=200)
    workers, intervals = result.estimates["worker"], result.intervals["worker"]
    assert workers["component"].tolist() == [1, 1, 1, 1, 2, 2, 2, 0]
    assert sorted(workers["rank"][4:7]) == [1, 2, 3]
    assert not intervals.separable[:4, 4:].any()
    assert intervals.reason[7] == "no answers"
    alone = bag_of_words.iterate(whole.take(np.flatnonzero(first)), Options(), RNG(0))
    np.testing.assert_allclose(workers["score"][:4], alone.grades)


def test_answers_without_words_score_nought() -> None:
    bags = Bags.build([0, 1, 2], [0] * 3, [["a"], ["a"], []], workers=list("abc"), questions=["q"])
    found = bag_of_words.fit(bags, rng=RNG(0), resamples=0)
    assert found.estimates["worker"]["score"].tolist() == [1, 1, 0]
    silent = Bags.build([0, 1], [0, 0], [[], []], workers=list("ab"), questions=["q"])
    assert bag_of_words.fit(silent, rng=RNG(0), resamples=0).estimates["worker"]["score"].sum() == 0


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (([0, 0], [0, 0], [["a"], ["b"]]), DuplicateAnswer),
        (([0, 9], [0, 0], [["a"], ["b"]]), UnknownIndex),
        (([0, 1], [0, 0], [["a"]]), BadShape),
        (([], [], []), EmptyData),
    ],
)
def test_bad_input_is_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Bags.build(*given, workers=["a", "b"], questions=["q"])


def test_one_worker_and_bad_parameters_are_refused() -> None:
    alone = Bags.build([0, 0], [0, 1], [["a"], ["b"]], workers=["a"], questions=["p", "q"])
    with pytest.raises(TooFewWorkers):
        bag_of_words.fit(alone, rng=RNG(0))
    for params, says in (
        ({"vote": "mean"}, "vote is 'mean'"),
        ({"start": "entailment"}, "start is"),
        ({"vote": "majority", "start": "noisy"}, "contradicts"),
        ({"resamples": 7}, "resamples is 7"),
        ({"words": 1}, "no parameter"),
    ):
        with pytest.raises(BadParameter, match=says):
            bag_of_words.METHOD.check(**params)
