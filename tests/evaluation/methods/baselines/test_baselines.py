"""The word baselines as methods: workers, systems, best responses, components, bad input."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.baselines.baselines import BASELINES, METHODS
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    Cancelled,
    DuplicateAnswer,
    EmptyData,
    Hooks,
    Result,
    TooFewWorkers,
    UnknownIndex,
)
from evaluation.methods.text.corpus import Responses, TokenVectors
from tests.evaluation.methods.aqer.worded import written

QUALITY = np.array([0.15, 0.3, 0.45, 0.6, 0.75, 0.9])
WORDED = ["bleu1", "bleu4", "f1", "rouge_l"]


def fit(slug: str, data: Responses, **params: Any) -> Result:
    given = {"resamples": 0, **params}
    return BASELINES[slug].fit(data, rng=np.random.default_rng(1), **given)


def vectors_of(data: Responses) -> TokenVectors:
    """A random unit vector a word, the same for equal words."""
    known: dict[str, int] = {}
    ids = [[known.setdefault(word, len(known)) for word in text.split()] for text in data.texts]
    table = np.random.default_rng(5).standard_normal((500, 32))
    start = np.cumsum([0] + [len(one) for one in ids])
    return TokenVectors(start, table[np.concatenate(ids).astype(int)], "random words")


def with_vectors(data: Responses) -> Responses:
    return Responses.build(
        data.worker,
        data.question,
        data.texts,
        text=data.text,
        workers=data.workers,
        questions=data.questions,
        vectors=vectors_of(data),
    )


@pytest.mark.parametrize("slug", WORDED)
def test_planted_quality_of_workers_and_systems_comes_back_in_order(slug: str) -> None:
    data = written(QUALITY, questions=120, systems=np.array([0.8, 0.2, 0.5]), seed=2)
    result = fit(slug, data, resamples=200)
    assert result.estimates["worker"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]
    assert result.estimates["system"]["rank"].tolist() == [1, 3, 2]
    score, sure = result.estimates["worker"]["score"], result.intervals["worker"]
    assert np.all((sure.low <= score) & (score <= sure.high))
    assert sure.low[5] > sure.high[3]


def test_bert_score_finds_the_good_writers_and_names_its_model() -> None:
    result = fit("bert_score", with_vectors(written(QUALITY, questions=80, seed=3)))
    assert result.estimates["worker"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]
    assert result.diagnostics["model"] == "random words"


def test_majority_vote_picks_what_most_wrote_and_credits_its_authors() -> None:
    texts = ["a stack", "A stack", "a queue", "a stack", "a list", "a tree"]
    data = Responses.build(
        [0, 1, 2, 0, 1, 2],
        [0, 0, 0, 1, 1, 1],
        texts,
        workers=["x", "y", "z"],
        questions=["p", "q"],
    )
    result = fit("majority", data)
    assert result.estimates["answer"]["score"].tolist() == [0.5, 0.5, 0, 0, 0, 0]
    assert result.estimates["worker"]["score"].tolist() == [0.25, 0.25, 0]
    assert result.estimates["question"]["best"].tolist() == [0, 3]


@pytest.mark.parametrize("slug", WORDED)
def test_the_best_response_is_closest_to_the_truth(slug: str) -> None:
    result = fit(slug, written(QUALITY, questions=60, seed=4))
    chosen = np.bincount(result.estimates["question"]["best_worker"], minlength=6)
    assert chosen[4:].sum() > 45 and chosen[5] > chosen[4]
    answers = result.estimates["answer"]
    assert np.all(answers["rank"][answers["best"]] == 1)
    assert answers["best"].sum() == 60


def test_a_system_is_scored_but_changes_nobodys_score() -> None:
    data = written(QUALITY, systems=np.array([0.9]), seed=5)
    alone = written(QUALITY, systems=np.array([0.9]), seed=5)
    object.__setattr__(alone, "outside", None)
    for slug in WORDED:
        np.testing.assert_array_equal(
            fit(slug, data).estimates["worker"]["score"],
            fit(slug, alone).estimates["worker"]["score"],
        )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), slug=st.sampled_from([*WORDED, "majority"]))
def test_order_of_rows_and_names_of_words_and_workers_change_nothing(seed: int, slug: str) -> None:
    data = written(QUALITY[:4], questions=5, density=0.8, seed=seed)
    rng = np.random.default_rng(seed)
    shuffle, rename = rng.permutation(len(data)), rng.permutation(len(data.workers))
    swapped = [
        " ".join(f"w{(int(word[1:]) * 7 + 3) % 1009}" for word in data.texts[row].split())
        for row in data.text[shuffle]
    ]
    workers = [""] * len(rename)
    for old, new in enumerate(rename):
        workers[new] = data.workers[old]
    other = Responses.build(
        rename[data.worker[shuffle]],
        data.question[shuffle],
        swapped,
        workers=workers,
        questions=data.questions,
    )
    one, two = fit(slug, data).estimates["worker"], fit(slug, other).estimates["worker"]
    np.testing.assert_allclose(one["score"], two["score"][rename], atol=1e-12)
    np.testing.assert_allclose(one["adjusted"], two["adjusted"][rename], atol=1e-9)


def test_crowds_that_share_no_question_get_boards_of_their_own() -> None:
    whole = written(QUALITY, questions=13, seed=6)
    keep = ((whole.worker < 3) == (whole.question < 6)) & (whole.question < 12)
    keep |= (whole.worker == 5) & (whole.question == 12)
    keep &= ~((whole.worker == 5) & (whole.question < 12))
    data = Responses.build(
        whole.worker[keep],
        whole.question[keep],
        whole.texts,
        text=whole.text[keep],
        workers=[*whole.workers, "idle"],
        questions=whole.questions,
    )
    result = fit("f1", data, resamples=100)
    workers = result.estimates["worker"]
    assert workers["component"].tolist() == [1, 1, 1, 2, 2, 0, 0]
    assert np.isnan(workers["score"][5:]).all() and np.isfinite(workers["score"][:5]).all()
    assert result.intervals["worker"].reason[5:] == (
        "nobody else answered the same questions",
        "no answers",
    )
    assert result.diagnostics["workers_not_scored"] == ["w5"]
    assert result.estimates["question"]["best"][12] == -1


def test_gaps_are_ranked_by_adjusted_score_and_results_are_plain_data() -> None:
    data = written(QUALITY, density=0.6, systems=np.array([0.4]), questions=30, seed=7)
    result = fit("f1", data, resamples=100)
    told = result.diagnostics["components"][0]
    assert (told["complete"], told["ranked_by"]) == (False, "adjusted")
    json.dumps([result.diagnostics, result.recipe, *(t.rows() for t in result.estimates.values())])


def test_all_equal_and_empty_texts_give_plain_scores() -> None:
    people = {"workers": ["x", "y", "z"], "questions": ["p"]}
    same = Responses.build([0, 1, 2], [0, 0, 0], ["a b c d e"] * 3, **people)
    empty = Responses.build([0, 1, 2], [0, 0, 0], ["", "a", ""], **people)
    for slug in [*WORDED, "majority"]:
        assert fit(slug, same).estimates["worker"]["score"].tolist() == pytest.approx([1, 1, 1])
        expected = [0.5, 0, 0.5] if slug == "majority" else [0, 0, 0]
        assert fit(slug, empty).estimates["worker"]["score"].tolist() == expected


def test_bad_input_is_named() -> None:
    people = {"workers": ["x", "y"], "questions": ["p", "q"]}
    with pytest.raises(EmptyData):
        Responses.build([], [], [], **people)
    with pytest.raises(UnknownIndex, match="question"):
        Responses.build([0, 1], [0, 2], ["a", "b"], **people)
    with pytest.raises(DuplicateAnswer, match="'x' has two answers to question 'q'"):
        Responses.build([0, 0], [1, 1], ["a", "b"], **people)
    with pytest.raises(BadShape, match="must agree"):
        Responses.build([0, 1], [0], ["a", "b"], **people)
    apart = Responses.build([0, 1], [0, 1], ["a", "b"], **people)
    with pytest.raises(TooFewWorkers):
        fit("f1", apart)
    data = Responses.build([0, 1], [0, 0], ["a", "b"], **people)
    with pytest.raises(BadShape, match="token vectors"):
        fit("bert_score", data)
    for slug, params, name in (
        ("f1", {"references": "median"}, "references"),
        ("bleu4", {"smoothing": "magic"}, "smoothing"),
        ("bleu1", {"tokenizer": "tiktoken"}, "tokenizer"),
        ("f1", {"resamples": 5}, "resamples"),
        ("majority", {"references": "max"}, "references"),
    ):
        with pytest.raises(BadParameter, match=name):
            BASELINES[slug].method.check(**params)


def test_a_long_comparison_can_be_stopped() -> None:
    hooks = Hooks(cancelled=lambda: True)
    with pytest.raises(Cancelled):
        BASELINES["rouge_l"].fit(written(QUALITY), rng=np.random.default_rng(0), hooks=hooks)


def test_every_baseline_has_its_own_slug_and_takes_its_defaults() -> None:
    assert [method.slug for method in METHODS] == [
        "majority",
        "bleu1",
        "bleu4",
        "f1",
        "rouge_l",
        "bert_score",
    ]
    for method in METHODS:
        method.check(**method.params)
