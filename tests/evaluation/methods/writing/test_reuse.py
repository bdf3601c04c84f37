"""BLEU of statements against cited passages, by hand and against NLTK."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from evaluation.methods.text.corpus import tokens_13a
from evaluation.methods.writing.reuse import bleu
from tests.evaluation.methods.writing.cited import figures, responses, row

WORD = st.sampled_from("ab")
LONG = st.lists(WORD, min_size=8, max_size=14)  # as long as the longest n-gram
PASSAGE = st.lists(st.lists(WORD, min_size=1, max_size=20), min_size=1, max_size=3)


def one(text: str, passage: str, order: int = 8) -> float:
    return float(bleu([text], [passage], np.array([0]), np.array([0]), order=order)[0])


@settings(deadline=None)
@given(st.lists(st.tuples(LONG, PASSAGE), min_size=1, max_size=4))
def test_long_statements_score_as_with_nltk(cases: list[tuple[list[str], list[list[str]]]]) -> None:
    found = bleu(
        [" ".join(text) for text, _ in cases],
        ["\n".join(" ".join(line) for line in passage) for _, passage in cases],
        np.arange(len(cases)),
        np.arange(len(cases)),
    )
    smooth = SmoothingFunction().method3
    wanted = [
        100 * sentence_bleu(passage, text, weights=[1 / 8] * 8, smoothing_function=smooth)
        for text, passage in cases
    ]
    assert found.tolist() == pytest.approx(wanted)


def test_a_copied_line_scores_100_however_short_and_a_foreign_one_0() -> None:
    passage = "Cats sleep all day.\nDogs bark."
    assert one("cats sleep all DAY.", passage) == pytest.approx(100)
    assert one("Dogs bark.", passage) == pytest.approx(100)
    assert one("Birds fly", passage) == 0
    assert one("Birds fly", "") == 0


def test_three_of_four_words_by_hand() -> None:
    # 1-grams 3/4, 2-grams 2/3, 3-grams 1/2, 4-grams 0 of 1 smoothed to 1/2; no longer ones.
    assert one("cats sleep all night", "cats sleep all day") == pytest.approx(
        100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** (1 / 4)
    )
    # Two words of a line of four: no miss, but the text is too short by a factor e^(1 - 4/2).
    assert one("cats sleep", "cats sleep all day") == pytest.approx(100 * np.exp(-1))


def test_n_grams_are_clipped_within_a_line_not_over_all_lines() -> None:
    assert one("the the", "the\nthe", order=1) == pytest.approx(50)
    assert one("the the", "the the", order=1) == pytest.approx(100)


def test_tokens_keep_numbers_whole() -> None:
    assert tokens_13a("It's 3.5%, (see A&amp;B).") == [
        "It's",
        "3.5",
        "%",
        ",",
        "(",
        "see",
        "A",
        "&",
        "B",
        ")",
        ".",
    ]


def test_the_share_of_heavy_reuse_separates_copying_from_writing() -> None:
    passages = {t: ["Cats sleep all day long in the sun.", "Dogs bark at night."] for t in "abc"}
    written = [
        (who, "bullet", topic, text)
        for topic in passages
        for who, text in (
            ("people", "- Cats sleep all day long in the sun [1].\n- At night dogs bark [2]."),
            ("models", "Felines rest; canines vocalise [1, 2]."),
        )
    ]
    found = figures(responses(written, passages), resamples=100)["reuse"]
    people = row(found, group="people", style="bullet")
    models = row(found, group="models", style="")
    assert people["pairs"] == models["pairs"] == 6
    assert people["heavy"]["value"] == 0.5
    assert (models["heavy"]["value"], models["below"]["value"]) == (0.0, 1.0)
    assert people["cumulative"][-1] == models["cumulative"][-1] == 1.0
    assert sorted(people["cumulative"]) == people["cumulative"]
