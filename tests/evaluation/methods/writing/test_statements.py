"""Texts cut at their marks: which words a citation stands behind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.methods.core.base import BadShape, EmptyData, UnknownIndex
from evaluation.methods.writing.method import Responses
from evaluation.methods.writing.statements import cut, without_marks
from tests.evaluation.methods.writing.cited import responses

PASSAGES = {"t": ["one", "two", "three"]}


def statements(text: str) -> list[tuple[str, list[int]]]:
    """Every statement and the numbers that it cites."""
    found = cut(responses([("people", "essay", "t", text)], PASSAGES))
    return [
        (one, (found.pairs[found.pairs[:, 0] == k, 1] + 1).tolist())
        for k, one in enumerate(found.texts)
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Cats sleep [1]. Dogs bark [2, 3].", [("Cats sleep.", [1]), ("Dogs bark.", [2, 3])]),
        (
            "Cats sleep. [1][2] Dogs bark [3] loudly",
            [("Cats sleep.", [1, 2]), ("Dogs bark", [3]), ("loudly", [])],
        ),
        ("- Cats [1]\n- Dogs [1] [2]\n", [("Cats", [1]), ("Dogs", [1, 2])]),
        ("Cats [1]. [3]", [("Cats.", [1, 3])]),
        ("[2] Cats sleep", [("Cats sleep", [2])]),
        ("Cats [1, 1] sleep [9]", [("Cats", [1]), ("sleep", [])]),
        ("No marks, [sic] at all", [("No marks, [sic] at all", [])]),
        ("", []),
        ("[1] ...", []),
    ],
)
def test_a_statement_is_the_text_before_its_marks(
    text: str, wanted: list[tuple[str, list[int]]]
) -> None:
    assert statements(text) == wanted


def test_a_number_without_a_passage_is_counted_apart_and_still_taken_out_of_the_text() -> None:
    data = responses([("people", "essay", "t", "Cats [1] sleep [9].")], PASSAGES)
    assert (data.citations.tolist(), data.unknown.tolist()) == ([1], [1])
    assert without_marks(data)[0].split() == ["Cats", "sleep", "."]


@given(st.lists(st.sampled_from(["word ", "[1]", "[2, 3]", ". ", "\n- ", "[x] ", "é "])))
def test_every_citation_has_a_statement_and_no_word_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    data = responses([("people", "essay", "t", text)], PASSAGES)
    found = cut(data)
    assert (found.of >= 0).all() == bool(len(found) or not len(found.of))
    assert " ".join(found.texts).count("word") == text.count("word")
    assert not len(found) or found.ends[-1] == pytest.approx(1.0)
    assert (np.diff(found.of) >= 0).all()


def build(**other: object) -> Responses:
    given_ = {
        "response": [0],
        "start": [5],
        "end": [8],
        "rank": [0],
        "passages": [["one"]],
        "groups": ["people"],
        "styles": [""],
        "topics": ["t"],
    } | other
    return Responses.build([0], [0], [0], ["Cats [1]"], **given_)  # type: ignore[arg-type]


def test_arrays_that_do_not_fit_are_refused_by_name() -> None:
    assert build().rank.tolist() == [0]
    with pytest.raises(BadShape, match="mark from 5 to 9 is not in the text of response 0"):
        build(end=[9])
    with pytest.raises(UnknownIndex, match="response"):
        build(response=[1])
    with pytest.raises(BadShape, match="1 lists of passages for 2 topics"):
        build(topics=["t", "u"])
    with pytest.raises(BadShape, match="one entry a citation"):
        build(rank=[0, 1])
    with pytest.raises(EmptyData):
        Responses.build(
            [],
            [],
            [],
            [],
            response=[],
            start=[],
            end=[],
            rank=[],
            passages=[["one"]],
            groups=["people"],
            styles=[""],
            topics=["t"],
        )
