"""Labels: what is stored of each kind of field, what is refused, when a field is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.task_types import get_type
from annotation.task_types.base import ITEM_TEXT
from annotation.task_types.labels import content
from annotation.task_types.labels.content import caption_of
from annotation.task_types.labels.type import missing_fields
from crowdqc.errors import Invalid

TYPE = get_type("labels")
DAMAGE = {
    "name": "damage",
    "label": "Main damage",
    "question": "What is the main damage?",
    "kind": "choose_one",
    "unsure": True,
    "options": [
        {"value": "spots", "label": "Brown spots"},
        {"value": "holes", "label": "Holes"},
        {"value": "none", "label": "None of these"},
    ],
}
ELSE = {
    "name": "else",
    "label": "What else",
    "question": "What else do you see?",
    "kind": "choose_several",
    "options": [{"value": "yellow", "label": "Yellowing"}, {"value": "curl", "label": "Curled"}],
    "ask_if": [{"field": "damage", "is": "none_of", "values": ["none", "unsure"]}],
}


def checked(fields: list[dict[str, Any]], raw: dict[str, Any], **settings: Any) -> Any:
    cleaned = TYPE.clean_settings({"fields": fields, **settings})
    if "text" in settings:
        cleaned[ITEM_TEXT] = settings["text"]
    return TYPE.check(TYPE.clean_draft(raw), cleaned)


def field(kind: str, **more: Any) -> dict[str, Any]:
    return {"name": "f", "label": "F", "question": "Which?", "kind": kind, **more}


OPTIONS = [{"value": value, "label": value.upper()} for value in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("asked", "raw", "stored"),
    [
        (DAMAGE, {"l-damage": "holes"}, [("damage", "holes", 1)]),
        (DAMAGE, {"l-damage": "unsure"}, [("damage", "unsure", None)]),
        (field("scale", low=-2, high=2), {"l-f": "-1"}, [("f", "-1", -1)]),
        (field("number", step=0.5), {"l-f": "2,50"}, [("f", "2.5", None)]),
        (field("number"), {"l-f": "40000.0"}, [("f", "40000", None)]),
        (
            field("choose_several", options=OPTIONS),
            {"l-f.b": True},
            [("f.a", "no", 0), ("f.b", "yes", 1), ("f.c", "no", 0)],
        ),
        (
            field("rank", options=OPTIONS),
            {"l-f.a": "2", "l-f.b": "1", "l-f.c": 3},
            [("f.a", "2", 2), ("f.b", "1", 1), ("f.c", "3", 3)],
        ),
        (field("spans", options=OPTIONS), {"l-f": "nothing"}, [("f", "nothing", None)]),
    ],
)
def test_each_kind_of_field_is_stored_as_choices(
    asked: dict[str, Any], raw: dict[str, Any], stored: list[Any]
) -> None:
    assert checked([asked], raw).choices == stored


def test_texts_are_stored_as_written_and_spans_by_their_offsets_in_order() -> None:
    assert checked([field("long_text")], {"l-f": " Why not? \n"}).texts == [("f", 0, "Why not?")]
    marks = [[4, 8, "b"], [0, 8, "a"], [4, 8, "b"]]
    found = checked([field("spans", options=OPTIONS)], {"l-f": marks}, text="One two 🙂")
    assert found.spans == [("f", 0, "a", 0, 8), ("f", 1, "b", 4, 8)]


def test_a_summary_names_the_marked_words_and_their_labels() -> None:
    cleaned = TYPE.clean_settings({"fields": [field("spans", options=OPTIONS)]})
    marks = json.dumps([[0, 7, "a"], [8, 9, "b"]])
    said = TYPE.in_words({"l-f": marks}, {**cleaned, ITEM_TEXT: "One two 🙂 three"})
    shown = {row["value"]: row["label"] for row in OPTIONS}
    assert f"“One two” ({shown['a']}), “🙂” ({shown['b']})" in said


@pytest.mark.parametrize(
    ("asked", "raw", "said"),
    [
        (DAMAGE, {}, "“What is the main damage?” is not answered yet."),
        (DAMAGE, {"l-damage": "rust"}, "has no option 'rust'"),
        (field("choose_one", options=OPTIONS), {"l-f": "unsure"}, "has no option 'unsure'"),
        (field("choose_several", options=OPTIONS), {"l-f.d": "yes"}, "has no option 'd'"),
        (field("choose_several", options=OPTIONS, min=2), {"l-f.a": "yes"}, "at least 2 options"),
        (field("scale"), {"l-f": "6"}, "has no option '6'"),
        (field("number", low=0, high=10), {"l-f": "11"}, "out of range"),
        (field("number", step=1), {"l-f": "1.5"}, "steps of 1"),
        (field("number"), {"l-f": "nan"}, "takes a number"),
        (field("short_text"), {"l-f": "x" * 301}, "has 301 characters"),
        (field("long_text", min=3), {"l-f": "two words"}, "at least 3 words"),
        (field("rank", options=OPTIONS), {"l-f.a": "1", "l-f.b": "1", "l-f.c": "2"}, "each rank"),
        (field("spans", options=OPTIONS), {"l-f": [[0, 9, "a"]]}, "the text has 8 characters"),
        (field("spans", options=OPTIONS), {"l-f": [[0, 3, "z"]]}, "has no label 'z'"),
        (field("spans", options=OPTIONS), {"l-f": "[[3, 1, "}, "cannot be read"),
        (DAMAGE, {"l-other": "x", "l-damage": "holes"}, "no field 'other'"),
    ],
)
def test_an_answer_that_no_field_offers_is_refused_and_named(
    asked: dict[str, Any], raw: dict[str, Any], said: str
) -> None:
    with pytest.raises(Invalid) as refused:
        checked([asked], raw, text="One two.")
    assert said in refused.value.message


def test_a_field_whose_condition_does_not_hold_stores_nothing_and_may_stay_open() -> None:
    kept = {"l-else.curl": "yes"}
    for code in ("none", "unsure"):
        found = checked([DAMAGE, ELSE], {"l-damage": code, **kept})
        assert [name for name, *_ in found.choices] == ["damage"]
    found = checked([DAMAGE, ELSE], {"l-damage": "spots", **kept})
    assert found.choices[1:] == [("else.yellow", "no", 0), ("else.curl", "yes", 1)]
    with pytest.raises(Invalid, match="What else do you see"):
        checked([DAMAGE, ELSE], {"l-damage": "spots"})


def test_an_optional_field_may_stay_open_and_an_item_may_be_skipped_where_that_is_allowed() -> None:
    assert checked([{**DAMAGE, "required": False}], {}).choices == []
    assert checked([DAMAGE], {"skipped": True}, skippable=True) is None
    with pytest.raises(Invalid, match="not answered"):
        checked([DAMAGE], {"skipped": True})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([ELSE, DAMAGE], "depends on 'damage', which is not an earlier field"),
        ([DAMAGE, {**ELSE, "ask_if": [{"field": "damage", "values": ["rust"]}]}], "'rust'"),
        ([DAMAGE, DAMAGE], "damage is used twice"),
        ([{**DAMAGE, "kind": "poem"}], "no kind 'poem'"),
        ([{**DAMAGE, "options": [OPTIONS[0], OPTIONS[0]]}], "'a' is used twice"),
        ([{**DAMAGE, "options": [{"value": "unsure", "label": "?"}]}], "reserved"),
        ([field("scale", low=5, high=5)], "a scale has 2 to 101 points"),
        ([field("number", low=5, high=4)], "highest is below the lowest"),
        ([field("choose_several", options=OPTIONS, min=3, max=2)], "maximum is below"),
        ([field("rank", options=[{"value": "v" * 40}])], "is too long"),
        ([{"question": ""}], "field 1 asks nothing"),
        ([field("spans"), DAMAGE, {**field("spans"), "name": "g"}], "field 3 (g) marks text, as f"),
        ("fields", "fields is not a list"),
    ],
)
def test_a_field_that_cannot_be_asked_is_refused_and_named(fields: Any, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        TYPE.clean_settings({"fields": fields})
    assert said in refused.value.message


def test_a_field_gets_its_name_of_its_question_and_an_option_its_value_of_its_label() -> None:
    rows = [
        {"question": "What is it?", "options": [{"label": "A dog"}]},
        {"question": "What is it?"},
    ]
    found = TYPE.clean_settings({"fields": rows})["fields"]
    assert [row["name"] for row in found] == ["what_is_it", "what_is_it_2"]
    assert found[0]["options"][0]["value"] == "a_dog"
    assert TYPE.clean_settings({"fields": found})["fields"] == found


def test_a_condition_that_can_never_hold_keeps_the_task_from_being_published() -> None:
    only = [{"field": "damage", "is": "is", "values": [code]} for code in ("spots", "holes")]
    fields = TYPE.clean_settings({"fields": [DAMAGE, {**ELSE, "ask_if": only}]})["fields"]
    [lack] = missing_fields(fields)
    assert (lack.sentence[:24], lack.question) == ("Field 2 is never asked: ", "else")
    assert missing_fields(TYPE.clean_settings({"fields": [DAMAGE, ELSE]})["fields"]) == []


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("name;spots\nA;3\nB;<b>0</b>", [["name", "spots"], ["A", "3"], ["B", "<b>0</b>"]]),
        ('[{"name": "A", "spots": 3}, {"name": "B"}]', [["name", "spots"], ["A", "3"], ["B", ""]]),
        ('[["name"], [null], [true]]', [["name"], [""], ["true"]]),
    ],
)
def test_a_table_is_read_from_csv_and_json_and_shown_escaped(
    text: str, rows: list[list[str]]
) -> None:
    assert content.read_table(text) == rows
    shown = content.render_table(text)
    assert shown.count("<tr>") == len(rows) and "<b>" not in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,spots", "A table has a head and a row at least."),
        ("name,spots\nA", "Row 2 has 1 cells, others have 2."),
        ("[1, 2]", "Give a list of lists, or a list of objects."),
        ("[{", "It begins with [ and is no JSON."),
    ],
)
def test_a_text_that_is_no_table_says_why_and_is_shown_as_it_is(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        content.read_table(text)
    assert refused.value.fields == {"question": said}
    assert "<table" not in content.render_table(text)


@pytest.mark.parametrize(
    ("caption", "meta", "said"),
    [
        ("In {{station}}, {{ date }}", {"station": "Rhine", "date": "June"}, "In Rhine, June"),
        ("Photo: {{station}}", {"station": "{{date}}", "date": "3 June"}, "Photo: {{date}}"),
        ("Photo: {{station}}", {}, ""),
        ("Leaf", {}, "Leaf"),
        ("", {"station": "Rhine"}, ""),
    ],
)
def test_a_caption_says_what_the_row_of_an_item_says(
    caption: str, meta: dict[str, str], said: str
) -> None:
    assert caption_of({"caption": caption}, meta) == said
