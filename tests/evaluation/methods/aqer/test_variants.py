"""The equal vote, the entailment start, and two camps in a crowd."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.entailment import start_votes
from evaluation.methods.aqer.rounds import Options, cast_answers, prepare
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    Cancelled,
    FloatArray,
    Hooks,
    Texts,
)
from evaluation.methods.simulation import simulated_texts as simulated
from evaluation.methods.simulation.simulated_texts import Simulated
from tests.evaluation.methods.simulated import crowd

RNG = np.random.default_rng
QUALITY = np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.85])


def test_the_mean_vote_is_the_first_round_of_the_weighted_one_and_so_are_its_resamples() -> None:
    texts = crowd(QUALITY, density=0.8, seed=3, systems=np.array([0.5]))
    mean = aqer.fit(texts, rng=RNG(1), vote="mean", resamples=200)
    weighted = aqer.fit(texts, rng=RNG(1), resamples=200)
    for table in ("worker", "answer", "system"):
        np.testing.assert_array_equal(
            mean.estimates[table]["score"], weighted.estimates[table]["uniterated"]
        )
    assert mean.converged
    assert np.ptp(mean.estimates["worker"]["weight"]) == 0
    low, high = mean.intervals["worker"].low, mean.intervals["worker"].high
    score = mean.estimates["worker"]["score"]
    assert np.all((low < score) & (score < high))
    with pytest.raises(BadParameter, match="vote is 'median'"):
        aqer.METHOD.check(vote="median")


# Entailment: a scorer of made-up probabilities, one an ordered pair of texts.


def made_up(premises: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
    return [(3 * len(p) + 7 * len(h)) % 11 / 10 for p, h in zip(premises, hypotheses, strict=True)]


def worded(seed: int = 4) -> tuple[Texts, list[str]]:
    texts = crowd(QUALITY, questions=5, density=0.8, seed=seed)
    return texts, ["x" * (1 + row % 17) for row in range(len(texts.vectors))]


def test_an_answers_first_vote_is_the_mean_entailment_by_the_others() -> None:
    data, texts = worded()
    found = start_votes(data, texts, made_up)
    for row in range(len(data)):
        others = np.flatnonzero(
            (data.question == data.question[row]) & (np.arange(len(data)) != row)
        )
        said = [texts[data.vector[other]] for other in others]
        expected = np.mean(made_up(said, [texts[data.vector[row]]] * len(said)))
        assert found[row] == pytest.approx(expected)


def test_entailment_votes_make_the_first_exemplary_answer_and_end_where_equal_votes_do() -> None:
    data, texts = worded()
    votes = start_votes(data, texts, made_up)
    once = aqer.fit(
        data,
        rng=RNG(0),
        start="entailment",
        start_votes=votes,
        max_rounds=1,
        resamples=0,
        leave_one_out=False,
    )
    rows, _, _ = prepare(data)
    first = cast_answers(rows, votes, Options())
    np.testing.assert_allclose(once.estimates["answer"]["score"], first.scores)
    unit = data.vectors[data.vector] / data.norms[data.vector][:, None]
    at = data.question == 2
    sea = votes[at] @ unit[at]
    np.testing.assert_allclose(first.scores[at], unit[at] @ sea / np.linalg.norm(sea))
    settled = aqer.fit(data, rng=RNG(0), start="entailment", start_votes=votes, resamples=0)
    equal = aqer.fit(data, rng=RNG(0), resamples=0)
    np.testing.assert_allclose(
        settled.estimates["worker"]["score"], equal.estimates["worker"]["score"], atol=1e-5
    )


def test_each_pair_of_texts_is_scored_once_however_many_workers_wrote_them() -> None:
    texts = Texts.build(
        [0, 1, 2, 0, 1, 2],
        [0, 0, 0, 1, 1, 1],
        np.eye(2),
        vector=[0, 1, 1, 0, 1, 1],
        workers=list("abc"),
        questions=["p", "q"],
    )
    asked: list[tuple[str, str]] = []

    def scorer(premises: Sequence[str], hypotheses: Sequence[str]) -> FloatArray:
        asked.extend(zip(premises, hypotheses, strict=True))
        return np.full(len(premises), 0.5)

    start_votes(texts, ["yes", "no"], scorer)
    assert sorted(asked) == [("no", "no"), ("no", "yes"), ("yes", "no")]


@pytest.mark.parametrize(
    ("texts", "scorer", "error"),
    [
        (["a"], made_up, BadShape),
        (None, lambda p, h: [0.5], BadShape),
        (None, lambda p, h: [float("nan")] * len(p), BadVector),
        (None, lambda p, h: [1.5] * len(p), BadVector),
    ],
)
def test_a_scorer_that_gives_no_probabilities_is_refused(
    texts: list[str] | None, scorer: Any, error: type[Exception]
) -> None:
    data, words = worded()
    with pytest.raises(error):
        start_votes(data, texts or words, scorer)


def test_entailment_without_votes_and_votes_without_entailment_are_refused() -> None:
    data, _ = worded()
    with pytest.raises(BadParameter, match="need each other"):
        aqer.fit(data, rng=RNG(0), start="entailment")
    with pytest.raises(BadParameter, match="need each other"):
        aqer.fit(data, rng=RNG(0), start_votes=np.ones(len(data)))
    with pytest.raises(BadShape, match="one for each"):
        aqer.fit(data, rng=RNG(0), start="entailment", start_votes=np.ones(3))
    with pytest.raises(BadVector, match="is -1"):
        aqer.fit(data, rng=RNG(0), start="entailment", start_votes=np.full(len(data), -1.0))
    stopping = Hooks(cancelled=lambda: True)
    with pytest.raises(Cancelled):
        start_votes(data, worded()[1], made_up, hooks=stopping)


# Two camps: the condition that turns the ranking upside down.


def camps_of(data: Simulated) -> dict[str, Any]:
    result = aqer.fit(data.texts(), rng=RNG(0), resamples=0)
    found: dict[str, Any] = result.diagnostics["components"][0]["camps"]
    json.dumps(found, allow_nan=False)
    return found


@pytest.mark.parametrize("correlation", [0.3, 0.6, 0.9])
def test_workers_who_share_wrong_answers_are_told_apart_whoever_wins(correlation: float) -> None:
    data = simulated.correlated(RNG(1), correlation)
    told = camps_of(data)
    assert told["found"] is True
    # The bad half's common answer is truth + 3 sqrt(c) noise: its cosine with the truth is known.
    assert told["consensus_cosine"] == pytest.approx(1 / np.sqrt(1 + 9 * correlation), abs=0.04)
    good = {f"w{i}" for i in range(15)}
    weights = {frozenset(g["workers"]) == good: g["share_of_weight"] for g in told["groups"]}
    assert set(weights) == {True, False}
    # Above .78 the bad half is the more alike, and AQER follows it.
    assert (weights[True] > weights[False]) == (correlation < 0.78)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: simulated.correlated(rng, 0.0),
        lambda rng: simulated.simulate_few_workers(rng, 12),
        lambda rng: simulated.noisy(rng, 4.0),
        lambda rng: simulated.biased(rng, 0.5),
    ],
    ids=["independent", "few", "noisy", "slightly biased"],
)
def test_no_camps_are_told_where_errors_are_independent(
    make: Callable[[np.random.Generator], Simulated],
) -> None:
    for seed in range(5):
        assert camps_of(make(RNG(seed)))["found"] is False


def test_too_few_questions_for_camps_are_said_to_be_too_few() -> None:
    told = aqer.fit(crowd(QUALITY, questions=5, seed=9), rng=RNG(0), resamples=0)
    camps = told.diagnostics["components"][0]["camps"]
    assert camps["found"] is None
    assert "8 questions" in camps["reason"]


def test_a_shrug_of_low_weight_is_marked_and_a_right_answer_is_not() -> None:
    texts = crowd(np.array([0.3] * 4 + [0.9] * 6), questions=12, seed=12)
    for who, marked in ((texts.worker < 4, True), (texts.worker >= 4, False)):
        vectors = texts.vectors.copy()
        vectors[texts.vector[(texts.question == 3) & who]] = np.eye(texts.vectors.shape[1])[0]
        again = Texts.build(
            texts.worker,
            texts.question,
            vectors,
            vector=texts.vector,
            workers=texts.workers,
            questions=texts.questions,
        )
        result = aqer.fit(again, rng=RNG(0), resamples=0, near_identical=0.999)
        (cluster,) = result.diagnostics["components"][0]["clusters"]["listed"]
        assert cluster["low_weighted"] is marked
