"""The writing type: what a response needs before it is taken, and the shape it is stored in."""

from __future__ import annotations

import pytest

from annotation.task_types import get_type
from crowdqc.errors import Invalid

TYPE = get_type("writing")
ENTRY = {
    "entry.knowledge": "2",
    "entry.expertise": "1",
    "entry.answerable": "0",
    "entry.controversial": "-1",
}
EXIT = {
    "exit.satisfaction": "1",
    "exit.sources": "4",
    "exit.own_knowledge": "1",
    "exit.omissions": "1",
}


def settings(**more):
    clean = TYPE.clean_settings({"min_words": 3, "max_words": 12, "target_words": 8, **more})
    return {**clean, "style": "essay", "passages": 3}


def draft(text, **more):
    return TYPE.clean_draft({"text": text, **ENTRY, **EXIT, **more})


def test_a_response_is_stored_with_its_citations_and_both_questionnaires():
    values = TYPE.check(draft("The sea rises twice a day [1, 3]. "), settings())
    assert values.texts == [("answer", 0, "The sea rises twice a day [1, 3].")]
    assert values.spans == [("citation", 0, "1", 26, 32), ("citation", 1, "3", 26, 32)]
    assert ("entry.answerable", "0", 0) in values.choices
    assert ("exit.sources", "4", 4) in values.choices
    assert len(values.choices) == 8


def test_passages_counted_from_zero_are_stored_by_rank():
    values = TYPE.check(draft("The sea rises twice [0]."), settings(first_number=0))
    assert values.spans == [("citation", 0, "1", 20, 23)]


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("", {}, "no text yet"),
        ("Too short [1].", {}, "at least 3"),
        ("one two three four five six seven eight nine ten a b c [1]", {}, "at most 12"),
        ("The sea rises twice.", {}, "at least 1 needed"),
        ("The sea rises twice [4].", {}, r"\[4\] is cited.*\[1\] to \[3\]"),
        ("The sea rises twice [0].", {}, r"\[0\] is cited"),
        ("The sea rises twice [1].", {"entry.knowledge": ""}, "Before you write: “Knowledge”"),
        ("The sea rises twice [1].", {"exit.sources": ""}, "After you wrote: “Quality of"),
        ("The sea rises twice [1].", {"exit.sources": "9"}, "has no choice 9"),
    ],
)
def test_what_is_missing_is_said_in_words(text, more, said):
    with pytest.raises(Invalid, match=said):
        TYPE.check(draft(text, **more), settings())


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"min_words": 300, "max_words": 200}, "max_words"),
        ({"target_words": 900}, "target_words"),
        ({"tools": "perhaps"}, "tools"),
        ({"styles": []}, "styles"),
        ({"styles": [{"label": ""}]}, "style 1"),
        ({"entry": [{"label": "A", "points": [{"value": 1, "label": "x"}]}]}, "entry question 1"),
        ({"exit": [{"label": "A", "kind": "stars"}]}, "exit question 1"),
    ],
)
def test_wrong_settings_name_their_field(raw, field):
    with pytest.raises(Invalid) as caught:
        TYPE.clean_settings(raw)
    assert field in caught.value.fields


def test_a_draft_keeps_what_is_unfinished_and_drops_what_is_no_field():
    kept = TYPE.clean_draft({"text": "Half a", "entry.knowledge": "2", "other": "x"})
    assert kept == {"text": "Half a", "entry.knowledge": "2", "skipped": False}
