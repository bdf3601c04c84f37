"""Spelling corrected by the answers themselves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.text.spelling import correct_spelling, distance

COMMON = [f"The lighthouse burned rapeseed oil, said keeper {name}." for name in "ABCD"]


def test_a_slip_becomes_the_common_word_and_keeps_its_capital() -> None:
    texts = [*COMMON, "The lighthuose burnde rapseed oil.", "Lightouse oil."]
    found, changes = correct_spelling(texts)
    assert found[:4] == COMMON
    assert found[4] == "The lighthouse burned rapeseed oil." and found[5] == "Lighthouse oil."
    assert changes["lighthuose"] == "lighthouse" and changes["burnde"] == "burned"


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("lighthouses", "a form of a common word"),
        ("unrapeseed", "a prefix changes what it means"),
        ("rapes", "too far"),
        ("grapeseed", "known"),
        ("bruned1", "a number is no slip"),
    ],
)
def test_right_words_that_one_text_alone_has_stay(word: str, why: str) -> None:
    assert correct_spelling([*COMMON, word], {"grapese"})[1] == {}, why


def test_a_word_between_two_equally_common_ones_stays() -> None:
    both = [f"{word} {k}" for word in ("stone", "store") for k in "abc"]
    assert correct_spelling([*both, "stoke"])[1] == {}
    assert correct_spelling([*both, "stone d", "stoke"])[1] == {"stoke": "stone"}


@settings(deadline=None, max_examples=60)
@given(st.text("abcd", max_size=7), st.text("abcd", max_size=7))
def test_the_distance_is_that_of_the_definition(one: str, other: str) -> None:
    def slow(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = [
            slow(i - 1, j) + 1,
            slow(i, j - 1) + 1,
            slow(i - 1, j - 1) + (one[i - 1] != other[j - 1]),
        ]
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            ways.append(slow(i - 2, j - 2) + 1)
        return min(ways)

    if len(one) + len(other) < 11:
        assert distance(one, other) == slow(len(one), len(other))
