"""What matches a known answer: codes, points within a tolerance, words, and numbers in words."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.task_types import get_type, known
from annotation.task_types.known import POINT, WORDS, KnownField
from crowdqc.errors import Invalid

YES_NO = KnownField("clear", "Is it clear?", options=(("yes", "Yes"), ("no", "No")))
QUALITY = KnownField("quality", "Quality", POINT, tuple((str(n), f"{n} of 5") for n in range(1, 6)))
ANSWER = KnownField("answer", "Answer", WORDS)


@pytest.mark.parametrize(
    ("one", "given", "right", "wrong"),
    [
        (YES_NO, "yes", ["yes"], ["no", "unsure", ""]),
        (QUALITY, {"value": "4"}, ["4"], ["3", "5"]),
        (QUALITY, {"value": "4", "within": "1"}, ["3", "4", "5"], ["2"]),
        (ANSWER, "A stork\nstork", ["Stork.", " a  STORK "], ["storks", "I don't know", ""]),
        (ANSWER, {"value": "1250", "within": "0"}, ["1,250", "1250.0"], ["1251", "12 50", "many"]),
        (ANSWER, {"value": "3.5", "within": "0.1"}, ["3,5", "3.45", "3.6."], ["3.61", "3.5 km"]),
    ],
)
def test_an_answer_matches_by_choice_tolerance_or_accepted_words(
    one: KnownField, given: Any, right: list[str], wrong: list[str]
) -> None:
    expected = known.clean_known([one], {one.name: given})
    assert all(known.matches(expected, [(one.name, said)]) for said in right)
    assert not any(known.matches(expected, [(one.name, said)]) for said in wrong)
    assert not known.matches(expected, [])


def test_every_line_of_which_something_is_known_has_to_match() -> None:
    expected = known.clean_known([YES_NO, QUALITY], {"clear": "yes", "quality": "4"})
    assert known.matches(expected, [("clear", "yes"), ("quality", "4")])
    assert not known.matches(expected, [("clear", "yes"), ("quality", "1")])
    assert known.in_words([YES_NO, QUALITY], expected) == "Is it clear?: Yes; Quality: 4 of 5"


@pytest.mark.parametrize(
    ("one", "given", "why"),
    [
        (YES_NO, "perhaps", "no option 'perhaps'"),
        (YES_NO, {"value": "yes", "within": "1"}, "takes no tolerance"),
        (QUALITY, "9", "no option '9'"),
        (QUALITY, {"value": "4", "within": "-1"}, "tolerance of “Quality”"),
        (ANSWER, {"value": "a few", "within": "1"}, "is no number"),
        (ANSWER, "?!", "without letters or digits"),
        (ANSWER, "x" * 201, "accepts too much"),
    ],
)
def test_a_known_answer_that_nobody_could_give_is_refused(
    one: KnownField, given: Any, why: str
) -> None:
    with pytest.raises(Invalid, match=why) as error:
        known.clean_known([one], {one.name: given})
    assert one.name in error.value.fields


def test_a_known_answer_of_something_that_is_not_asked_is_refused() -> None:
    with pytest.raises(Invalid, match="'other' is no field"):
        known.clean_known([YES_NO], {"other": "yes"})
    assert "which is not asked" in known.wrong_in([YES_NO], {"other": "yes"})
    assert "does not offer it" in known.wrong_in([QUALITY], {"quality": {"value": "9"}})


@pytest.mark.parametrize(
    ("field", "given", "right", "wrong"),
    [
        ({"kind": "scale", "low": 1, "high": 7}, {"value": "5", "within": "1"}, "6", "3"),
        ({"kind": "number"}, {"value": "12.5", "within": "0.5"}, "13", "13.5"),
        ({"kind": "number"}, {"value": "4"}, "4.0", "5"),
        ({"kind": "short_text"}, "a stork\nstork", "Stork.", "a heron"),
    ],
    ids=["scale", "number with a tolerance", "number", "short text"],
)
def test_the_answer_to_a_field_of_a_labels_task_can_be_known(
    field: Any, given: Any, right: str, wrong: str
) -> None:
    asked = {"name": "said", "label": "Said", "question": "What is it?", **field}
    task_type = get_type("labels")
    settings = task_type.clean_settings({"fields": [asked]})
    expected = known.clean_known(task_type.known_fields(settings), {"said": given})
    for said, fits in ((right, True), (wrong, False)):
        values = task_type.check(task_type.clean_draft({"l-said": said}), settings)
        assert values is not None
        assert known.matches(expected, known.values_given(values)) is fits


def test_a_field_of_a_labels_task_is_called_by_its_question() -> None:
    asked = {"name": "topic", "label": "Topic", "question": "Is the review kind?", "kind": "scale"}
    task_type = get_type("labels")
    (field,) = task_type.known_fields(task_type.clean_settings({"fields": [asked]}))
    assert field.label == "Is the review kind?"
