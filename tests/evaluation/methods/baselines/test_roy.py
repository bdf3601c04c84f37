"""Roy et al.: shared sequences against counting them one by one, and as a method."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import sentence_bleu

from evaluation.methods.baselines import roy
from evaluation.methods.core.base import BadParameter, TooFewWorkers
from evaluation.methods.text.corpus import Responses, stems, token_ids
from tests.evaluation.methods.aqer.worded import written

QUALITY = np.array([0.15, 0.3, 0.45, 0.6, 0.75, 0.9])


def one_by_one(
    texts: list[list[str]], question: list[int], longest: int, support: int
) -> list[float]:
    """Every sequence of every text, written out."""
    held = [{s for n in range(1, longest + 1) for s in combinations(text, n)} for text in texts]
    raw = []
    for row, mine in enumerate(held):
        crowd = [other for other, q in zip(held, question, strict=True) if q == question[row]]
        counts = {s: sum(s in other for other in crowd) for s in mine}
        raw.append(sum(len(s) * n for s, n in counts.items() if n >= support))
    top = [max(r for r, p in zip(raw, question, strict=True) if p == q) for q in question]
    return [value / best if best else 0.0 for value, best in zip(raw, top, strict=True)]


@settings(max_examples=80, deadline=None)
@given(
    crowd=st.lists(
        st.tuples(st.lists(st.sampled_from("abcd"), max_size=7), st.integers(0, 2)),
        min_size=1,
        max_size=8,
    ),
    longest=st.integers(1, 4),
    support=st.integers(1, 3),
)
def test_sequences_are_mined_as_if_all_were_written_out(
    crowd: list[tuple[list[str], int]], longest: int, support: int
) -> None:
    texts, question = [text for text, _ in crowd], [q for _, q in crowd]
    found = roy.sequence_scores(
        token_ids(texts), np.array(question), max_length=longest, min_support=support
    )
    assert found.tolist() == pytest.approx(one_by_one(texts, question, longest, support))


def test_inflections_count_as_one_word_and_function_words_as_none() -> None:
    assert stems("The prototypes are simulating a Program's behaviors.") == [
        "prototyp",
        "simul",
        "program",
        "behavior",
    ]


def test_planted_quality_of_workers_comes_back_in_order() -> None:
    result = roy.fit(
        written(QUALITY, questions=120, seed=2), rng=np.random.default_rng(0), resamples=200
    )
    assert result.estimates["worker"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]


def test_a_system_is_held_against_the_best_response_alone() -> None:
    data = written(QUALITY, questions=6, systems=np.array([0.9, 0.2]), seed=3)
    result = roy.fit(data, rng=np.random.default_rng(0), resamples=0)
    best = result.estimates["answer"]["best"]
    chosen = dict(zip(data.question[best], data.text[best], strict=True))
    assert data.outside is not None
    scores = result.estimates["system_answer"]["score"]
    for row, (question, text) in enumerate(
        zip(data.outside.question, data.outside.text, strict=True)
    ):
        reference = data.texts[chosen[question]].split()
        expected = sentence_bleu([reference], data.outside.texts[text].split(), (1.0,))
        assert scores[row] == pytest.approx(expected)


def test_bad_parameters_and_lonely_workers_are_named() -> None:
    for name, value in (("max_length", 0), ("max_length", 9), ("min_support", 1.5)):
        with pytest.raises(BadParameter, match=name):
            roy.METHOD.check(**{name: value})
    alone = Responses.build([0], [0], ["a b"], workers=["x"], questions=["p"])
    with pytest.raises(TooFewWorkers):
        roy.fit(alone, rng=np.random.default_rng(0))
