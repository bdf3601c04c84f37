"""Ratings beside a document: what may be stored, and why something is refused."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.task_types.rating.explanation import numbers
from annotation.task_types.rating.page import item_settings
from annotation.task_types.rating.type import Rating
from annotation.task_types.sentences import paragraphs, sentences
from crowdqc.errors import Invalid
from tests.support.studies import ratings

SETTINGS = {
    **Rating().clean_settings(ratings.SETTINGS),
    **item_settings(ratings.DOCUMENT, ratings.QUESTION, ratings.ANSWERS[0], 3),
}


def refusal(draft: dict[str, Any], **settings: Any) -> str:
    with pytest.raises(Invalid) as caught:
        Rating().check(Rating().clean_draft(draft), {**SETTINGS, **settings})
    return caught.value.message


def test_sentences_keep_abbreviations_decimals_and_quotes_and_end_at_a_line_break() -> None:
    assert sentences(ratings.DOCUMENT) == [
        "The harbour of Lemmer froze on 3 January.",
        "Dr. Visser measured 3.5 cm of ice at 8 a.m. that day.",
        "By Friday the ferry had stopped.",
        "“We wait for the south wind,” said the captain.",
        "Two fishermen walked home across the ice.",
        "The wind turned on 11 January.",
        "The ferry left at noon, and nobody had been hurt.",
    ]
    assert sentences("A heading\nIt came at 5 p.m. The bus had gone. “Is it so?” she asked.") == [
        "A heading",
        "It came at 5 p.m.",
        "The bus had gone.",
        "“Is it so?” she asked.",
    ]
    cash = "J. R. Smith of Acme Inc. paid $1.5 million, e.g. in cash. See www.a.com."
    assert sentences(cash) == [
        "J. R. Smith of Acme Inc. paid $1.5 million, e.g. in cash.",
        "See www.a.com.",
    ]
    assert sentences(" \n\n ") == []


def test_numbers_run_through_all_paragraphs_without_a_gap() -> None:
    flat = [one for row in paragraphs(ratings.DOCUMENT) for one in row]
    assert [one.number for one in flat] == [1, 2, 3, 4, 5, 6, 7]
    assert [one.text for one in flat] == sentences(ratings.DOCUMENT)


def test_a_complete_rating_is_stored_with_its_words_and_sentences() -> None:
    draft = Rating().clean_draft(ratings.draft(evidence="4, 1-2", feedback=" Clear. "))
    values = Rating().check(draft, SETTINGS)
    assert values is not None
    assert values.choices == [("completeness", "70", 70), ("correctness", "1", 1)]
    assert values.texts == [("explanation", 0, ratings.WHY), ("feedback", 0, "Clear.")]
    assert values.spans == [
        ("evidence", 0, "sentence", 1, 1),
        ("evidence", 1, "sentence", 2, 2),
        ("evidence", 2, "sentence", 4, 4),
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"explanation": ""}, "Say in a few words why"),
        ({"explanation": "It is short."}, "3 words so far; at least 5"),
        ({"explanation": "the ANSWER  misses a little", "r-completeness": ""}, "not rated yet"),
        ({"explanation": ratings.ANSWERS[0].upper()}, "repeats the question or the answer"),
        ({"explanation": ratings.QUESTION}, "repeats the question or the answer"),
        ({"evidence": ""}, "Choose the sentences"),
        ({"evidence": "8"}, "no sentence 8; there are 1 to 7"),
        ({"evidence": "two"}, "not a sentence number"),
        ({"r-completeness": "50"}, "has no point 50"),
    ],
)
def test_what_is_missing_or_copied_is_refused_with_the_reason(
    change: dict[str, Any], why: str
) -> None:
    assert why in refusal(ratings.draft(**change))


def test_a_label_repeated_is_no_explanation() -> None:
    few = {"explanation": {"wanted": "required", "min_words": 1}}
    assert "repeats a label" in refusal(ratings.draft(explanation="Misses a little."), **few)


def test_no_sentence_is_wanted_where_every_scale_is_at_its_top_point() -> None:
    top = ratings.draft(**{"r-completeness": "100", "evidence": ""})
    assert Rating().check(Rating().clean_draft(top), SETTINGS) is not None
    assert "Choose the sentences" in refusal({**top, "r-correctness": "0"})


def test_without_a_document_no_sentence_is_wanted_and_none_is_stored() -> None:
    alone = {**SETTINGS, **item_settings("", ratings.QUESTION, ratings.ANSWERS[0])}
    values = Rating().check(Rating().clean_draft(ratings.draft(evidence="3")), alone)
    assert values is not None
    assert values.spans == []
    with pytest.raises(Invalid, match="no sentence 2"):
        item_settings("One sentence.", "Why?", "So.", 2)


def test_a_text_by_itself_is_rated_as_before() -> None:
    plain = Rating().clean_settings({"evidence": "required"})
    assert (plain["layout"], plain["evidence"]) == ("text", "none")
    values = Rating().check({"r-quality_overall": "4", "skipped": False}, plain)
    assert values is not None
    assert (values.texts, values.spans) == ([], [])


@pytest.mark.parametrize(
    ("typed", "found"), [("3, 5-7", [3, 5, 6, 7]), ("2;2 1", [1, 2]), ("4 – 5", [4, 5]), ("", [])]
)
def test_numbers_may_be_typed_in_any_usual_way(typed: str, found: list[int]) -> None:
    assert numbers(typed, 9) == found


@pytest.mark.parametrize(
    "raw",
    [
        {"layout": "page"},
        {"explanation": {"wanted": "yes"}},
        {"evidence": "some", "layout": "document"},
        {"release": {"assignments": 3, "hours": 0}},
    ],
)
def test_settings_that_make_no_sense_are_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        Rating().clean_settings(raw)
