"""Citation marks: what is one, what is not, and the statements between them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.task_types.rendering import words_in
from annotation.task_types.writing.citations import cited_numbers, parse, statements, strip


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Tides rise [3].", [(3,)]),
        ("Twice [1, 2] and [1,2,]; again [4;5].", [(1, 2), (1, 2), (4, 5)]),
        ("Side by side [1][2] and [3] [4].", [(1,), (2,), (3,), (4,)]),
        ("A share of [0.7], a gap [...], a list [] and [see 3].", []),
        ("Given twice [2, 2].", [(2,)]),
    ],
)
def test_marks_are_found_and_other_brackets_are_text(text, numbers):
    assert [mark.numbers for mark in parse(text)] == numbers


def test_statements_are_cut_at_marks_and_know_what_they_cite():
    found = statements("First claim [1][2]. Second one, longer [3].\nNo source here.")
    assert [(one.text.strip(" .\n"), one.numbers) for one in found] == [
        ("First claim", (1, 2)),
        ("Second one, longer", (3,)),
        ("No source here", ()),
    ]


def test_marks_behind_a_full_stop_or_before_the_first_word_are_not_lost():
    found = statements("[4] A claim [1]. [2] Another.")
    assert [one.numbers for one in found] == [(4, 1, 2), ()]


def test_marks_are_no_words_and_stripping_them_leaves_the_sentence():
    text = "The sea rises [1, 2], slowly [10]."
    assert strip(text) == "The sea rises, slowly."
    assert words_in(text) == 4
    assert cited_numbers("[2] then [1, 2]") == [2, 1]


@given(st.lists(st.one_of(st.text("ab .[]0,"), st.sampled_from(["[1]", "[2, 3]", " [4] "]))))
def test_statements_and_marks_never_overlap_and_stay_in_the_text(parts):
    text = "".join(parts)
    spans = [(mark.start, mark.end) for mark in parse(text)]
    spans += [(one.start, one.end) for one in statements(text)]
    spans.sort()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(text[one.start : one.end] == one.text for one in statements(text))
