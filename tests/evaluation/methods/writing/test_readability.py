"""Flesch reading ease: syllables, sentences and known texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.methods.writing.readability import flesch, medians, sentences, syllables

# As dictionaries have them.
SPOKEN = {
    1: "a the cat breathed makes friend through don't strengths queue played passed eyes whales",
    2: "table tables little people being science quiet wanted churches lifestyle business doing "
    "didn't makes-up poem create really moved-on unique",
    3: "area idea media syllable influence radio experience-s violence happily-er behaviour animal "
    "suicide different area's",
    4: "experience information ability politically-s diabetes society well-intentioned education",
    5: "university immediately possibility communication-s",
}
UNSURE = {
    "makes-up",
    "moved-on",
    "experience-s",
    "happily-er",
    "politically-s",
    "communication-s",
    "different",
    "really",
    "well-intentioned",
}


@pytest.mark.parametrize(
    ("word", "count"),
    [(word, n) for n, words in SPOKEN.items() for word in words.split() if word not in UNSURE],
)
def test_words_have_the_syllables_of_a_dictionary(word: str, count: int) -> None:
    assert syllables(word) == syllables(word.upper()) == count


def test_signs_numbers_and_compounds_have_at_least_one_syllable_a_part() -> None:
    assert [syllables(word) for word in ("15,000", "DNA", "mm3", "état")] == [1, 1, 1, 2]
    assert syllables("well-known") == 2
    assert syllables("isn’t") == syllables("isn't") == 2


def test_a_worked_example() -> None:
    # 6 words, 1 sentence, 6 syllables; then 12 words, 2 sentences, 12 + 2 syllables.
    plain = "The cat sat on the mat."
    assert flesch(plain) == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    two = f"{plain} The table sat on the rabbit."
    assert flesch(two) == pytest.approx(206.835 - 1.015 * 6 - 84.6 * 14 / 12)
    assert flesch(plain, counted=0.5) - flesch(plain) == pytest.approx(84.6 / 2)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("...", 0),
        ("One word", 1),
        ("Is it so? It is so! Good that it is.", 3),
        ("It costs 3.5 euros a day.", 1),
        ("Dr. Who met her (e.g. at home). She was glad.", 2),
        ("First line here\nSecond line here", 2),
        ("He said “go home now.” She did so then.", 2),
        ("A list of things\n- one\n- two\n- three", 2),
    ],
)
def test_sentences_end_with_a_stop_and_a_space_or_a_line(text: str, count: int) -> None:
    assert sentences(text) == count


@given(st.text())
def test_any_text_has_a_score_or_none(text: str) -> None:
    found = flesch(text)
    assert np.isfinite(found) == (sentences(text) > 0)
    assert not found > 206.835 - 1.015 - 84.6 + 1e-9


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-9, 9) | st.just(np.nan)), max_size=20))
def test_medians_of_groups_are_numpys(rows: list[tuple[int, float]]) -> None:
    group = np.array([g for g, _ in rows], dtype=np.int64)
    value = np.array([v for _, v in rows])
    found = medians(value, group, 4)
    for g in range(4):
        own = [v for h, v in rows if h == g and np.isfinite(v)]
        assert found[g] == pytest.approx(np.median(own)) if own else np.isnan(found[g])
