"""Words are counted by one rule, also where no spaces stand between them."""

from __future__ import annotations

import pytest

from annotation.task_types import get_type
from annotation.templatetags.rendering import reading_minutes, words
from crowdqc.errors import Invalid
from crowdqc.web.words import count_words, spaced
from evaluation.methods.text.style import style_counts
from evaluation.methods.writing.measures import word_count
from tests.support.words import CASES


def test_pages_count_marks_of_sources_and_dashes_as_no_words() -> None:
    assert words("Storks nest on chimneys [1] — as ever [2].") == 6
    assert reading_minutes("— " * 400) == 1


@pytest.mark.parametrize(("text", "n"), CASES.items())
def test_words_are_counted_in_scripts_with_and_without_spaces(text: str, n: int) -> None:
    assert count_words(text) == n


def test_figures_of_texts_in_english_stay_as_published() -> None:
    text = "e.g. 3.5 “storks” — as\tthey’re called"
    assert spaced(text) == text
    assert style_counts(text)[0] == len(text.split()) and word_count(text) == 6


def test_a_minimum_of_words_holds_for_an_answer_in_chinese() -> None:
    settings = {"dont_know": False, "skippable": False, "min_words": 5, "max_words": 9}
    given = get_type("free_text").check({"text": "我喜欢读书。"}, settings)
    assert given is not None and given.texts
    with pytest.raises(Invalid):
        get_type("free_text").check({"text": "我喜欢。"}, settings)
